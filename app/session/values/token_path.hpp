#pragma once
/// The steps from a text to the pieces that a model reads, laid out in columns, one per typed character. For published models and for BPE
/// tokenizers trained here.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/state.hpp"
#include "app/session/states/text_model.hpp"
#include "app/session/values/facet.hpp"
#include "app/session/values/tokenizer_facts.hpp"

namespace attn {
class ModelTokenizer;
}

namespace attn::app {

class KeptTokenizer;
struct Setup;

struct TokenPath {
    /// One typed character. Characters of several bytes are wider where bytes are shown.
    struct Column {
        std::string text;
        float width = 1;
    };
    /// Something that spans the columns first..last; parts of a character share its column.
    struct Cell {
        float first = 0, last = 0;
        std::string text;
        bool same = false;  ///< unchanged from the previous stage
    };
    /// The text after one stage.
    struct Row {
        std::string name, note;
        std::vector<Cell> cells;
        std::vector<Cell> pieces;  ///< words to be framed; empty while the text is not split
        bool bytes = false;        ///< cells show bytes in hexadecimal
    };
    /// One of the alternatives that a step chose from.
    struct Candidate {
        std::string text;         ///< the only or the left part, as bytes that widgets make visible
        std::string joined_with;  ///< the right part of a pair
        std::string number;
        double size = 0;  ///< length of its bar, 0 to 1
        bool chosen = false;
    };
    /// A word after one step of the model.
    struct Step {
        std::vector<Cell> parts;
        std::int32_t made = -1;   ///< index of the part that this step made
        std::string what;         ///< what was made or looked up, or the left part of a pair, as bytes that widgets make visible
        std::string joined_with;  ///< the right part of a pair
        std::string number;       ///< such as the rank "557"
        std::string sentence;     ///< why this alternative was chosen
        std::vector<Candidate> candidates;
    };
    struct Word {
        float first = 0, last = 0;
        std::string text;
        std::vector<Step> steps;  ///< empty for a special token
    };
    struct Merge {
        std::string left, right;
        std::int32_t rank = 0;
    };
    struct Piece {
        float first = 0, last = 0;
        std::int32_t word = -1;  ///< index in `words`; -1: added by the template
        bool starts_word = false;
        bool added = false, special = false;                  ///< an added token, and one that is omitted from decoded text
        std::string spelling;                                 ///< in the vocabulary, such as "Ġthe" or "##ing"
        std::string typed;                                    ///< the typed characters it comes from; pieces may share one
        std::string bytes;                                    ///< that it stands for; "" for the template's
        std::size_t begin = 0, end = 0;                       ///< the bytes of `typed` in the text
        std::size_t first_character = 0, last_character = 0;  ///< counted from 1; 0 for the template's
        std::size_t times = 0;                                ///< how often the text has it
        std::string origin;                                   ///< one sentence saying how it came about
        std::vector<Merge> merges;                            ///< BPE: those that led to it, in order
        std::optional<double> score;                          ///< Unigram
        std::size_t tried = 0;                                ///< WordPiece and WordLevel: how many look-ups found it
    };

    TokenizerFacts tokenizer;
    std::string rule;         ///< one sentence saying how the model splits a word
    std::string steps_title;  ///< what the steps of a word are, such as "Merges"
    std::string candidates_title;
    std::string number_title;  ///< what the numbers of the steps are: "rank" or "score"; "" if they say it themselves
    std::vector<Column> columns;
    std::vector<Row> rows;
    std::vector<Word> words;
    std::size_t longest_word = 0;  ///< index of the first word with the most steps
    std::vector<Piece> pieces;     ///< one per token
    std::size_t added_pieces = 0;  ///< how many of them the template added
};

/// A text of a setup, and which stack reads it.
struct ReadText {
    const std::string& text;
    Reader reader;
};
/// The sequence is clamped to the existing ones.
ReadText text_of(const Setup& setup, const TextOfState& which);

/// The tokenizer whose steps can be shown. Throws Error if the setup's tokenizer does not split texts into pieces.
std::shared_ptr<const ModelTokenizer> path_tokenizer(const Setup& setup, KeptTokenizer& kept);
/// `special`: with what the tokenizer's template adds. Throws ConfigError for a text that is too long to lay out, or that the tokenizer
/// cannot encode.
TokenPath token_path(const ModelTokenizer& tokenizer, const std::string& text, bool special = true);
/// For one text of a state. Throws Error if it was not split into pieces, or is too long to lay out.
TokenPath token_path(const Setup& setup, const TextOfState& which, KeptTokenizer& kept);

namespace facet {

/// The steps by which a tokenizer splits a text into pieces.
struct TokenPath {
    using Value = app::TokenPath;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    TextOfState text;
    static Job<Value> make(const TokenPath&, Ask& ask);
    bool operator==(const TokenPath&) const = default;
};

}  // namespace facet

}  // namespace attn::app
