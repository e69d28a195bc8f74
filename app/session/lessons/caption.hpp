#pragma once
/// Lesson captions that quote numbers of the current snapshot: "the weight is {weights[0,0,2,1]}".

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/training/training_report.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/explain/provenance.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

/// What a quotation computes from the numbers it refers to.
enum class QuoteKind : std::uint8_t {
    Value,     ///< {weights[0,0,2,1]}: one number
    Sum,       ///< {sum weights[0,0,2,*]}
    Min,       ///< {min scores}
    Max,       ///< {max scores}
    Mean,      ///< {mean norm_1[0,2,*]}
    Std,       ///< {std scores}: the population standard deviation
    Zeros,     ///< {zeros weights[0,0,2,*]}: how many are exactly 0
    Exp,       ///< {exp masked[0,0,2,1]}
    SumExp,    ///< {sumexp masked[0,0,2,*]}
    Most,      ///< {most weights[0,0,2,*]}: the token with the largest number in a row along T, S or V
    Token,     ///< {token[3]}: a token of the first sequence; {token[1,3]}: of the second
    Shape,     ///< {shape q}
    Step,      ///< {step}: training steps of the shown model
    Loss,      ///< {loss}: its validation loss
    Accuracy,  ///< {accuracy}: its validation accuracy in percent
};

struct Quote {
    QuoteKind kind = QuoteKind::Value;
    StageId stage;                                   ///< the stage quoted, if `parameter` is empty
    std::string parameter;                           ///< the model parameter quoted: {token_embedding.weight[3,0]}
    std::vector<std::optional<std::int64_t>> index;  ///< in the order of the axes; none: the whole axis
    int decimals = 3;                                ///< {weights[0,0,2,1]:5}
    std::string source;                              ///< as written, without braces
};

/// Plain text or a quotation.
struct CaptionPart {
    std::string text;
    std::optional<Quote> quote;
};
using Caption = std::vector<CaptionPart>;

/// Stages without a layer refer to `layer`. Throws Error saying what is wrong with which quotation.
Caption parse_caption(std::string_view text, int layer);
/// What parse_caption() would say; "" if nothing is wrong.
std::string fault_of_caption(std::string_view text);

/// The quoted number as text, with a typographic minus sign; none if it is not available.
std::optional<std::string> quoted(const Quote& quote, const Snapshot& snapshot, const TrainingReport& training);

/// Where a quoted number is found on screen.
struct QuotedPlace {
    CellRef cell;                 ///< for a minimum or maximum, the cell that has it
    int rank = 0;                 ///< number of axes of its tensor
    std::array<bool, 4> whole{};  ///< axes quoted as a whole; the index of `cell` is undefined there
    bool is_cell() const { return whole == std::array<bool, 4>{}; }
};
/// None for a quotation that does not come from a tensor, refers to a tensor as a whole, or is not available (yet).
std::optional<QuotedPlace> quoted_place(const Quote& quote, const Snapshot& snapshot);

/// Why a snapshot like this one can never provide the number; "" if it can, possibly only after more training.
std::string why_unquotable(const Quote& quote, const Snapshot& snapshot);

/// The complete caption; "…" stands for numbers that are not available (yet).
std::string caption_text(const Caption& caption, const Snapshot& snapshot, const TrainingReport& training);
/// The same with "…" for every number, while they are being computed.
std::string caption_text(const Caption& caption);

}  // namespace attn::app
