#include "engine/tokenizer/id_tokenizer.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::string_view kBetween = " \t\r\n\v\f,";

class Ids final : public TokenModel {
public:
    explicit Ids(Vocabulary vocabulary) : TokenModel(std::move(vocabulary)) {}

    void encode(std::string_view word, std::vector<WordToken>& out) const override {
        if (word.find_first_not_of(kBetween) == std::string_view::npos) return;
        const std::optional<std::int32_t> id = vocabulary_.find(word);
        if (!id)
            throw ConfigError(
                fmt::format("this model has no tokenizer: expected ids of tokens from 0 to {}, such as \"1 0 2\", found \"{}\"",
                            vocabulary_.size() - 1, escaped(word, 40)));
        out.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
    }
    WordTrace trace(std::string_view word) const override {
        WordTrace trace;
        encode(word, trace.tokens);
        for (const WordToken& token : trace.tokens) trace.look_ups.push_back({token.begin, token.end, true});
        return trace;
    }
    const char* type() const override { return "ids"; }
    std::optional<std::int32_t> unknown() const override { return std::nullopt; }
};

}  // namespace

std::shared_ptr<const ModelTokenizer> id_tokenizer(std::int64_t ids) {
    Vocabulary vocabulary;
    for (std::int64_t id = 0; id < ids; ++id) vocabulary.add(std::to_string(id), id);
    TokenizerParts parts;
    parts.pre_tokenizers = {split_isolated(R"([^\s,]+)")};
    parts.model = std::make_unique<Ids>(std::move(vocabulary));
    parts.notes = {"This model has no tokenizer: its texts are ids of tokens, such as \"1 0 2\"."};
    return std::make_shared<const ModelTokenizer>(std::move(parts));
}

}  // namespace attn
