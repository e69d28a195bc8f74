#include "app/session/values/token_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "app/session/document/document.hpp"
#include "app/session/facets/ask.hpp"
#include "app/session/facets/piece_facts.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/count_text.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"

namespace attn::app {
namespace {

/// A sum of logarithms, with a true minus sign.
std::string score_text(double score) {
    const std::string digits = fmt::format("{:.3f}", score);
    return digits == "-0.000" ? digits.substr(1) : digits;
}

using Cell = TokenPath::Cell;
using Step = TokenPath::Step;

constexpr std::size_t kMostCandidates = 8;

std::string counted(std::size_t count, std::string_view one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

std::string hex_bytes(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) out += fmt::format("{}{:02X}", out.empty() ? "" : " ", static_cast<unsigned char>(c));
    return out;
}

/// Maps bytes of the typed text to columns.
class Columns {
public:
    Columns(std::string_view typed, bool wide) : before_(typed.size() + 1) {
        for (std::size_t at = 0; at < typed.size();) {
            const std::size_t bytes = first_utf8(typed.substr(at)).bytes;
            for (std::size_t i = 0; i < bytes; ++i) before_[at + i] = columns_.size();
            columns_.push_back({std::string(typed.substr(at, bytes)), wide && bytes > 1 ? 0.75F * static_cast<float>(bytes) : 1.F});
            at += bytes;
        }
        before_[typed.size()] = columns_.size();
    }
    const std::vector<TokenPath::Column>& all() const { return columns_; }
    float at(std::uint32_t byte) const { return static_cast<float>(before_.at(byte)); }
    /// The index of the character that a byte belongs to.
    std::size_t index(std::size_t byte) const { return before_.at(byte); }

private:
    std::vector<std::size_t> before_;
    std::vector<TokenPath::Column> columns_;
};

/// The characters of a stage; those that come from the same typed character share its columns.
class StageCells {
public:
    StageCells(const PieceList& list, const Columns& columns) {
        const AlignedText& content = list.content;
        each_character(content.text, [&](char32_t, std::size_t begin, std::size_t end) {
            const Origin origin = content.origins[begin];
            cells_.push_back({columns.at(origin.begin), columns.at(origin.end), content.text.substr(begin, end - begin), false});
            starts_.push_back(begin);
        });
        for (std::size_t i = 0; i < cells_.size();) {
            std::size_t end = i + 1;
            while (end < cells_.size() && content.origins[starts_[end]] == content.origins[starts_[i]]) ++end;
            const float first = cells_[i].first, each = (cells_[i].last - first) / static_cast<float>(end - i);
            for (std::size_t j = i; j < end; ++j) {
                cells_[j].first = first + each * static_cast<float>(j - i);
                cells_[j].last = first + each * static_cast<float>(j - i + 1);
            }
            i = end;
        }
    }
    const std::vector<Cell>& all() const { return cells_; }
    /// The cell that covers bytes [begin, end) of the content; some bytes of a character get their share of its columns.
    Cell span(std::size_t begin, std::size_t end) const {
        Cell out;
        bool any = false;
        auto i = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin());
        for (i = i > 0 ? i - 1 : 0; i < cells_.size() && starts_[i] < end; ++i) {
            const std::size_t size = cells_[i].text.size(), from = std::max(begin, starts_[i]) - starts_[i];
            const std::size_t to = std::min(end - starts_[i], size);
            if (from >= to) continue;
            const auto at = [&, wide = cells_[i].last - cells_[i].first](std::size_t byte) {
                return byte == size ? cells_[i].last : cells_[i].first + wide * static_cast<float>(byte) / static_cast<float>(size);
            };
            out.first = any ? std::min(out.first, at(from)) : at(from);
            out.last = any ? std::max(out.last, at(to)) : at(to);
            any = true;
        }
        return out;
    }

private:
    std::vector<Cell> cells_;
    std::vector<std::size_t> starts_;
};

/// Where the tokens of a word stand. Those for the bytes of one character may all name the whole of it: they share it in their order.
std::vector<WordToken> side_by_side(std::vector<WordToken> tokens) {
    for (std::size_t i = 0; i < tokens.size();) {
        const std::uint32_t begin = tokens[i].begin, size = tokens[i].end - begin;
        std::size_t end = i + 1;
        while (end < tokens.size() && tokens[end].begin == begin && tokens[end].end == begin + size) ++end;
        const auto count = static_cast<std::uint32_t>(end - i);
        for (std::uint32_t j = 0; i < end; ++i, ++j) {
            tokens[i].begin = begin + size * j / count;
            tokens[i].end = begin + size * (j + 1) / count;
        }
    }
    return tokens;
}

bool same_pieces(const PieceList& a, const PieceList& b, const StageCells& cells_a, const StageCells& cells_b) {
    return std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(), [&](const attn::Piece& x, const attn::Piece& y) {
        const Cell left = cells_a.span(x.begin, x.end), right = cells_b.span(y.begin, y.end);
        return left.first == right.first && left.last == right.last;
    });
}

class PathMaker {
public:
    PathMaker(const ModelTokenizer& tokenizer, const std::string& text, bool special)
        : tokenizer_(tokenizer), text_(text), steps_(tokenizer.steps(text, special)), letters_(has_letters(steps_)),
          columns_(text, letters_ || has_bytes(steps_)) {}

    TokenPath make() {
        path_.tokenizer = facts_of(tokenizer_);
        path_.columns = columns_.all();
        add_rows();
        const StageCells last(steps_.stages.back().list, columns_);
        for (const TokenSteps::Word& word : steps_.words) add_word(word, last);
        add_pieces(last);
        const auto longest = std::max_element(path_.words.begin(), path_.words.end(),
                                              [](const auto& a, const auto& b) { return a.steps.size() < b.steps.size(); });
        path_.longest_word = static_cast<std::size_t>(longest - path_.words.begin());
        path_.added_pieces = static_cast<std::size_t>(
            std::count_if(path_.pieces.begin(), path_.pieces.end(), [](const auto& piece) { return piece.word < 0; }));
        say_rule();
        return std::move(path_);
    }

private:
    static bool has_letters(const TokenSteps& steps) {
        return std::any_of(steps.stages.begin(), steps.stages.end(), [](const TextStage& stage) { return stage.name == "ByteLevel"; });
    }

    /// Whether a character is spelled by its bytes.
    static bool has_bytes(const TokenSteps& steps) {
        const std::string& content = steps.stages.back().list.content.text;
        return std::any_of(steps.words.begin(), steps.words.end(), [&](const TokenSteps::Word& word) {
            const std::vector<WordToken> tokens = side_by_side(word.trace.tokens);
            return std::any_of(tokens.begin(), tokens.end(), [&](const WordToken& token) {
                const std::size_t end = word.piece.begin + token.end;
                return end < content.size() && (static_cast<unsigned char>(content[end]) & 0xC0U) == 0x80U;
            });
        });
    }

    std::vector<Cell> framed(const PieceList& list, const StageCells& cells) const {
        std::vector<Cell> out;
        for (const attn::Piece& piece : list.pieces)
            if (piece.end > piece.begin) {
                out.push_back(cells.span(piece.begin, piece.end));
                out.back().text = list.text_of(piece);
            }
        return out;
    }

    void add_rows() {
        const TextStage& typed = steps_.stages.front();
        TokenPath::Row row;
        row.name = "text";
        row.note = counted(columns_.all().size(), "character");
        row.cells = StageCells(typed.list, columns_).all();
        path_.rows.push_back(std::move(row));
        for (std::size_t i = 1; i < steps_.stages.size(); ++i) add_stage(steps_.stages[i - 1], steps_.stages[i]);
    }

    void add_stage(const TextStage& before, const TextStage& stage) {
        const StageCells old(before.list, columns_), now(stage.list, columns_);
        const bool cut = !same_pieces(before.list, stage.list, old, now);
        TokenPath::Row row;
        switch (stage.kind) {
        case TextStage::Kind::Typed:
            return;
        case TextStage::Kind::AddedTokens:
            if (!cut) return;
            row.name = "special tokens";
            row.note = "split off first";
            break;
        case TextStage::Kind::Normalizer:
            row.name = "normalised";
            row.note = stage.name;
            break;
        case TextStage::Kind::PreTokenizer:
            row.name = "words";
            row.note = stage.name;
            break;
        }
        const bool letters = stage.name == "ByteLevel";
        row.cells = letters ? old.all() : now.all();
        std::size_t changed = 0;
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            Cell& cell = row.cells[i];
            cell.same = i < old.all().size() && old.all()[i].text == cell.text && old.all()[i].first == cell.first;
            changed += cell.same ? 0 : 1;
        }
        if (stage.list.pieces.size() > 1) row.pieces = framed(stage.list, now);
        if (cut || !letters) {
            if (cut && stage.kind == TextStage::Kind::PreTokenizer) row.note += fmt::format(", {}", counted(row.pieces.size(), "word"));
            else if (changed == 0 && !cut) row.note += ", unchanged";
            path_.rows.push_back(row);
        }
        if (letters) add_bytes(now, row.pieces);
    }

    void add_bytes(const StageCells& letters, const std::vector<Cell>& pieces) {
        TokenPath::Row row;
        row.name = "bytes";
        row.bytes = true;
        row.pieces = pieces;
        row.cells = letters.all();
        row.note = counted(row.cells.size(), "byte");
        for (Cell& cell : row.cells) {
            const std::optional<std::string> bytes = bytes_of_letters(cell.text);
            if (bytes) cell.text = hex_bytes(*bytes);  // none for a special token
            cell.same = cell.first == std::floor(cell.first) && cell.last == std::floor(cell.last);
        }
        path_.rows.push_back(std::move(row));
    }

    std::string shown(std::string_view text) const { return without_byte_letters(text, letters_); }

    void add_word(const TokenSteps::Word& word, const StageCells& cells) {
        const PieceList& list = steps_.stages.back().list;
        TokenPath::Word& out = path_.words.emplace_back();
        const Cell span = cells.span(word.piece.begin, word.piece.end);
        out.first = span.first;
        out.last = span.last;
        word_ = list.text_of(word.piece);
        word_begin_ = word.piece.begin;
        cells_ = &cells;
        out.text = shown(word_);
        if (!word.piece.is_text()) return;
        if (word.trace.taken_whole) add_whole(word.trace, out);
        else if (!word.trace.parts.empty()) add_joins(word.trace, out);
        else if (!word.trace.spellings.empty()) add_spellings(word.trace, out);
        else add_look_ups(word.trace, out);
    }

    Cell part(std::uint32_t begin, std::uint32_t end) const {
        Cell cell = cells_->span(word_begin_ + begin, word_begin_ + end);
        cell.text = shown(word_.substr(begin, end - begin));
        return cell;
    }
    std::vector<Cell> parts(const std::vector<WordToken>& tokens) const {
        std::vector<Cell> out;
        for (const WordToken& token : side_by_side(tokens)) out.push_back(part(token.begin, token.end));
        return out;
    }

    void add_whole(const WordTrace& trace, TokenPath::Word& out) const {
        Step& step = out.steps.emplace_back();
        step.parts = parts(trace.tokens);
        step.made = 0;
        step.what = out.text;
        step.sentence = "The word is in the vocabulary as a whole: nothing is joined.";
    }

    void add_joins(const WordTrace& trace, TokenPath::Word& out) const {
        std::vector<WordToken> now = trace.parts;
        Step& first = out.steps.emplace_back();
        first.parts = parts(now);
        first.what = letters_ ? "bytes" : "characters";
        first.sentence = trace.joins.empty() ? "No pair of neighbours is in the merge list: they stay as they are."
                                             : "The word, split into its smallest parts.";
        for (const WordTrace::Join& join : trace.joins) {
            const auto left =
                std::find_if(now.begin(), now.end(), [&](const WordToken& token) { return token.begin == join.joined.begin; });
            const auto made = static_cast<std::int32_t>(left - now.begin());
            *left = {join.joined.id, join.joined.begin, join.joined.end};
            now.erase(left + 1);
            Step& step = out.steps.emplace_back();
            step.parts = parts(now);
            step.made = made;
            std::tie(step.what, step.joined_with) = parts_of(join.joined);
            step.number = count_text(join.joined.rank);
            step.sentence = join.pairs.size() == 1 ? fmt::format("Rank {}: no other neighbouring pair is in the merge list.", step.number)
                            : join.pairs.empty()   ? fmt::format("Rank {}.", step.number)
                                                   : fmt::format("Rank {} is the lowest of {}.", step.number, join.pairs.size());
            step.candidates = pairs_of(join);
        }
    }

    std::pair<std::string, std::string> parts_of(const WordTrace::Pair& pair) const {
        return {shown(word_.substr(pair.begin, pair.middle - pair.begin)), shown(word_.substr(pair.middle, pair.end - pair.middle))};
    }

    /// Lowest ranks first. Bars use the logarithm of the rank, since ranks spread over thousands.
    std::vector<TokenPath::Candidate> pairs_of(const WordTrace::Join& join) const {
        std::vector<WordTrace::Pair> pairs = join.pairs;
        std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
        if (pairs.size() > kMostCandidates) pairs.resize(kMostCandidates);
        std::vector<TokenPath::Candidate> out;
        for (const WordTrace::Pair& pair : pairs) {
            const double most = std::log(2.0 + pairs.back().rank);
            auto [left, right] = parts_of(pair);
            out.push_back({std::move(left), std::move(right), count_text(pair.rank), std::log(2.0 + pair.rank) / most,
                           pair.begin == join.joined.begin});
        }
        return out;
    }

    void add_spellings(const WordTrace& trace, TokenPath::Word& out) const {
        std::vector<WordToken> now;
        for (const WordTrace::Spelling& chosen : trace.spellings) {
            if (!chosen.chosen) continue;
            now.push_back(chosen.token);
            std::vector<WordTrace::Spelling> others;
            for (const WordTrace::Spelling& other : trace.spellings)
                if (other.token.end == chosen.token.end) others.push_back(other);
            std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.total > b.total; });
            if (others.size() > kMostCandidates) others.resize(kMostCandidates);
            Step& step = out.steps.emplace_back();
            step.parts = parts(now);
            step.made = static_cast<std::int32_t>(now.size()) - 1;
            step.what = step.parts.back().text;
            step.number = score_text(chosen.score);
            const bool is_unknown = tokenizer_.unknown_id() == chosen.token.id;
            step.sentence =
                is_unknown           ? fmt::format("No piece has this character: it is unknown, which scores below every piece. So far {}.",
                                                   score_text(chosen.total))
                : others.size() == 1 ? fmt::format("The only piece that ends here; so far {}.", score_text(chosen.total))
                                     : fmt::format("So far {}: the best of {} that end here.", score_text(chosen.total), others.size());
            const double low = others.back().total, high = others.front().total;
            for (const WordTrace::Spelling& other : others)
                step.candidates.push_back({shown(word_.substr(other.token.begin, other.token.end - other.token.begin)), "",
                                           score_text(other.total), high > low ? 0.15 + 0.85 * (other.total - low) / (high - low) : 1,
                                           other.token.begin == chosen.token.begin && other.token.id == chosen.token.id});
        }
    }

    void add_look_ups(const WordTrace& trace, TokenPath::Word& out) const {
        std::vector<WordToken> now;
        std::vector<TokenPath::Candidate> tried;
        for (const WordTrace::LookUp& look : trace.look_ups) {
            const std::string text = std::string(word_.substr(look.begin, look.end - look.begin));
            tried.push_back({text, "", look.found ? "known" : "unknown",
                             static_cast<double>(text.size()) / static_cast<double>(word_.size()), look.found});
            if (!look.found) continue;
            now.push_back({0, look.begin, look.end});
            Step& step = out.steps.emplace_back();
            step.parts = parts(now);
            step.made = static_cast<std::int32_t>(now.size()) - 1;
            step.what = text;
            step.number = fmt::format("{} tried", tried.size());
            step.sentence = tried.size() == 1 ? "All that is left is in the vocabulary."
                                              : "The longest prefix of what is left that is in the vocabulary.";
            if (tried.size() > kMostCandidates) tried.erase(tried.begin(), tried.end() - static_cast<std::ptrdiff_t>(kMostCandidates));
            step.candidates = std::move(tried);
            tried.clear();
        }
        if (trace.tokens.size() == now.size()) return;
        Step& step = out.steps.emplace_back();
        step.parts = parts(trace.tokens);
        step.made = 0;
        step.what = out.text;
        step.sentence = "Part of the word is not in the vocabulary, so all of it is one unknown piece.";
        if (tried.size() > kMostCandidates) tried.erase(tried.begin(), tried.end() - static_cast<std::ptrdiff_t>(kMostCandidates));
        step.candidates = std::move(tried);
    }

    /// Tokens of the template have no place in the text; all others come from words, in order.
    void add_pieces(const StageCells& last) {
        std::map<std::int32_t, std::size_t> times;
        for (const EncodedToken& token : steps_.tokens) ++times[token.id];
        const std::vector<Made> made = tokens_of_words(last);
        std::size_t next = 0;
        for (const EncodedToken& token : steps_.tokens) {
            const bool from_word = !token.from_template && next < made.size();
            path_.pieces.push_back(from_word ? piece_of(token, made[next++]) : piece_of_template(tokenizer_, token.id));
            path_.pieces.back().times = times[token.id];
        }
    }

    /// A token's place in the columns and in its word.
    struct Made {
        Cell span;
        std::size_t word = 0, place = 0;
    };
    std::vector<Made> tokens_of_words(const StageCells& last) const {
        std::vector<Made> made;
        for (std::size_t w = 0; w < steps_.words.size(); ++w) {
            const TokenSteps::Word& word = steps_.words[w];
            if (!word.piece.is_text()) made.push_back({last.span(word.piece.begin, word.piece.end), w, 0});
            const std::vector<WordToken> tokens = side_by_side(word.trace.tokens);
            for (std::size_t i = 0; i < tokens.size(); ++i)
                made.push_back({last.span(word.piece.begin + tokens[i].begin, word.piece.begin + tokens[i].end), w, i});
        }
        return made;
    }

    TokenPath::Piece piece_of(const EncodedToken& token, const Made& made) const {
        const TokenSteps::Word& word = steps_.words[made.word];
        TokenPath::Piece piece =
            word.piece.is_text()
                ? piece_of_word(tokenizer_, text_, {token, word, steps_.stages.back().list.text_of(word.piece), made.place, letters_})
                : piece_of_added(tokenizer_, text_, token);
        piece.first = made.span.first;
        piece.last = made.span.last;
        piece.word = static_cast<std::int32_t>(made.word);
        if (piece.end > piece.begin) {
            piece.first_character = columns_.index(piece.begin) + 1;
            piece.last_character = columns_.index(piece.end - 1) + 1;
        }
        return piece;
    }

    void say_rule() {
        const std::string_view type = tokenizer_.model_type();
        path_.candidates_title = "Tried, longest first";
        if (type == "BPE") {
            path_.rule = fmt::format("Start from single {}, and join the pair of lowest rank until no pair is in the merge list.",
                                     letters_ ? "bytes" : "characters");
            path_.steps_title = "Merges";
            path_.candidates_title = "Pairs now in the merge list";
            path_.number_title = "rank";
        } else if (type == "Unigram") {
            path_.rule = "Of all ways to spell a word with pieces from the vocabulary, take the one with the highest sum of scores.";
            path_.steps_title = "Spelling";
            path_.candidates_title = "Pieces that end here, with best sums";
            path_.number_title = "score";
        } else if (type == "WordPiece") {
            path_.steps_title = "Prefixes";
            path_.rule = "Take the longest prefix of the word that is in the vocabulary, then continue with the rest.";
        } else {
            path_.steps_title = "Look-up";
            path_.rule = "Look the whole word up.";
        }
    }

    const ModelTokenizer& tokenizer_;
    const std::string& text_;
    TokenSteps steps_;
    bool letters_;  ///< the last stage writes bytes as byte-level letters
    Columns columns_;
    TokenPath path_;
    // The word being laid out.
    std::string_view word_;
    std::size_t word_begin_ = 0;
    const StageCells* cells_ = nullptr;
};

}  // namespace

ReadText text_of(const Setup& setup, const TextOfState& which) {
    const std::vector<std::string>& texts = which.source ? setup.source_texts : setup.texts;
    if (texts.empty()) throw Error("this model has no source text");
    const auto place = std::clamp<std::int64_t>(which.sequence, 0, static_cast<std::int64_t>(texts.size()) - 1);
    const bool decoder = conventions_of(setup).decoder_start && !which.source;
    return {texts[static_cast<std::size_t>(place)], decoder ? Reader::Decoder : Reader::Model};
}

std::shared_ptr<const ModelTokenizer> path_tokenizer(const Setup& setup, KeptTokenizer& kept) {
    if (!conventions_of(setup).pieces) throw Error("characters, words and bytes are found in one step");
    return kept.of(setup)->pieces();
}

TokenPath token_path(const ModelTokenizer& tokenizer, const std::string& text, bool special) {
    return PathMaker(tokenizer, text, special).make();
}

TokenPath token_path(const Setup& setup, const TextOfState& which, KeptTokenizer& kept) {
    const auto [text, reader] = text_of(setup, which);
    TokenPath path = token_path(*path_tokenizer(setup, kept), text, reader == Reader::Model);
    if (reader == Reader::Decoder) {
        TokenPath::Piece& start = *path.pieces.insert(path.pieces.begin(), TokenPath::Piece{});
        start.origin = "Not typed: the decoder begins every text with it.";
        ++path.added_pieces;
    }
    return path;
}

// The text of a state that cannot be computed has no path.
Job<TokenPath> facet::TokenPath::make(const TokenPath& wanted, Ask& ask) {
    ask(Trace{});
    return [wanted, state = ask.state()](const Work& work) { return token_path(*state->setup, wanted.text, work.kept.tokenizer); };
}

}  // namespace attn::app
