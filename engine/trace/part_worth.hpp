#pragma once
/// The importance of parts of a model, measured by removing them or by replacing them with those of another text; plain data.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/stage.hpp"

namespace attn {

/// The parts that are replaced one after another.
enum class ReplacedParts : std::uint8_t {
    Heads,                 ///< the context of a head
    Blocks,                ///< what an attention or a feed-forward network adds to the residual stream
    Positions,             ///< the residual stream that enters a layer, at one position
    AttentionPositions,    ///< what an attention adds at one position
    FeedForwardPositions,  ///< what a feed-forward network adds at one position
};
/// Whether each part is one position of a text; only with another text to take it from.
constexpr bool at_positions(ReplacedParts parts) { return parts != ReplacedParts::Heads && parts != ReplacedParts::Blocks; }

/// What can be measured of an answer.
enum class AnswerMeasure : std::uint8_t { Loss, Probability, LogitDifference };

/// What to measure: the loss (shown_targets) of all texts or of one, or at one position the probability of a token, or by how much its
/// logit is larger than another one's.
struct KnockOutQuestion {
    struct Place {
        std::int64_t sequence = 0, position = 0;
        std::int32_t token = 0;
        std::optional<std::int32_t> against{};  ///< the other token, whose logit is subtracted; none: the probability is measured
        bool operator==(const Place&) const = default;
    };
    std::optional<Place> place{};  ///< none: the loss
    /// [B,T]: 1 where the prediction counts; empty: everywhere. For texts whose beginnings are unpredictable.
    std::vector<std::uint8_t> counted{};
    std::optional<std::int64_t> text{};  ///< the only text whose loss is measured; none: all, or the one of `patch`
    ReplacedParts parts = ReplacedParts::Heads;
    /// Activation patching (Vig et al., 2020; Meng et al., 2022): numbers of text `from` replace those of text `into`, which is the place's
    /// text; the loss is that of `into` alone.
    struct Patch {
        std::int64_t from = 0, into = 0;
        bool operator==(const Patch&) const = default;
    };
    std::optional<Patch> patch{};  ///< none: zeros replace them

    AnswerMeasure measure() const {
        return !place ? AnswerMeasure::Loss : place->against ? AnswerMeasure::LogitDifference : AnswerMeasure::Probability;
    }
    bool operator==(const KnockOutQuestion&) const = default;
};

/// The columns of the grid of blocks.
enum BlockColumn : std::int64_t { kAttentionColumn, kFeedForwardColumn, kCrossColumn };

/// A part, and the measure of the model with it replaced.
struct PartWorth {
    StageId stage;           ///< the stage whose numbers are replaced
    std::int64_t index = 0;  ///< of the head or position; of a whole stage 0
    double without = 0;
    bool measured = false;             ///< false: not measured yet, `without` is meaningless
    std::int64_t row = 0, column = 0;  ///< its place in KnockOut::grid
    bool operator==(const PartWorth&) const = default;
};

/// The changes as a matrix: a row for every layer or attention in it, a column for every head, block or position.
struct WorthGrid {
    static constexpr std::int64_t kNoPart = -1;  ///< where a row has fewer parts than another
    std::int64_t rows = 0, columns = 0;
    std::vector<std::int64_t> parts;     ///< [rows,columns] indices of KnockOut::parts
    std::vector<float> changes;          ///< [rows,columns], 0 where nothing is measured
    std::vector<std::uint8_t> measured;  ///< [rows,columns]
    float reach = 0;                     ///< largest finite magnitude
};

struct KnockOut {
    double with_all = 0;           ///< the measure with nothing replaced
    std::vector<PartWorth> parts;  ///< in the order of the plan
    /// Of a patch: the same measure in the text taken from; none for the loss and where that text is shorter.
    std::optional<double> in_other_text{};
    std::vector<std::size_t> strongest{};  ///< indices of the measured parts, the largest change first; NaN counts as infinite
    WorthGrid grid{};

    /// The measure with the part replaced, minus that with nothing replaced.
    double change(const PartWorth& part) const { return part.without - with_all; }
    bool whole() const { return strongest.size() == parts.size(); }
};

}  // namespace attn
