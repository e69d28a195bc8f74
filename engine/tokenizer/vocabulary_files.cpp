#include "engine/tokenizer/vocabulary_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "engine/tokenizer/word_models.hpp"

namespace attn {
namespace {

/// Removes the first line from `text` and returns it without its line break.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

bool is_bracketed(std::string_view piece) { return piece.starts_with('[') && piece.ends_with(']'); }

}  // namespace

Vocabulary parse_json_vocabulary(std::string_view text, std::string_view source) {
    Json::Members wrapped;
    wrapped.emplace_back("vocab", Json::parse(text, source, kTokenizerLimits));
    JsonObject json = JsonObject::of(Json(std::move(wrapped)), source);
    return read_vocabulary(json, "vocab");
}

std::vector<Bpe::Merge> parse_merges(std::string_view text, std::string_view source) {
    std::vector<Bpe::Merge> merges;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = take_line(text);
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

Vocabulary parse_bert_vocabulary(std::string_view text, std::string_view source) {
    Vocabulary pieces;
    for (std::int64_t id = 0; !text.empty(); ++id) {
        const std::string_view line = take_line(text);
        const auto refuse = [&](FileFault fault, std::string_view why) {
            throw FileError(fault, source, fmt::format("line {}", id + 1), why);
        };
        if (find_invalid_utf8(line)) refuse(FileFault::Format, "is not UTF-8");
        if (id == Vocabulary::kMaxIds)
            refuse(FileFault::Limit, fmt::format("is one more than the {} that are accepted", Vocabulary::kMaxIds));
        pieces.add(line, id);
    }
    return pieces;
}

TokenizerParts bert_parts(Vocabulary pieces, const BertForm& form, std::string_view unknown) {
    TokenizerParts parts;
    for (const std::string_view special : {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"})
        if (const auto id = pieces.find(special))
            parts.added_tokens.push_back({.id = *id, .content = std::string(special), .special = true});
    const auto cls = pieces.find("[CLS]"), sep = pieces.find("[SEP]");
    if (cls && sep) parts.post_processors = {bert_processing(*cls, *sep)};
    constexpr std::int64_t kLongestWord = 100;
    parts.normalizers = {bert_normalizer(form)};
    parts.pre_tokenizers = {bert_pre_tokenizer()};
    parts.decoders = {word_piece_decoder()};
    parts.model = std::make_unique<WordPiece>(std::move(pieces), std::string(unknown), "##", kLongestWord);
    return parts;
}

BertForm bert_form_of(const Vocabulary& pieces) {
    BertForm form;
    for (std::int64_t id = 0; id < pieces.size() && form.lower; ++id) {
        const std::string* const piece = pieces.text(id);
        if (piece == nullptr || is_bracketed(*piece)) continue;
        if (std::any_of(piece->begin(), piece->end(), [](char c) { return c >= 'A' && c <= 'Z'; })) form.lower = false;
    }
    form.accents = form.lower;
    return form;
}

}  // namespace attn
