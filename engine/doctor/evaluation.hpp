#pragma once
/// Compares a recording with a recipe, stage by stage; every stage is recomputed from the recorded ones before it.

#include <array>
#include <memory>
#include <optional>

#include "engine/doctor/recipe.hpp"
#include "engine/doctor/shared_products.hpp"

namespace attn::doctor {

/// The comparison of every part that is recorded and can be recomputed.
struct Outcome {
    std::array<std::optional<Comparison>, kPartCount> parts;
    double dropout_rate = 0;     ///< found between weights and dropped, or wherever the recipe looks for it
    bool scores_scaled = false;  ///< the recorded scores are already scaled

    /// The first differing part, or kPartCount.
    int first_failure() const;
    int failures() const;
    /// The comparison of that part; null if none differs.
    const Comparison* first_difference() const;
    std::optional<Comparison>& at(Part part) { return parts[static_cast<std::size_t>(part)]; }
    double max_error() const;
};

/// The scaled and perhaps soft-capped scores as recorded, or else as the recipe computes them; null if they cannot be computed.
std::shared_ptr<const Estimate> scaled_scores(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding,
                                              SharedProducts& shared);

/// The part as the recipe computes it from the recorded ones before it; null if it cannot be computed.
std::shared_ptr<const Estimate> as_follows(const Sequence& sequence, Part part, const Recipe& recipe, const Rounding& rounding,
                                           SharedProducts& shared);

/// The recipe's mask must have the sequence's size. If `needed` is given, stops at the first differing part up to that one and leaves later
/// parts unevaluated.
Outcome evaluate(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding, SharedProducts& shared, int needed = -1);

}  // namespace attn::doctor
