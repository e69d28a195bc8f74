#pragma once
/// What the doctor found in recorded attention: plain data for a panel, a line of text or a line of JSON.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/mistake.hpp"

namespace attn::doctor {

/// The known mistakes of one attention: first those that a model can be told to make, then those that are only found in recordings. Other
/// stands for numbers that are wrong in a way that none of them reproduces.
enum class Bug : std::uint8_t {
    NoScale,
    ScaleByModelWidth,
    ScaledTwice,
    SoftmaxOverQueries,
    MaskAfterSoftmax,
    InvertedMask,
    MaskMissing,
    CausalLeaksOne,
    CausalMasksSelf,
    PaddingOnQueries,
    HeadsSplitWithoutTranspose,
    HeadsJoinedWithoutTranspose,
    DropoutLeftOn,
    KeysValuesSwapped,
    AlibiSign,
    CausalOffset,
    QueriesKeysSwapped,
    GroupedHeadsTiled,
    RotatedValues,
    MaskSign,
    SoftmaxOverHeads,
    PositionOffset,
    NonFinite,
    Other,
};
inline constexpr int kBugCount = static_cast<int>(Bug::Other) + 1;

/// Nothing for what no model can be told to do.
std::optional<Mistake> mistake_of(Bug bug);
/// Nothing for mistakes that lie outside of the attention.
std::optional<Bug> bug_of(Mistake mistake);

/// "no_scale", "softmax_over_queries": the name in JSON.
std::string_view bug_name(Bug bug);
/// "the scores are not scaled": what a sentence says of it.
std::string_view bug_words(Bug bug);
/// "No scaling": a headline.
std::string_view bug_title(Bug bug);
/// One sentence on what to do about it; "" where the words say it already.
std::string_view bug_advice(Bug bug);

enum class Verdict : std::uint8_t { Correct, Wrong, Unknown };
std::string_view verdict_name(Verdict verdict);

enum class Severity : std::uint8_t { Note, Warning, Wrong };

/// One observation in plain words.
struct Finding {
    Severity severity = Severity::Note;
    std::string attention;           ///< prefix of the attention's tensors, "layers.0.attention"; "" for bare names
    std::string stage;               ///< "weights"; "" when it is about no single one
    std::vector<std::int64_t> cell;  ///< index in the recorded tensor; empty when it is about no single one
    std::int64_t head = -1;          ///< -1: about no single head
    std::string sentence;
};

/// Of one attention or of a whole file.
struct Diagnosis {
    Verdict verdict = Verdict::Unknown;
    std::optional<Bug> bug;          ///< when wrong
    bool reproduced = false;         ///< the bug gives every number that is recorded
    std::string attention;           ///< of the stage below
    std::string stage;               ///< the first that differs from its recomputation
    std::vector<std::int64_t> cell;  ///< its first cell that differs, as an index in the recorded tensor
    double max_error = 0;            ///< largest error of that stage, or of all when correct; infinite when one is not a number
    std::string explanation;         ///< one or a few sentences
    std::vector<Finding> findings;   ///< everything else worth knowing
};

}  // namespace attn::doctor
