/// Each normalizer, pre-tokenizer and decoder against the tokenizers library on difficult texts (recorded by
/// tests/golden/tokenizer_files/make_components.py).

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

const std::string kComponentCases = ATTN_TEST_DATA "/golden/tokenizer_files/components.json";

Json byte_model() {
    Json vocabulary = Json::object();
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (unsigned byte = 0; byte < 256; ++byte) vocabulary[std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">"] = byte;
    return {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::list()}, {"byte_fallback", true}};
}

Json word_model(const std::vector<std::string>& words) {
    Json vocabulary = Json::object();
    vocabulary["?"] = 0;
    for (const std::string& word : words)
        if (vocabulary.find(word) == nullptr) vocabulary[word] = vocabulary.size();
    return {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "?"}};
}

std::shared_ptr<const ModelTokenizer> tokenizer_with(const std::string& kind, const Json& component, const Json& model) {
    Json whole = Json::object();
    whole["version"] = "1.0";
    whole[kind] = component;
    whole["model"] = model;
    return parse_tokenizer_json(whole.dump(), "tokenizer.json");
}

std::size_t characters_before(std::string_view text, std::size_t bytes) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < bytes; ++i) count += (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80;
    return count;
}

std::vector<double> ranges_given(const Encoding& encoding, std::string_view text) {
    std::vector<double> out;
    for (const EncodedToken& token : encoding)
        for (const std::uint32_t byte : {token.begin, token.end}) out.push_back(static_cast<double>(characters_before(text, byte)));
    return out;
}

std::vector<double> ranges_wanted(const Json& list) {
    std::vector<double> out;
    for (const Json& item : list.items()) out.push_back(item.number());
    return out;
}

std::vector<std::string> texts_in(const Json& list) {
    std::vector<std::string> out;
    for (const Json& item : list.items()) out.push_back(item.text());
    return out;
}

void expect_decoded(const Json& component, const Json& entry) {
    const std::vector<std::string> words = texts_in(*entry.find("tokens"));
    const auto tokenizer = tokenizer_with("decoder", component, word_model(words));
    std::vector<std::int32_t> ids;
    for (const std::string& word : words)
        for (std::int32_t id = 0; id < tokenizer->size(); ++id)
            if (tokenizer->token_text(id) == word) ids.push_back(id);
    EXPECT_EQ(tokenizer->decode(ids), entry.find("decoded")->text()) << component.dump() << " of " << entry.find("tokens")->dump();
}

TEST(TokenizerComponents, AreThoseOfTheTokenizersLibrary) {
    const Json golden = Json::parse(read_whole_file(kComponentCases, {}), kComponentCases);
    std::size_t components = 0, cases = 0;
    for (const Json& group : golden.find("components")->items()) {
        ++components;
        const std::string kind = group.members().front().first;
        const Json& component = group.members().front().second;
        for (const Json& entry : group.find("cases")->items()) {
            ++cases;
            if (kind == "decoder") {
                expect_decoded(component, entry);
                continue;
            }
            const bool normalizer = kind == "normalizer";
            const auto tokenizer = tokenizer_with(kind, component, normalizer ? byte_model() : word_model({}));
            const std::string& text = entry.find("text")->text();
            const Encoding encoding = tokenizer->encode(text);
            EXPECT_EQ(ranges_given(encoding, text), ranges_wanted(*entry.find("ranges"))) << component.dump() << " of \"" << text << "\"";
            if (!normalizer) continue;
            std::string bytes;
            for (const EncodedToken& token : encoding) bytes += static_cast<char>(token.id);
            EXPECT_EQ(bytes, entry.find("normalized")->text()) << component.dump() << " of \"" << text << "\"";
        }
    }
    EXPECT_GT(components, 60U);
    EXPECT_GT(cases, 1500U);
}

}  // namespace
}  // namespace attn
