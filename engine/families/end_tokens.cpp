#include "engine/families/end_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/tokenizer/tokenizer_config.hpp"

namespace attn {
namespace {

constexpr const char* kKey = "eos_token_id";

/// Collects ids that are in the vocabulary.
class Collector {
public:
    explicit Collector(std::int64_t vocab_size) : vocab_size_(vocab_size) {}

    void add(double id) {
        if (!(id >= 0 && id < static_cast<double>(vocab_size_))) {
            found_.notes.push_back(
                fmt::format("The end token {} is beyond the model's {} ids: writing cannot end there.", id, vocab_size_));
            return;
        }
        found_.ids.push_back(static_cast<std::int32_t>(id));
    }

    EndTokens take() {
        std::sort(found_.ids.begin(), found_.ids.end());
        found_.ids.erase(std::unique(found_.ids.begin(), found_.ids.end()), found_.ids.end());
        return std::move(found_);
    }

private:
    std::int64_t vocab_size_;
    EndTokens found_;
};

/// Adds the number, or list of numbers, if there is one; returns whether there is. null counts as missing.
bool add_ids(JsonObject& json, Collector& out) {
    const Json* value = json.value(kKey);
    if (value == nullptr || value->is_null()) return false;
    const auto add = [&](const Json& id) {
        if (!id.is_number() || id.number() != std::floor(id.number()))
            json.fail(kKey, "expected the id of a token, or a list of them", FileFault::Format);
        out.add(id.number());
    };
    if (!value->is_list()) add(*value);
    else
        for (const Json& id : value->items()) add(id);
    return true;
}

std::optional<JsonObject> read_generation_config(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / "generation_config.json";
    if (!has_entry(path)) return std::nullopt;
    const std::string source = escaped(path.native(), 0);
    return JsonObject::of(Json::parse(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), source, kSettingsLimits), source);
}

/// Multimodal models keep it in "text_config".
bool add_ids_of_config(JsonObject& config, Collector& out) {
    if (add_ids(config, out)) return true;
    const Json* words = config.value("text_config");
    if (words == nullptr || !words->is_object()) return false;
    JsonObject own = config.object("text_config");
    return add_ids(own, out);
}

void add_id_of_tokenizer(const std::filesystem::path& folder, const ModelTokenizer& tokenizer, Collector& out) {
    const std::optional<AddedToken> end = read_tokenizer_config(folder).token(TokenRole::End);
    if (!end || end->content.empty()) return;
    for (const AddedToken& token : tokenizer.added_tokens())
        if (token.content == end->content) return out.add(token.id);
}

}  // namespace

EndTokens folder_end_tokens(const std::filesystem::path& folder, JsonObject& config, const ModelTokenizer* tokenizer,
                            std::int64_t vocab_size) {
    Collector found(vocab_size);
    std::optional<JsonObject> generation = read_generation_config(folder);
    if (!(generation && add_ids(*generation, found)) && !add_ids_of_config(config, found) && tokenizer != nullptr)
        add_id_of_tokenizer(folder, *tokenizer, found);
    return found.take();
}

EndTokens gguf_end_tokens(const GgufFile& file, std::int64_t vocab_size) {
    constexpr std::array<const char*, 3> kKeys = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                                  "tokenizer.ggml.eom_token_id"};
    Collector found(vocab_size);
    for (const char* key : kKeys) {
        const Json* value = file.find(key);
        if (value == nullptr) continue;
        if (!value->is_number()) throw FileError(FileFault::Format, file.source(), key, "expected the id of a token");
        // Some converters write the largest uint32 for "none".
        if (value->number() != static_cast<double>(std::numeric_limits<std::uint32_t>::max())) found.add(value->number());
    }
    return found.take();
}

}  // namespace attn
