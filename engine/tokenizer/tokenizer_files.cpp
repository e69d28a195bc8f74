#include "engine/tokenizer/tokenizer_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_text_check.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/gguf_tokenizer.hpp"
#include "engine/tokenizer/sentence_piece_file.hpp"
#include "engine/tokenizer/tiktoken.hpp"
#include "engine/tokenizer/tokenizer_config.hpp"
#include "engine/tokenizer/vocabulary_files.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

std::string source_of(const fs::path& path) { return escaped(path.native(), 0); }

std::string read_tokenizer_file(const fs::path& path) { return read_whole_file(path, {.max_bytes = kMaxTokenizerFile, .stop = {}}); }

/// A JSON file that is damaged or absurd is refused before it takes much memory.
std::string read_json_file(const fs::path& path) {
    constexpr JsonTextLimits kLimits{.string_bytes = std::uint64_t{1} << 20, .values = kTokenizerLimits.values};
    check_json_file(path, kMaxTokenizerFile, kLimits);
    return read_tokenizer_file(path);
}

std::shared_ptr<const ModelTokenizer> tokenizer_of(TokenizerParts parts, const std::string& source) {
    parts.source = source;
    try {
        return std::make_shared<const ModelTokenizer>(std::move(parts));
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, source, "", error.what());
    }
}

std::shared_ptr<const ModelTokenizer> read_gpt2(const fs::path& vocabulary, const fs::path& merges) {
    const std::string source = source_of(vocabulary);
    return tokenizer_of(parse_gpt2_files(read_json_file(vocabulary), source, read_tokenizer_file(merges), source_of(merges)), source);
}

std::shared_ptr<const ModelTokenizer> read_bert(const fs::path& path) {
    const std::string source = source_of(path);
    Vocabulary pieces = parse_bert_vocabulary(read_tokenizer_file(path), source);
    const TokenizerConfig config = read_tokenizer_config(path.parent_path()).value_or(TokenizerConfig());
    BertForm form = bert_form_of(pieces);
    form.lower = config.do_lower_case.value_or(form.lower);
    form.accents = config.strip_accents.value_or(form.lower);
    form.chinese = config.tokenize_chinese_chars.value_or(true);
    try {
        return tokenizer_of(bert_parts(std::move(pieces), form), source);
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, source, "", error.what());
    }
}

/// Adds the tokens that transformers puts around a text, unless the settings say otherwise.
void add_settings(TokenizerParts& parts, const TokenizerConfig& config, const SentencePieceFile& file) {
    const std::string_view name = config.tokenizer_class;
    const bool llama = name.starts_with("LlamaTokenizer") || name.starts_with("GemmaTokenizer");
    const bool t5 = name.starts_with("T5Tokenizer");
    if (!llama && !t5 && !(config.add_bos_token && config.add_eos_token))
        parts.notes.push_back(fmt::format("tokenizer_config.json does not say which tokens to put around a text, and the class \"{}\" is "
                                          "unknown: only those it names are added.",
                                          escaped(name)));
    std::optional<std::int32_t> begin, end;
    const auto count = static_cast<std::int64_t>(file.model.pieces.size());
    if (config.add_bos_token.value_or(llama) && file.begin >= 0 && file.begin < count) begin = file.begin;
    if (config.add_eos_token.value_or(t5) && file.end >= 0 && file.end < count) end = file.end;
    if (begin || end) parts.post_processors = {begin_and_end(begin, end)};
}

std::shared_ptr<const ModelTokenizer> read_pieces_or_ranks(const fs::path& path) {
    const std::string bytes = read_tokenizer_file(path), source = source_of(path);
    if (!is_sentence_piece_file(bytes)) {
        // SentencePiece's name for its files, which tiktoken's may have as well.
        const bool is_text =
            std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte >= ' ' || byte == '\n' || byte == '\r'; });
        if (path.extension() == ".model" && !is_text)
            throw FileError(FileFault::Format, source, "", "expected a SentencePiece model, or lines of tokens in Base64 with their ranks");
        return tokenizer_of(parse_tiktoken(bytes, source), source);
    }
    const SentencePieceFile file = parse_sentence_piece_file(bytes, source);
    const std::optional<TokenizerConfig> config = read_tokenizer_config(path.parent_path());
    try {
        TokenizerParts parts = sentence_piece_parts(file.model, config ? SpecialPieces::CutOut : SpecialPieces::InWords);
        if (config) add_settings(parts, *config, file);
        return tokenizer_of(std::move(parts), source);
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, source, "", error.what());
    }
}

/// A folder's .tiktoken file; the first by name if there are several.
std::optional<fs::path> find_ranks(const fs::path& folder) {
    std::optional<fs::path> found;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
        if (entry.path().extension() == ".tiktoken" && (!found || entry.path() < *found)) found = entry.path();
    return found;
}

bool has_file(const fs::path& folder, const char* name) { return has_entry(folder / name); }

}  // namespace

std::shared_ptr<const ModelTokenizer> parse_tokenizer_json(std::string_view text, std::string_view source) {
    Json whole = Json::parse(text, source, kTokenizerLimits);
    whole.drop_null_members();
    JsonObject json = JsonObject::of(std::move(whole), source);
    TokenizerParts parts;
    parts.source = source;
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

std::shared_ptr<const ModelTokenizer> read_tokenizer_json(const fs::path& path) {
    return parse_tokenizer_json(read_json_file(path), source_of(path));
}

std::shared_ptr<const ModelTokenizer> read_tokenizer(const fs::path& place) {
    const fs::path path = model_in_cache(place);
    std::error_code none;
    const fs::path kind = path.extension();
    if (fs::is_directory(path, none)) {
        if (auto tokenizer = read_folder_tokenizer(path)) return tokenizer;
        throw FileError(FileFault::Schema, source_of(path), "", fmt::format("has no tokenizer: expected {}", kTokenizerFiles));
    }
    if (kind == ".gguf") return read_gguf_tokenizer(GgufFile::read(path));
    if (kind == ".model" || kind == ".tiktoken") return read_pieces_or_ranks(path);
    if (kind == ".txt") return read_bert(path);
    return read_tokenizer_json(path);
}

bool has_tokenizer(const fs::path& folder) {
    return has_file(folder, "tokenizer.json") || (has_file(folder, "vocab.json") && has_file(folder, "merges.txt")) ||
           has_file(folder, "tokenizer.model") || has_file(folder, "vocab.txt") || find_ranks(folder).has_value();
}

std::shared_ptr<const ModelTokenizer> read_folder_tokenizer(const fs::path& folder) {
    if (has_file(folder, "tokenizer.json")) return read_tokenizer_json(folder / "tokenizer.json");
    if (has_file(folder, "vocab.json") && has_file(folder, "merges.txt")) return read_gpt2(folder / "vocab.json", folder / "merges.txt");
    if (has_file(folder, "tokenizer.model")) return read_pieces_or_ranks(folder / "tokenizer.model");
    if (has_file(folder, "vocab.txt")) return read_bert(folder / "vocab.txt");
    if (const auto ranks = find_ranks(folder)) return read_pieces_or_ranks(*ranks);
    return nullptr;
}

}  // namespace attn
