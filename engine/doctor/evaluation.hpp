#pragma once
/// Holds a recording against a recipe, stage by stage: each recomputed from the recorded ones before it.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "engine/doctor/recipe.hpp"

namespace attn::doctor {

/// Products that many recipes share; of one sequence and one way of rounding.
struct SharedProducts {
    /// By packing, projections that were swapped, values as keys, queries as keys, tiled keys, positions as seen.
    std::map<std::tuple<Packing, bool, bool, bool, bool, bool, bool>, std::shared_ptr<const Estimate>> scores;
    std::shared_ptr<const Estimate> context;  ///< of the recorded weights and v, without any mistake
};

/// What became of every part that is recorded and can be recomputed.
struct Outcome {
    std::array<std::optional<Comparison>, kPartCount> parts;
    double dropout_rate = 0;     ///< seen between weights and dropped, or where the recipe looks for it
    bool scores_scaled = false;  ///< the recorded scores are scaled already

    /// The first part that differs, or kPartCount.
    int first_failure() const;
    int failures() const;
    double max_error() const;
};

/// Scaled scores as recorded, or else as the recipe makes them; null when nothing is there that they could be made of.
std::shared_ptr<const Estimate> scaled_scores(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding,
                                              SharedProducts& shared);

/// The mask of `recipe` has to be of the sequence's size. Ends with the first part that differs up to part `needed`, without a look at
/// those that come after it.
Outcome evaluate(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding, SharedProducts& shared, int needed = -1);

}  // namespace attn::doctor
