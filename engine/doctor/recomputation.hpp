#pragma once
/// Every part as a recipe computes it from the recorded parts before it. Each file recomputed_*.cpp computes some of the parts.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/doctor/recipe.hpp"
#include "engine/doctor/shared_products.hpp"

namespace attn::doctor {

/// Null if it cannot be computed.
using MaybeEstimate = std::shared_ptr<const Estimate>;

inline MaybeEstimate share(Estimate estimate) { return std::make_shared<const Estimate>(std::move(estimate)); }

/// The first recorded stage that is taken as capped: the one that fits only if it is, or an earlier one that also fits without. A cap that
/// changes less than the rounding of a product does still shows in the next stage, which is computed from the recorded numbers.
enum class FirstCapped : std::uint8_t { AsFits, Scores, Scaled };

class Recomputation {
public:
    /// All arguments have to outlive it.
    Recomputation(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding, SharedProducts& shared,
                  FirstCapped first_capped = FirstCapped::AsFits);

    /// Null if its inputs are not available.
    MaybeEstimate recomputed(Part part);
    /// The input of a later part: the recording, or else its recomputed value.
    MaybeEstimate input(Part part);

    /// What recomputing the parts has shown.
    double dropout_rate() const { return dropout_rate_; }
    bool scores_scaled() const { return scores_scaled_; }

private:
    const MaybeEstimate& recorded(Part part);
    MaybeEstimate compute(Part part);

    // recomputed_heads.cpp
    MaybeEstimate queries();
    MaybeEstimate keys();
    MaybeEstimate values();
    MaybeEstimate rotated_queries();
    MaybeEstimate rotated_keys();
    MaybeEstimate rotated_values();
    MaybeEstimate heads_of(Part projection, std::int64_t positions, std::int64_t size, bool tile);
    /// Whether the part has fewer heads than the queries, so that a later stage repeats them.
    bool sharing_is_ahead(Part part) const { return sequence_.has(part) && sequence_.heads_stored(part) < sequence_.heads; }
    /// The part as the rotation reads it, tiled there if the program tiles shared heads.
    MaybeEstimate tiled(Part from, Part to, bool tile);
    /// Keys or values as the scores or the context read them.
    MaybeEstimate handed_out(Part plain, Part rotated, bool tile);
    const Rotation* rotation_at_projection() const;
    const Rotation* rotation_after_q() const;
    const Rotation* values_rotation() const { return recipe_.values_rotated ? &*recipe_.values_rotated : nullptr; }
    /// A program that rotates v does so where it rotates q and k; true if v is recorded both before and after that.
    bool values_turn_at_projection() const;
    std::int64_t first_key() const { return sequence_.rotation ? sequence_.rotation->first_key : 0; }
    std::int64_t first_value() const { return recipe_.values_rotated ? recipe_.values_rotated->first_key : 0; }
    std::int64_t first_query() const;
    MaybeEstimate rotated(const MaybeEstimate& rows, std::int64_t positions, std::int64_t size, const Rotation* rotation,
                          std::int64_t first) const;

    // recomputed_scores.cpp
    MaybeEstimate scores();
    MaybeEstimate product();
    /// The part plus the biases, if it is the first one with them.
    MaybeEstimate with_early_bias(Part part, const MaybeEstimate& from) const;
    /// The recorded scores may already include part of the scaling, and may even be capped.
    MaybeEstimate as_recorded(const MaybeEstimate& product);
    /// `best` and its distance `least` are what fits without a cap.
    MaybeEstimate capped_product(const Estimate& product, double least, const MaybeEstimate& best);
    MaybeEstimate scaled_scores();
    MaybeEstimate scaled_by_scale(const MaybeEstimate& from);
    MaybeEstimate capped_scores();
    Estimate cap(const Estimate& from) const;
    bool caps_after_scaling() const { return recipe_.cap > 0 && recipe_.cap_use == CapUse::AfterScale; }
    bool caps_after_mask() const { return recipe_.cap > 0 && recipe_.cap_use == CapUse::AfterMask; }

    // recomputed_masks.cpp
    MaybeEstimate masked_scores();
    /// Masked scores of a program that caps them afterwards; they may be recorded before or after that.
    MaybeEstimate late_capped(const MaybeEstimate& masked);
    Estimate with_mask(const Estimate& from, const Keep& keep, const std::vector<double>& biases) const;
    /// If masked scores cannot be recomputed, they still show which cells the mask allowed.
    MaybeEstimate mask_pattern();
    Estimate plus_bias(const Estimate& from) const;
    /// Adds a large positive number to the scores of forbidden cells.
    Estimate lift(Estimate out) const;
    /// The logits after that: if a row has lifted cells, only those matter.
    MaybeEstimate lifted_logits();
    /// A mistake may allow cells that the file's additive mask forbids and for which it therefore has no bias. The bias that the program
    /// added there is taken from the recording: its masked scores, or its weights relative to others in the row.
    Estimate with_untold_bias(Estimate out) const;
    bool has_untold_bias(std::size_t cell) const;
    /// The cell of this row with the largest weight whose bias the file holds.
    std::optional<std::size_t> heaviest_told(std::size_t row) const;
    /// For a program that masks its weights and calls the result masked.
    MaybeEstimate masked_weights() const;
    /// The map with 0 wherever the recipe's mask forbids attention.
    Estimate with_zeros(Estimate map) const;
    /// The input of the softmax.
    MaybeEstimate logits();
    bool shows_unmasked_scores() const;

    // recomputed_weights.cpp
    MaybeEstimate weights();
    Estimate softmaxes(const Estimate& logits);
    /// Masked weights become 0, or -inf if a program adds its mask to them, which no other mistake does.
    void mask_weights(Estimate& out) const;
    /// Rows with a lifted cell become infinity minus infinity.
    void lose_lifted_rows(Estimate& out) const;
    /// Applies the dropout that the recorded weights show, if they show any.
    void drop(Estimate& out);
    MaybeEstimate dropped();

    // recomputed_lines.cpp: rows and columns that are left without any score
    using Make = std::function<Estimate(const Estimate&)>;  ///< what follows from weights
    /// Fills the lines that a softmax along another axis leaves open, according to the recorded weights.
    void fill_lines(Estimate& out);
    /// The same if only the context shows how.
    void fill_unseen_lines(Estimate& out, const Estimate& map, const std::vector<double>& recorded, const Make& make);
    /// Fills rows that the recipe's mask empties. `recorded` has rows of `width` numbers; `make` computes such rows from weights.
    void fill_rows(Estimate& out, const std::vector<double>& recorded, std::int64_t width, const Make& make);
    bool is_emptied(std::size_t row) const;

    // recomputed_context.cpp
    MaybeEstimate context();
    /// The weights that the context is computed from.
    MaybeEstimate map_of_context();
    /// Without recorded weights, only the context shows what a program does with lines that have no score.
    void fill_unseen(Estimate& context, const Estimate& map, const Make& make);
    /// The recorded context if some pattern of dropped weights gives it.
    void drop_unseen(Estimate& context, const Estimate& map, const Estimate& rows);
    /// The recorded context, or what the recorded concat shows of it.
    std::vector<double> recorded_context() const;
    Estimate transposed(const Estimate& map) const;
    /// Whether the context depends only on recorded tensors, whatever mistake was made before them.
    bool context_is_plain() const;
    MaybeEstimate concat();

    const Sequence& sequence_;
    const Recipe& recipe_;
    const Rounding& rounding_;
    SharedProducts& shared_;
    const FirstCapped first_capped_;
    double dropout_rate_ = 0;
    bool scores_scaled_ = false;
    double partial_ = 1;                                                          ///< of the scale, that the scores already include
    bool scores_capped_ = false, scaled_capped_ = false, masked_capped_ = false;  ///< the recorded ones, as far as they are recorded
    std::vector<double> bias_, early_bias_;                                       ///< of masked scores, or of an earlier stage
    std::array<MaybeEstimate, kPartCount> inputs_, recomputed_;
};

}  // namespace attn::doctor
