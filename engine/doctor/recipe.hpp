#pragma once
/// A way to compute attention: the correct one, or one with a known mistake.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/diagnosis.hpp"
#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

enum class MaskUse : std::uint8_t {
    BeforeSoftmax,
    Skipped,       ///< masked scores exist, but the softmax uses the unmasked ones
    AfterSoftmax,  ///< masked weights become 0 after the softmax
    AfterWeights,  ///< the same, but the recorded weights are the ones before
    WrongSign,     ///< a large positive number is added to forbidden cells; `keep` holds the cells that still have weight
    OfWeights,     ///< weights are masked after the softmax and recorded as masked scores
    AsZeros,       ///< masked scores become 0 instead of -inf
};

/// What remains of scores to which a large number was added.
enum class Lifted : std::uint8_t {
    Scores,       ///< everything, as in double
    AsRecorded,   ///< whatever the recorded masked scores show
    EqualShares,  ///< nothing: rounded away, or replaced
    Nan,          ///< infinity was added
    Zeros,        ///< infinity was added and NaN became 0
};

/// Where scores are soft-capped.
enum class CapUse : std::uint8_t { AfterScale, BeforeScale, AfterMask };

enum class DropoutUse : std::uint8_t {
    AsRecorded,  ///< between weights and dropped, if both are recorded
    InWeights,   ///< the recorded weights are after dropout
    InContext,   ///< the context is computed from dropped weights that are not recorded
};

struct Recipe {
    std::optional<Bug> bug;  ///< nullopt: no mistake
    std::string detail;      ///< added to the bug's words in a sentence
    Packing split = Packing::Heads, join = Packing::Heads;
    bool projections_swapped = false;   ///< k from v_proj and v from k_proj
    bool queries_keys_swapped = false;  ///< scores = k q^T
    bool queries_from_keys = false;     ///< q is computed by k_proj and k by q_proj
    bool scores_use_values = false, context_uses_keys = false;
    bool keys_tiled = false, values_tiled = false;  ///< for heads that share keys or values
    std::optional<Rotation> values_rotated;         ///< v is rotated, too
    bool positions_as_seen = false;                 ///< q is rotated by the positions in sequence.rotation, whatever those of k are
    double scale = 1;                               ///< scaled = scale * q k^T
    bool scale_is_observed = false;                 ///< neither correct nor a known mistake, but what the recording shows
    std::vector<double> partial{1};                 ///< fractions of the scale that the recorded scores may already include
    double cap = 0;                                 ///< soft cap; 0: none
    CapUse cap_use = CapUse::AfterScale;
    std::shared_ptr<const Keep> keep;  ///< the mask of the scores
    std::shared_ptr<const Keep>
        meant;  ///< rows with a key here but none in `keep` are compared with what programs produce for rows without keys
    std::shared_ptr<const Keep> shown;  ///< what masked scores show if the softmax does not use them; null: unmasked
    double bias_factor = 1;             ///< applies to the file's biases: 0 leaves them out, -1 subtracts them
    Lifted lifted = Lifted::Scores;
    MaskUse mask = MaskUse::BeforeSoftmax;
    SoftmaxAxis axis = SoftmaxAxis::Keys;
    bool sinks_left_out = false;
    bool softmax_twice = false, masked_twice = false;  ///< the latter: the second softmax is masked, too
    DropoutUse dropout = DropoutUse::AsRecorded;
    bool dropout_unscaled = false;  ///< the weights that are left are not divided by 1 - rate
    bool context_ignores_dropout = false;
    bool context_transposed = false;  ///< weights^T v

    /// Whether it takes a number from the recording that it explains.
    bool is_fitted() const { return scale_is_observed || dropout != DropoutUse::AsRecorded || dropout_unscaled; }
    /// Whether it gives other scaled scores than the correct one.
    bool changes_scores(const Recipe& right) const {
        return !scale_is_observed && (scale != right.scale || scores_use_values || queries_keys_swapped || queries_from_keys ||
                                      keys_tiled || projections_swapped || positions_as_seen || split != right.split);
    }
    /// Whether what it gives for one head depends on others.
    bool mixes_heads() const {
        return split != Packing::Heads || join != Packing::Heads || keys_tiled || values_tiled || axis == SoftmaxAxis::Heads;
    }
};

/// A mask that may have been intended.
struct IntendedMask {
    std::shared_ptr<const Keep> keep;
    bool guessed = false;   ///< one of many possible lengths of padding without any evidence
    bool observed = false;  ///< derived from where the recorded weights are 0, because no mask was given
    std::string warning;    ///< to be reported if this mask fits
};

/// The masks that may have been intended, most literal first; at least one.
std::vector<IntendedMask> intended_masks(const Sequence& sequence);
/// 1/√d_head or what the file says instead; inferred from the numbers if the head size is unknown.
double proper_scale(const Sequence& sequence);
Recipe correct_recipe(const Sequence& sequence, const IntendedMask& intended);
/// Every known mistake under this mask; of those that give the same numbers only the first is named.
std::vector<Recipe> mistaken_recipes(const Sequence& sequence, const IntendedMask& intended);

}  // namespace attn::doctor
