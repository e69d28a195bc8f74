#pragma once
/// One way to compute attention: the right one, or one with a known mistake in it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/diagnosis.hpp"
#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

enum class MaskUse : std::uint8_t {
    BeforeSoftmax,
    Skipped,       ///< masked scores are there, but the softmax is that of the unmasked ones
    AfterSoftmax,  ///< weights that are masked become 0 once the softmax is done
    AfterWeights,  ///< the same, but the recorded weights are those before
    WrongSign,     ///< a large positive number is added where nothing may be attended; `keep` holds the cells that are left with weight
    OfWeights,     ///< the same, and the masked weights are recorded under the name of masked scores
    AsZeros,       ///< masked scores become 0 instead of -inf
};

/// What is left of the scores that a large number was added to.
enum class Lifted : std::uint8_t {
    Scores,       ///< all of them, as in double
    AsRecorded,   ///< what the recorded masked scores show
    EqualShares,  ///< nothing: they drown in its rounding, or were replaced
    Nan,          ///< infinity was added
    Zeros,        ///< the same, and NaN became 0
};

enum class DropoutUse : std::uint8_t {
    AsRecorded,  ///< between weights and dropped, where both are recorded
    InWeights,   ///< the recorded weights are dropped already
    InContext,   ///< the context is that of dropped weights which are not recorded
};

struct Recipe {
    std::optional<Bug> bug;  ///< nothing: no mistake
    std::string detail;      ///< what a sentence adds to the bug's words
    Packing split = Packing::Heads, join = Packing::Heads;
    bool projections_swapped = false;   ///< k from v_proj and v from k_proj
    bool queries_keys_swapped = false;  ///< scores = k q^T
    bool queries_from_keys = false;     ///< q comes from k_proj and k from q_proj
    bool scores_use_values = false, context_uses_keys = false;
    bool keys_tiled = false, values_tiled = false;  ///< where heads share keys or values
    std::optional<Rotation> values_rotated;         ///< v is turned by rotary positions, too
    bool positions_as_seen = false;                 ///< q is turned by the positions in sequence.rotation, whatever those of k are
    double scale = 1;                               ///< scaled = scale * q k^T
    bool scale_is_observed = false;                 ///< it is neither right nor a known mistake, but what the recording shows
    std::vector<double> partial{1};                 ///< what part of it the recorded scores may have already
    std::shared_ptr<const Keep> keep;               ///< what the scores are masked with
    std::shared_ptr<const Keep> meant;  ///< rows that have a key here and none in `keep` are held against what programs make of such
    std::shared_ptr<const Keep> shown;  ///< what the recorded masked scores show where the softmax is not theirs; null: unmasked
    double bias_factor = 1;             ///< of the file's biases: 0 leaves them out, -1 subtracts them
    Lifted lifted = Lifted::Scores;
    MaskUse mask = MaskUse::BeforeSoftmax;
    SoftmaxAxis axis = SoftmaxAxis::Keys;
    DropoutUse dropout = DropoutUse::AsRecorded;
    bool context_ignores_dropout = false;
};

/// A mask that may have been meant.
struct Plan {
    std::shared_ptr<const Keep> keep;
    bool guessed = false;   ///< one of many lengths of padding that nothing speaks for
    bool observed = false;  ///< taken from where the recording has no probability, because no mask was given
    std::string warning;    ///< what has to be said when this plan is the one that fits
};

/// The masks that may have been meant, the most literal first; at least one.
std::vector<Plan> plans_for(const Sequence& sequence);
/// 1/√d_head or what the file says instead; inferred from the numbers where nothing tells the size of a head.
double proper_scale(const Sequence& sequence);
Recipe correct_recipe(const Sequence& sequence, const Plan& plan);
/// Every known mistake under this plan; where several give the same numbers, the first is named.
std::vector<Recipe> mistaken_recipes(const Sequence& sequence, const Plan& plan);

}  // namespace attn::doctor
