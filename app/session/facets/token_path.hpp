#pragma once
/// A text's way to the pieces that a published model, or one with a tokenizer trained here, reads, laid out in columns: one for each
/// character that was typed.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attn {
class ModelTokenizer;
}

namespace attn::app {

class KeptTokenizer;
struct Setup;

struct TokenPath {
    /// What was typed. Characters that are several bytes are wider where bytes matter.
    struct Column {
        std::string text;
        float width = 1;
    };
    /// Something that stands in the columns first..last; parts of a character share its column.
    struct Cell {
        float first = 0, last = 0;
        std::string text;
        bool same = false;  ///< as it was in the stage before
    };
    /// The text after one stage.
    struct Row {
        std::string name, note;
        std::vector<Cell> cells;
        std::vector<Cell> pieces;  ///< words, to be framed; empty while the text is in one piece
        bool bytes = false;        ///< cells are bytes in hexadecimal
    };
    /// One of those that a step chose from.
    struct Candidate {
        std::string text, number;
        double size = 0;  ///< of its bar, 0 to 1
        bool chosen = false;
    };
    /// A word after one step of the model.
    struct Step {
        std::vector<Cell> parts;
        std::int32_t made = -1;    ///< which of the parts this step made
        std::string what, number;  ///< "i + ly", "557"
        std::string sentence;      ///< why this and no other
        std::vector<Candidate> candidates;
    };
    struct Word {
        float first = 0, last = 0;
        std::string text;
        std::vector<Step> steps;  ///< none of a special token
    };
    struct Piece {
        float first = 0, last = 0;
        std::int32_t word = -1;  ///< place in `words`; -1: the template added it
    };

    std::string rule;  ///< what the model does to a word, in a sentence
    std::string candidates_title;
    std::vector<Column> columns;
    std::vector<Row> rows;
    std::vector<Word> words;
    std::vector<Piece> pieces;  ///< as many as tokens
};

/// One of the texts of a state; the nearest that there is.
const std::string& text_of(const Setup& setup, std::int64_t sequence);
/// The tokenizer whose path can be followed; of tokenizers of ours the `kept` one. Throws Error where texts are not cut into pieces.
std::shared_ptr<const ModelTokenizer> path_tokenizer(const Setup& setup, KeptTokenizer& kept);
/// Of a text and any tokenizer. Throws ConfigError for a text that is too long for this, or that the tokenizer cannot spell.
TokenPath token_path(const ModelTokenizer& tokenizer, const std::string& text);
/// Of one text of a state. Throws Error when it was not cut into pieces, or is too long for this.
TokenPath token_path(const Setup& setup, std::int64_t sequence, KeptTokenizer& kept);

}  // namespace attn::app
