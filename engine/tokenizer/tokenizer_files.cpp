#include "engine/tokenizer/tokenizer_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_text_check.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/gguf_tokenizer.hpp"
#include "engine/tokenizer/sentence_piece_file.hpp"
#include "engine/tokenizer/tiktoken.hpp"
#include "engine/tokenizer/tokenizer_classes.hpp"
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

/// Runs `make`, and turns a ConfigError into a FileError about the file.
template <class Make>
std::shared_ptr<const ModelTokenizer> tokenizer_from(const std::string& source, const Make& make) {
    TokenizerParts parts;
    try {
        parts = make();
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, source, "", error.what());
    }
    return tokenizer_of(std::move(parts), source);
}

std::shared_ptr<const ModelTokenizer> read_merges(TokenizerClass kind, const TokenizerConfig& config, const fs::path& vocabulary,
                                                  const fs::path& merges) {
    const std::string source = source_of(vocabulary), merges_source = source_of(merges);
    Vocabulary tokens = parse_json_vocabulary(read_json_file(vocabulary), source);
    const std::vector<Bpe::Merge> pairs = parse_merges(read_tokenizer_file(merges), merges_source);
    return tokenizer_from(merges_source, [&] { return merges_tokenizer(kind, config, std::move(tokens), pairs); });
}

/// `lower`: what holds if nothing tells; by default, what the pieces look like.
std::shared_ptr<const ModelTokenizer> read_words(const TokenizerConfig& config, const fs::path& path, std::optional<bool> lower) {
    const std::string source = source_of(path);
    Vocabulary words = parse_bert_vocabulary(read_tokenizer_file(path), source);
    const bool otherwise = lower.value_or(bert_form_of(words).lower);
    return tokenizer_from(source, [&] { return words_tokenizer(config, std::move(words), otherwise); });
}

/// Without a class as SentencePiece itself.
std::shared_ptr<const ModelTokenizer> read_pieces(std::optional<TokenizerClass> kind, const TokenizerConfig& config, const fs::path& path) {
    const std::string source = source_of(path);
    const SentencePieceFile file = parse_sentence_piece_file(read_tokenizer_file(path), source);
    return tokenizer_from(
        source, [&] { return kind ? pieces_tokenizer(*kind, config, file) : sentence_piece_parts(file.model, SpecialPieces::InWords); });
}

std::shared_ptr<const ModelTokenizer> read_ranks_file(const fs::path& path) {
    const std::string bytes = read_tokenizer_file(path), source = source_of(path);
    const bool is_text =
        std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte >= ' ' || byte == '\n' || byte == '\r'; });
    if (path.extension() == ".model" && !is_text)
        throw FileError(FileFault::Format, source, "", "expected a SentencePiece model, or lines of tokens in Base64 with their ranks");
    return tokenizer_of(parse_tiktoken(bytes, source), source);
}

/// A folder's .tiktoken file; the first by name if there are several.
std::optional<fs::path> find_ranks(const fs::path& folder) {
    std::optional<fs::path> found;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
        if (entry.path().extension() == ".tiktoken" && (!found || entry.path() < *found)) found = entry.path();
    return found;
}

/// The files of a folder's vocabulary; empty where there is none.
struct FoundFiles {
    fs::path vocabulary, merges, words, pieces, ranks;
    bool named = false;  ///< by the user, so that their names do not matter

    static FoundFiles in(const fs::path& folder) {
        const auto found = [&](std::string_view name) { return has_entry(folder / name) ? folder / name : fs::path(); };
        FoundFiles files{found("vocab.json"), found("merges.txt"), found("vocab.txt"), {}, find_ranks(folder).value_or(""), false};
        for (const std::string_view name : {kPiecesFile, std::string_view("sentencepiece.bpe.model"), std::string_view("spiece.model")})
            if (files.pieces.empty()) files.set_pieces(found(name));
        return files;
    }
    /// A file of SentencePiece, or of tiktoken, which uses the same name.
    void set_pieces(fs::path path) {
        if (path.empty()) return;
        std::ifstream input(path, std::ios::binary);
        std::string start(1, '\0');
        input.read(start.data(), 1);
        (is_sentence_piece_file(start) ? pieces : ranks) = std::move(path);
    }
    bool has(VocabularyFiles kind) const {
        if (kind == VocabularyFiles::Merges) return !vocabulary.empty() && !merges.empty();
        return !(kind == VocabularyFiles::Words ? words : pieces).empty();
    }
    std::optional<VocabularyFiles> first() const {
        for (const VocabularyFiles kind : {VocabularyFiles::Merges, VocabularyFiles::Pieces, VocabularyFiles::Words})
            if (has(kind)) return kind;
        return std::nullopt;
    }
    /// Whether the class reads what is there.
    bool suit(TokenizerClass kind) const {
        const VocabularyFiles needed = vocabulary_files(kind);
        const fs::path name = pieces.filename();
        return has(needed) && (needed != VocabularyFiles::Pieces || named || name == kPiecesFile || name == pieces_file(kind));
    }
};

/// The folder has a vocabulary, but not in the files that its class reads.
[[noreturn]] void refuse_files(const TokenizerConfig& config, TokenizerClass kind, const fs::path& folder) {
    const VocabularyFiles needed = vocabulary_files(kind);
    const std::string_view files = needed == VocabularyFiles::Merges  ? "vocab.json with merges.txt"
                                   : needed == VocabularyFiles::Words ? "vocab.txt"
                                                                      : pieces_file(kind);
    const std::string reader = config.tokenizer_class.empty() ? fmt::format("of models of type \"{}\"", escaped(config.model_type))
                                                              : fmt::format("class \"{}\" in {}", escaped(config.tokenizer_class),
                                                                            config.class_place.filename().string());
    throw FileError(FileFault::Schema, source_of(folder), "",
                    fmt::format("has neither tokenizer.json nor {}, which the tokenizer {} reads", files, reader));
}

/// Reads the files as the folder's settings say.
std::shared_ptr<const ModelTokenizer> read_vocabulary_files(const FoundFiles& files, const fs::path& folder) {
    const std::optional<VocabularyFiles> first = files.first();
    if (!first) return files.ranks.empty() ? nullptr : read_ranks_file(files.ranks);
    const TokenizerConfig config = read_tokenizer_config(folder);
    std::optional<TokenizerClass> kind = tokenizer_class(config);
    if (!kind && config.of_transformers && *first == VocabularyFiles::Pieces) kind = TokenizerClass::Plain;
    if (kind && !files.suit(*kind)) refuse_files(config, *kind, folder);
    const VocabularyFiles needed = kind ? vocabulary_files(*kind) : *first;
    if (needed == VocabularyFiles::Merges) return read_merges(kind.value_or(TokenizerClass::Gpt2), config, files.vocabulary, files.merges);
    if (needed == VocabularyFiles::Words) return read_words(config, files.words, kind ? std::optional(true) : std::nullopt);
    return read_pieces(kind, config, files.pieces);
}

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
    FoundFiles files;
    files.named = true;
    if (kind == ".tiktoken") files.ranks = path;
    else if (kind == ".model") files.set_pieces(path);
    else if (kind == ".txt") files.words = path;
    else return read_tokenizer_json(path);
    return read_vocabulary_files(files, path.parent_path());
}

bool has_tokenizer(const fs::path& folder) {
    const FoundFiles files = FoundFiles::in(folder);
    return has_entry(folder / "tokenizer.json") || files.first() || !files.ranks.empty();
}

std::shared_ptr<const ModelTokenizer> read_folder_tokenizer(const fs::path& folder) {
    const fs::path whole = folder / "tokenizer.json";
    return has_entry(whole) ? read_tokenizer_json(whole) : read_vocabulary_files(FoundFiles::in(folder), folder);
}

}  // namespace attn
