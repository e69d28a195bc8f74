#pragma once
/// What the doctor found in recorded attention: plain data for a panel, a line of text or JSON.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/mistake.hpp"

namespace attn::doctor {

/// The known mistakes of an attention: first those that a model can be told to make, then those found only in recordings. Other stands for
/// wrong numbers that no known mistake reproduces.
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
    SoftmaxTwice,
    SoftcapMissing,
    SoftcapBeforeScale,
    SoftcapAfterMask,
    NonFinite,
    Other,
};
inline constexpr int kBugCount = static_cast<int>(Bug::Other) + 1;

/// nullopt if a model cannot be told to make it.
std::optional<Mistake> mistake_of(Bug bug);

/// Name in JSON: "no_scale", "softmax_over_queries".
std::string_view bug_name(Bug bug);
/// As part of a sentence: "the scores are not scaled".
std::string_view bug_words(Bug bug);
/// As a headline: "No scaling".
std::string_view bug_title(Bug bug);
/// One sentence on how to fix it; "" if the words already say it.
std::string_view bug_advice(Bug bug);

enum class Verdict : std::uint8_t { Correct, Wrong, Unknown };
std::string_view verdict_name(Verdict verdict);

enum class Severity : std::uint8_t { Note, Warning, Wrong };

/// A number as it was recorded and as it follows from the stages before it, and both maps around it.
struct Beside {
    double recorded = 0, expected = 0;
    /// The shown part of the head's matrix: its first row and column, its size, and the cell's place in the whole. No rows: there is no
    /// map.
    std::int64_t first_row = 0, first_col = 0, rows = 0, cols = 0, row = 0, col = 0;
    std::vector<float> recorded_map{}, expected_map{};  ///< [rows,cols]
};

/// An observation in plain words.
struct Finding {
    Severity severity = Severity::Note;
    std::string attention;           ///< prefix of the attention's tensors, "layers.0.attention"; "" for bare names
    std::string stage;               ///< "weights"; "" if it concerns no particular stage
    std::vector<std::int64_t> cell;  ///< index in the recorded tensor; empty if it concerns no particular cell
    std::int64_t head = -1;          ///< -1: no particular head
    std::string sentence;
    std::optional<Bug> bug{};                ///< if wrong
    std::shared_ptr<const Beside> beside{};  ///< if a number differs from what was expected there
};

/// The result for an attention or a whole file.
struct Diagnosis {
    Verdict verdict = Verdict::Unknown;
    std::optional<Bug> bug;                  ///< if wrong
    bool reproduced = false;                 ///< the bug, or more than one explanation if unknown, reproduces every recorded number
    std::string attention;                   ///< the one that contains the stage below
    std::string stage;                       ///< the first that differs from its recomputation
    std::vector<std::int64_t> cell;          ///< the stage's first differing cell, as an index in the recorded tensor
    double max_error = 0;                    ///< largest error in that stage, or of all if correct; infinite if exactly one side is NaN
    std::string explanation;                 ///< one or a few sentences
    std::vector<Finding> findings;           ///< other observations
    std::shared_ptr<const Beside> beside{};  ///< of that cell, if it differs
};

}  // namespace attn::doctor
