#include "engine/tokenizer/tokenizer_files.hpp"

#include <fmt/format.h>

#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/gguf_tokenizer.hpp"

namespace attn {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

JsonObject parse_object(std::string_view text, std::string_view source) {
    Json json = Json::parse(text, source, kMaxTokenizerFile);
    json.drop_null_members();
    return JsonObject::of(std::move(json), source);
}

std::vector<Bpe::Merge> parse_merges(std::string_view text, std::string_view source) {
    std::vector<Bpe::Merge> merges;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
        const std::size_t space = line.find(' ');
        if (space == 0 || space + 1 >= line.size() || space == std::string_view::npos ||
            line.find(' ', space + 1) != std::string_view::npos)
            throw FileError(FileFault::Format, source, fmt::format("line {}", number),
                            fmt::format("expected two tokens with a space between, found \"{}\"", escaped(line)));
        merges.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    return merges;
}

}  // namespace

std::shared_ptr<const ModelTokenizer> parse_tokenizer_json(std::string_view text, std::string_view source) {
    JsonObject json = parse_object(text, source);
    TokenizerParts parts;
    std::string version;
    json.read("version", version);
    json.value("truncation");
    json.value("padding");
    parts.added_tokens = read_added_tokens(json.objects("added_tokens"));
    if (auto component = json.optional_object("normalizer")) parts.normalizers = read_normalizers(*component);
    if (auto component = json.optional_object("pre_tokenizer")) parts.pre_tokenizers = read_pre_tokenizers(*component);
    if (auto component = json.optional_object("post_processor")) parts.post_processors = read_post_processors(*component);
    if (auto component = json.optional_object("decoder")) parts.decoders = read_decoders(*component);
    parts.model = read_token_model(json.object("model"));
    json.expect_no_more();
    return at_field(json, "added_tokens", [&] { return std::make_shared<const ModelTokenizer>(std::move(parts)); });
}

std::shared_ptr<const ModelTokenizer> read_tokenizer_json(const std::filesystem::path& path) {
    return parse_tokenizer_json(read_whole_file(path, {.max_bytes = kMaxTokenizerFile, .stop = {}}), escaped(path.native(), 0));
}

std::shared_ptr<const ModelTokenizer> read_gpt2_vocabulary(const std::filesystem::path& vocabulary, const std::filesystem::path& merges) {
    const ReadLimits limits{.max_bytes = kMaxTokenizerFile, .stop = {}};
    const std::string source = escaped(vocabulary.native(), 0), merges_source = escaped(merges.native(), 0);
    Json::Members wrapped;
    wrapped.emplace_back("vocab", Json::parse(read_whole_file(vocabulary, limits), source, kMaxTokenizerFile));
    JsonObject json = JsonObject::of(Json(std::move(wrapped)), source);
    const std::vector<Bpe::Merge> pairs = parse_merges(read_whole_file(merges, limits), merges_source);
    TokenizerParts parts;
    Vocabulary tokens = read_vocabulary(json, "vocab");
    if (const auto id = tokens.find(kEndOfText))
        parts.added_tokens.push_back({.id = *id, .content = std::string(kEndOfText), .special = true});
    parts.pre_tokenizers = {byte_level(false, true)};
    parts.decoders = {byte_level_decoder()};
    try {
        parts.model = std::make_unique<Bpe>(std::move(tokens), pairs, BpeOptions{});
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, merges_source, "", error.what());
    }
    return std::make_shared<const ModelTokenizer>(std::move(parts));
}

std::shared_ptr<const ModelTokenizer> read_tokenizer(const std::filesystem::path& path) {
    std::error_code none;
    if (path.extension() == ".gguf") return read_gguf_tokenizer(GgufFile::read(path));
    if (!std::filesystem::is_directory(path, none)) return read_tokenizer_json(path);
    if (auto tokenizer = read_folder_tokenizer(path)) return tokenizer;
    throw FileError(FileFault::Schema, escaped(path.native(), 0), "", "has no tokenizer.json, nor vocab.json with merges.txt");
}

std::shared_ptr<const ModelTokenizer> read_folder_tokenizer(const std::filesystem::path& folder) {
    const auto has = [&](const char* name) {
        std::error_code none;
        return std::filesystem::exists(folder / name, none);
    };
    if (has("tokenizer.json")) return read_tokenizer_json(folder / "tokenizer.json");
    if (has("vocab.json") && has("merges.txt")) return read_gpt2_vocabulary(folder / "vocab.json", folder / "merges.txt");
    return nullptr;
}

}  // namespace attn
