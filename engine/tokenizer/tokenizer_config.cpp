#include "engine/tokenizer/tokenizer_config.hpp"

#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"

namespace attn {

std::optional<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / "tokenizer_config.json";
    if (!has_entry(path)) return std::nullopt;
    const std::string source = escaped(path.native(), 0);
    const Json json = Json::parse(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), source, kSettingsLimits);
    if (!json.is_object()) throw FileError(FileFault::Format, source, "/", "expected an object");
    const auto truth = [&](std::string_view key) -> std::optional<bool> {
        const Json* value = json.find(key);
        if (value == nullptr || !value->is_boolean()) return std::nullopt;
        return value->boolean();
    };
    TokenizerConfig config;
    if (const Json* name = json.find("tokenizer_class"); name != nullptr && name->is_string()) config.tokenizer_class = name->text();
    // In older files an object that describes the token.
    const Json* end = json.find("eos_token");
    if (end != nullptr && end->is_object()) end = end->find("content");
    if (end != nullptr && end->is_string()) config.eos_token = end->text();
    config.add_bos_token = truth("add_bos_token");
    config.add_eos_token = truth("add_eos_token");
    config.do_lower_case = truth("do_lower_case");
    config.strip_accents = truth("strip_accents");
    config.tokenize_chinese_chars = truth("tokenize_chinese_chars");
    return config;
}

}  // namespace attn
