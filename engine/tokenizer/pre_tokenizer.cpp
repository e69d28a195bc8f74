#include "engine/tokenizer/pre_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/character_class.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/unicode_script.hpp"

namespace attn {
namespace {

using ApplyPreTokenizer = std::function<void(PieceList&)>;
using Find = std::function<std::vector<Match>(std::string_view, SearchWork&)>;

/// What a split does with its matches.
enum class Behavior : std::uint8_t { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
constexpr std::array<std::string_view, 5> kBehaviors = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};

struct Part {
    Match range;
    bool matched = false;
};

/// The whole text as matches and the parts between them; `invert` swaps the two.
std::vector<Part> parts_of(std::string_view text, const std::vector<Match>& matches, bool invert) {
    std::vector<Part> parts;
    std::size_t at = 0;
    for (const Match& match : matches) {
        if (match.begin > at) parts.push_back({{at, match.begin}, invert});
        parts.push_back({match, !invert});
        at = match.end;
    }
    if (at < text.size()) parts.push_back({{at, text.size()}, invert});
    return parts;
}

std::vector<Match> joined(const std::vector<Part>& parts, Behavior behavior) {
    std::vector<Match> out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool before = i > 0 && parts[i - 1].matched;
        bool join = false;
        switch (behavior) {
        case Behavior::Removed:
            if (parts[i].matched) continue;
            break;
        case Behavior::Isolated:
            break;
        case Behavior::MergedWithPrevious:
            join = parts[i].matched && !before;
            break;
        case Behavior::MergedWithNext:
            join = before && !parts[i].matched;
            break;
        case Behavior::Contiguous:
            join = parts[i].matched == before && i > 0;
            break;
        }
        if (join && !out.empty()) out.back().end = parts[i].range.end;
        else out.push_back(parts[i].range);
    }
    return out;
}

/// Splits every text piece with `cut`; the content stays the same.
template <class Cut>
void cut_pieces(PieceList& list, const Cut& cut) {
    std::vector<Piece> pieces;
    pieces.reserve(list.pieces.size());
    for (const Piece& piece : list.pieces) {
        if (!piece.is_text()) {
            pieces.push_back(piece);
            continue;
        }
        for (const Match& part : cut(list.text_of(piece)))
            if (part.end > part.begin)
                pieces.push_back({piece.begin + part.begin, piece.begin + part.end, piece.at_start && part.begin == 0, -1});
    }
    list.pieces = std::move(pieces);
}

/// Rewrites every text piece: write(piece, out) appends its new content.
template <class Write>
void rewrite_pieces(PieceList& list, const Write& write) {
    AlignedText content;
    content.text.reserve(list.content.text.size());
    content.origins.reserve(list.content.text.size());
    for (Piece& piece : list.pieces) {
        const std::size_t begin = content.text.size();
        if (piece.is_text()) write(piece, content);
        else content.append(list.content, piece.begin, piece.end);
        piece.begin = begin;
        piece.end = content.text.size();
    }
    list.content = std::move(content);
}

ApplyPreTokenizer split(Find find, Behavior behavior, bool invert = false) {
    return [find = std::move(find), behavior, invert](PieceList& list) {
        cut_pieces(list, [&](std::string_view text) { return joined(parts_of(text, find(text, list.work), invert), behavior); });
    };
}

/// Every character that satisfies `is` is a match of its own.
Find characters(bool (*is)(char32_t)) {
    return [is](std::string_view text, SearchWork&) {
        std::vector<Match> out;
        each_character(text, [&](char32_t c, std::size_t begin, std::size_t end) {
            if (is(c)) out.push_back({begin, end});
        });
        return out;
    };
}

Find pattern(TextPattern what) {
    return [what = std::move(what)](std::string_view text, SearchWork& work) { return what.matches(text, work); };
}

bool is_any_punctuation(char32_t c) { return is_ascii_punctuation(c) || is_punctuation(c); }

/// Adds `front` before every wanted piece that does not begin with it.
void put_before(PieceList& list, std::string_view front, const std::function<bool(const Piece&)>& wanted) {
    rewrite_pieces(list, [&](const Piece& piece, AlignedText& out) {
        if (piece.end > piece.begin && !list.text_of(piece).starts_with(front) && wanted(piece))
            out.append(front, list.content.origins[piece.begin]);
        out.append(list.content, piece.begin, piece.end);
    });
}

struct Metaspace {
    std::string mark = "\u2581";
    MetaspaceFront front = MetaspaceFront::Always;
    bool cut = true;

    void operator()(PieceList& list) const {
        rewrite_pieces(list, [&](const Piece& piece, AlignedText& out) {
            for (std::size_t i = piece.begin; i < piece.end; ++i) {
                if (list.content.text[i] == ' ') out.append(mark, list.content.origins[i]);
                else out.append(list.content, i, i + 1);
            }
        });
        if (front != MetaspaceFront::Never)
            put_before(list, mark, [this](const Piece& piece) { return front == MetaspaceFront::Always || piece.at_start; });
        if (cut) split(pattern(TextPattern::literal(mark)), Behavior::MergedWithNext)(list);
    }
};

ApplyPreTokenizer read_metaspace_split(JsonObject& json) {
    Metaspace metaspace;
    json.read("replacement", metaspace.mark);
    if (metaspace.mark.empty()) json.fail("replacement", "is empty");
    json.read("split", metaspace.cut);
    std::string unused;
    json.read("str_rep", unused);
    bool add_prefix_space = true;
    if (json.read("add_prefix_space", add_prefix_space) && !add_prefix_space) metaspace.front = MetaspaceFront::Never;
    constexpr std::array<std::string_view, 3> kSchemes = {"always", "first", "never"};
    std::size_t scheme = 0;
    if (json.read_choice("prepend_scheme", kSchemes, scheme)) metaspace.front = static_cast<MetaspaceFront>(scheme);
    return metaspace;
}

ApplyPreTokenizer fixed_length(std::int64_t length) {
    return [length](PieceList& list) {
        cut_pieces(list, [&](std::string_view text) {
            std::vector<Match> out;
            std::int64_t held = length;
            each_character(text, [&](char32_t, std::size_t begin, std::size_t end) {
                if (held == length) out.push_back({begin, begin}), held = 0;
                out.back().end = end;
                ++held;
            });
            return out;
        });
    };
}

/// Runs of word characters and runs of other visible characters: \w+|[^\w\s]+ with \w as in UTS #18, from which Oniguruma differs.
std::vector<Match> word_runs(std::string_view text) {
    enum class Kind : std::uint8_t { Space, Word, Sign };
    std::vector<Match> out;
    Kind last = Kind::Space;
    each_character(text, [&](char32_t c, std::size_t begin, std::size_t end) {
        const Kind kind = is_white_space(c) ? Kind::Space : is_word_character(c) ? Kind::Word : Kind::Sign;
        if (kind != Kind::Space) {
            if (kind != last) out.push_back({begin, end});
            out.back().end = end;
        }
        last = kind;
    });
    return out;
}

/// Starts a new word where the script changes. Spaces belong to the word before them; leading spaces are dropped.
std::vector<Match> script_runs(std::string_view text) {
    std::vector<Match> out;
    int last = kAnyScript;
    each_character(text, [&](char32_t c, std::size_t begin, std::size_t) {
        const int script = script_for_words(c);
        if (script == kAnyScript) return;
        if (out.empty() || script != last) {
            if (!out.empty()) out.back().end = begin;
            out.push_back({begin, text.size()});
        }
        last = script;
    });
    return out;
}

ApplyPreTokenizer both(ApplyPreTokenizer first, ApplyPreTokenizer second) {
    return [first = std::move(first), second = std::move(second)](PieceList& list) {
        first(list);
        second(list);
    };
}

ApplyPreTokenizer read_pre_tokenizer_of(const std::string& type, JsonObject& json) {
    Behavior behavior = Behavior::Isolated;
    const auto read_behavior = [&] {
        std::size_t index = 0;
        if (json.read_choice("behavior", kBehaviors, index)) behavior = static_cast<Behavior>(index);
    };
    if (type == "ByteLevel") {
        bool add_prefix_space = true, use_regex = true, trim_offsets = true;  // trim_offsets matters only to the post-processor
        json.read("add_prefix_space", add_prefix_space);
        json.read("use_regex", use_regex);
        json.read("trim_offsets", trim_offsets);
        return byte_level(add_prefix_space, use_regex).apply;
    }
    if (type == "Split") {
        bool invert = false;
        read_behavior();
        json.read("invert", invert);
        return split(pattern(read_pattern(json)), behavior, invert);
    }
    if (type == "Metaspace") return read_metaspace_split(json);
    if (type == "BertPreTokenizer") return bert_pre_tokenizer().apply;
    if (type == "Digits") {
        bool individual = false;
        json.read("individual_digits", individual);
        return split(characters(is_number), individual ? Behavior::Isolated : Behavior::Contiguous);
    }
    if (type == "Punctuation") {
        read_behavior();
        return split(characters(is_any_punctuation), behavior);
    }
    if (type == "Whitespace") return [](PieceList& list) { cut_pieces(list, word_runs); };
    if (type == "WhitespaceSplit") return whitespace_split().apply;
    if (type == "CharDelimiterSplit") return split(pattern(TextPattern::literal(required_text(json, "delimiter"))), Behavior::Removed);
    if (type == "UnicodeScripts") return [](PieceList& list) { cut_pieces(list, script_runs); };
    if (type == "FixedLength") {
        std::int64_t length = 5;
        json.read("length", length, 1, 1 << 20);
        return fixed_length(length);
    }
    refuse_type(json, "pre-tokenizer", type);
}

}  // namespace

std::vector<PreTokenizer> read_pre_tokenizers(JsonObject component) {
    return read_steps<PreTokenizer>(std::move(component), "pretokenizers", {}, [](const std::string& type, JsonObject& json) {
        return PreTokenizer{type, read_pre_tokenizer_of(type, json)};
    });
}

PreTokenizer byte_level(bool add_prefix_space, bool use_regex) {
    const ApplyPreTokenizer cut = use_regex ? split(pattern(TextPattern::regex(kGpt2Split)), Behavior::Isolated) : ApplyPreTokenizer();
    return {"ByteLevel", [add_prefix_space, cut](PieceList& list) {
                if (add_prefix_space) put_before(list, " ", [](const Piece&) { return true; });
                if (cut) cut(list);
                rewrite_pieces(list, [&](const Piece& piece, AlignedText& out) {
                    for (std::size_t i = piece.begin; i < piece.end; ++i)
                        out.append(byte_letter(static_cast<unsigned char>(list.content.text[i])), list.content.origins[i]);
                });
            }};
}

PreTokenizer split_isolated(std::string_view expression) {
    return {"Split", split(pattern(TextPattern::regex(expression)), Behavior::Isolated)};
}

PreTokenizer whitespace_split() { return {"WhitespaceSplit", split(characters(is_white_space), Behavior::Removed)}; }

PreTokenizer metaspace(MetaspaceFront front, bool cut) {
    Metaspace metaspace;
    metaspace.front = front;
    metaspace.cut = cut;
    return {"Metaspace", metaspace};
}

PreTokenizer punctuation_runs() { return {"Punctuation", split(characters(is_any_punctuation), Behavior::Contiguous)}; }

PreTokenizer digit_runs() { return {"Digits", split(characters(is_number), Behavior::Contiguous)}; }

PreTokenizer bert_pre_tokenizer() {
    return {"BertPreTokenizer", both(whitespace_split().apply, split(characters(is_any_punctuation), Behavior::Isolated))};
}

}  // namespace attn
