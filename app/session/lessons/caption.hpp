#pragma once
/// Sentences of a lesson that quote numbers of what is on screen: "the weight is {weights[0,0,2,1]}".

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/facets/snapshot.hpp"
#include "app/session/training/training_report.hpp"
#include "engine/explain/provenance.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

/// What a quotation does with the numbers that it names.
enum class QuoteKind : std::uint8_t {
    Value,     ///< {weights[0,0,2,1]}: one number
    Sum,       ///< {sum weights[0,0,2,*]}
    Min,       ///< {min scores}
    Max,       ///< {max scores}
    Mean,      ///< {mean norm_1[0,2,*]}
    Std,       ///< {std scores}: the deviation of the numbers named, divided by their count
    Zeros,     ///< {zeros weights[0,0,2,*]}: how many are exactly 0
    Exp,       ///< {exp masked[0,0,2,1]}
    SumExp,    ///< {sumexp masked[0,0,2,*]}
    Most,      ///< {most weights[0,0,2,*]}: the token at the largest of a row along T, S or V
    Token,     ///< {token[3]}: a token of the first sequence; {token[1,3]}: of the second
    Shape,     ///< {shape q}
    Step,      ///< {step}: training steps of the model that is shown
    Loss,      ///< {loss}: its loss on what was held out
    Accuracy,  ///< {accuracy}: its accuracy there in percent
};

struct Quote {
    QuoteKind kind = QuoteKind::Value;
    StageId stage;                                   ///< whose numbers, where `parameter` is empty
    std::string parameter;                           ///< or a parameter of the model: {token_embedding.weight[3,0]}
    std::vector<std::optional<std::int64_t>> index;  ///< in the order of the axes; none: the whole axis
    int decimals = 3;                                ///< {weights[0,0,2,1]:5}
    std::string source;                              ///< as written, without the braces
};

/// Plain text, or a quotation.
struct CaptionPart {
    std::string text;
    std::optional<Quote> quote;
};
using Caption = std::vector<CaptionPart>;

/// Stages without a layer are those of `layer`. Throws Error saying what is wrong with which quotation.
Caption parse_caption(std::string_view text, int layer);

/// The quoted number as text, with a true minus sign; nothing when the trace has no such number.
std::optional<std::string> quoted(const Quote& quote, const Snapshot& snapshot, const TrainingReport& training);

/// Where on screen the number of a quotation would be looked for.
struct QuotedPlace {
    CellRef cell;                 ///< of a largest or smallest number the cell that has it
    int rank = 0;                 ///< indices that its tensor has
    std::array<bool, 4> whole{};  ///< axes of which it takes all; nothing else is known of `cell` there
    bool is_cell() const { return whole == std::array<bool, 4>{}; }
};
/// Nothing for what is in no tensor, speaks of a tensor as a whole, or is not there (yet).
std::optional<QuotedPlace> quoted_place(const Quote& quote, const Snapshot& snapshot);

/// Why a snapshot like this one can never give the number, in words; "" when it can, perhaps once its run has been trained further.
std::string why_unquotable(const Quote& quote, const Snapshot& snapshot);

/// The whole caption; what cannot be quoted (yet) is "…".
std::string caption_text(const Caption& caption, const Snapshot& snapshot, const TrainingReport& training);
/// The same without numbers, while they are being computed.
std::string caption_text(const Caption& caption);

}  // namespace attn::app
