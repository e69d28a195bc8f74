#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "engine/doctor/alibi.hpp"
#include "engine/doctor/keep_patterns.hpp"
#include "engine/doctor/observed_scale.hpp"
#include "engine/doctor/recipe.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

std::shared_ptr<const Keep> share(Keep keep) { return std::make_shared<const Keep>(std::move(keep)); }

/// Offsets of causal masks: aligned at the first query and, if queries and keys differ in number, at the last. With cached keys, a mask
/// that is meant to be causal is aligned at the last.
std::vector<std::int64_t> causal_offsets(const Sequence& sequence) {
    const std::int64_t last = sequence.keys - sequence.queries;
    if (last == 0) return {0};
    // A single query is not meant to see only the first key, either.
    const bool meant = sequence.intent.causal == true || (sequence.intent.given && sequence.queries == 1);
    if (last > 0 && meant && !sequence.intent.complete) return {last};
    return {0, last};
}

bool has_cached_keys(const Sequence& sequence) { return sequence.keys > sequence.queries; }

/// The cells that still have weight after a large number was added wherever `keep` forbids attention.
Keep lifted_keep(const Sequence& sequence, const Keep& keep) {
    Keep out = keep;
    const auto keys = static_cast<std::ptrdiff_t>(sequence.keys);
    for (auto row = out.begin(); row != out.end(); row += keys)
        if (std::find(row, row + keys, std::uint8_t{0}) != row + keys)
            std::transform(row, row + keys, row, [](std::uint8_t x) { return static_cast<std::uint8_t>(x == 0); });
    return out;
}

class IntendedMasks {
public:
    explicit IntendedMasks(const Sequence& sequence) : sequence_(sequence), intent_(sequence.intent) {}

    std::vector<IntendedMask> run() {
        if (intent_.given) given();
        else not_given();
        return std::move(out_);
    }

private:
    void add(Keep keep, bool observed = false, std::string warning = "") {
        for (const IntendedMask& known : out_)
            if (*known.keep == keep) return;
        // A guess that forbids everything would fit anything.
        if ((guessing_ || !warning.empty()) && std::find(keep.begin(), keep.end(), std::uint8_t{1}) == keep.end()) return;
        out_.push_back({share(std::move(keep)), guessing_, observed, std::move(warning)});
    }

    void given() {
        const bool causal_unknown = !intent_.causal.has_value();
        if (intent_.causal == true && is_causal(intent_.keep)) return add(intent_.keep);
        if (intent_.causal != true || intent_.complete) add(intent_.keep);
        if (!intent_.complete && (intent_.causal == true || ((intent_.keys_only || intent_.biases_only) && causal_unknown)))
            for (const std::int64_t offset : causal_offsets(sequence_))
                add(both(intent_.keep, causal_keep(sequence_, offset)), false,
                    intent_.causal == true ? "" : "The attention is causal too, although the file does not say so.");
        if (!intent_.complete && mistaken_pattern(sequence_, intent_.keep) == Bug::InvertedMask)
            add(complement(intent_.keep), false,
                "The mask is stored the other way round: true means that a position may not be attended to.");
    }

    bool is_causal(const Keep& keep) const {
        const std::vector<std::int64_t> offsets = causal_offsets(sequence_);
        return std::any_of(offsets.begin(), offsets.end(),
                           [&](std::int64_t offset) { return is_subset(keep, causal_keep(sequence_, offset)); });
    }

    void not_given() {
        const std::optional<Keep> observed = observed_keep(sequence_);
        const Keep full = full_keep(sequence_);
        if (intent_.causal == true) {
            for (const std::int64_t offset : causal_offsets(sequence_)) add(causal_keep(sequence_, offset));
            if (observed) add_window(*observed);
        } else if (observed) {
            add(*observed, true);
            add(full);
            for (const std::int64_t offset : causal_offsets(sequence_)) add(causal_keep(sequence_, offset));
        } else {
            add(full);
            for (const std::int64_t offset : causal_offsets(sequence_)) add(causal_keep(sequence_, offset));
        }
        if (observed || sequence_.has(Part::Dropped)) {
            const Keep keys = keep_of_keys(sequence_, keys_used(sequence_, observed ? *observed : cells_in_use()));
            const std::size_t known = out_.size();
            for (std::size_t i = 0; i < known; ++i)
                add_padded(both(*out_[i].keep, keys),
                           "Some keys are never attended to, as if they were padding; the file does not say so.");
        } else if (sequence_.has(Part::Context) || sequence_.has(Part::Concat)) {
            guess_padding();
        }
    }

    /// A causal mask under which every query sees only the last few keys, which is no mistake that anybody makes.
    void add_window(const Keep& observed) {
        const auto last_row = observed.end() - static_cast<std::ptrdiff_t>(sequence_.keys);
        const auto width = static_cast<std::int64_t>(std::count(last_row, observed.end(), std::uint8_t{1}));
        if (width < 2 || width >= sequence_.keys) return;
        for (const std::int64_t offset : causal_offsets(sequence_)) {
            Keep window = both(causal_keep(sequence_, offset), complement(causal_keep(sequence_, offset - width)));
            if (window == observed)
                add(std::move(window), false,
                    fmt::format("Every query sees only the last {} keys, as in a sliding window; the file does not say so.", width));
        }
    }

    /// Excludes a causal mask that starts at the first key: it hides the last keys like padding, but also every query from itself.
    void add_padded(Keep keep, const char* warning) {
        const bool misaligned = intent_.causal == true && has_cached_keys(sequence_) && is_subset(keep, causal_keep(sequence_, 0));
        if (!misaligned) add(std::move(keep), false, warning);
    }

    /// Zeros in dropped weights may come from dropout, but a key that no query attends to is not a coincidence.
    Keep cells_in_use() const {
        Keep keep;
        for (const double w : sequence_[Part::Dropped]) keep.push_back(w != 0);
        return keep;
    }

    /// If only the context can tell, any number of keys at either end may be padding.
    void guess_padding() {
        constexpr std::int64_t kMaxKeys = 64;
        if (sequence_.keys > kMaxKeys) return;
        guessing_ = true;
        const std::size_t known = out_.size();
        for (std::int64_t n = 1; n < sequence_.keys; ++n)
            for (const Keep& keys : {key_range_keep(sequence_, 0, n), key_range_keep(sequence_, n, sequence_.keys)})
                for (std::size_t i = 0; i < known; ++i)
                    add_padded(both(*out_[i].keep, keys), "Some keys are left out, as if they were padding; the file does not say so.");
    }

    const Sequence& sequence_;
    const Intent& intent_;
    bool guessing_ = false;
    std::vector<IntendedMask> out_;
};

class Mistakes {
public:
    Mistakes(const Sequence& sequence, const IntendedMask& intended)
        : sequence_(sequence), intended_(intended), right_(correct_recipe(sequence, intended)) {}

    std::vector<Recipe> run() {
        packing();
        scale();
        caps();
        swaps();
        sharing();
        rotations();
        // Zeros taken for a mask may be dropout's.
        if (intended_.observed) dropouts();
        masks();
        softmaxes();
        if (!intended_.observed) dropouts();
        transposed_weights();
        custom_scale();
        return std::move(out_);
    }

private:
    Recipe& add(Bug bug, std::string detail = "") {
        out_.push_back(right_);
        out_.back().bug = bug;
        out_.back().detail = std::move(detail);
        return out_.back();
    }

    void packing() {
        const bool split = sequence_.has(Part::QProj) || sequence_.has(Part::KProj) || sequence_.has(Part::VProj);
        const bool joined = sequence_.has(Part::Concat);
        if (split) add(Bug::HeadsSplitWithoutTranspose).split = Packing::Reshape;
        if (joined) add(Bug::HeadsJoinedWithoutTranspose).join = Packing::Reshape;
        if (split) add(Bug::Other, "The columns of the heads are interleaved in the split.").split = Packing::Interleave;
        if (joined) add(Bug::Other, "The columns of the heads are interleaved in the join.").join = Packing::Interleave;
    }

    void scale() {
        const double root = right_.scale;
        add(Bug::NoScale).scale = 1;
        for (const double width : sequence_.widths) {
            Recipe& recipe = add(Bug::ScaleByModelWidth);
            recipe.scale = 1 / std::sqrt(width);
            recipe.partial.push_back(recipe.scale);
        }
        Recipe& twice = add(Bug::ScaledTwice);
        twice.scale = root * root;
        twice.partial.push_back(twice.scale);
    }

    void caps() {
        if (right_.cap == 0) return;
        add(Bug::SoftcapMissing).cap = 0;
        add(Bug::SoftcapBeforeScale).cap_use = CapUse::BeforeScale;
        add(Bug::SoftcapAfterMask).cap_use = CapUse::AfterMask;
    }

    void swaps() {
        if (sequence_.queries == sequence_.keys) {
            add(Bug::QueriesKeysSwapped).queries_keys_swapped = true;
            if (sequence_.heads_stored(Part::KProj) == sequence_.heads)
                add(Bug::QueriesKeysSwapped, "q comes from k_proj and k from q_proj.").queries_from_keys = true;
        }
        if (sequence_.head_size == sequence_.value_size) {
            Recipe& all = add(Bug::KeysValuesSwapped);
            all.scores_use_values = all.context_uses_keys = true;
            add(Bug::KeysValuesSwapped, "The scores are products of q and v.").scores_use_values = true;
            add(Bug::KeysValuesSwapped, "The context is computed from k.").context_uses_keys = true;
            add(Bug::KeysValuesSwapped, "k comes from v_proj and v from k_proj.").projections_swapped = true;
        }
    }

    /// Shared keys and values that were assigned to the wrong query heads.
    void sharing() {
        const auto are_shared = [&](std::initializer_list<Part> parts) {
            return std::any_of(parts.begin(), parts.end(), [&](Part part) { return sequence_.heads_stored(part) < sequence_.heads; });
        };
        const bool keys = are_shared({Part::KProj, Part::K, Part::KRotated}), values = are_shared({Part::VProj, Part::V, Part::VRotated});
        if (keys && values) {
            Recipe& all = add(Bug::GroupedHeadsTiled);
            all.keys_tiled = all.values_tiled = true;
        }
        if (keys) add(Bug::GroupedHeadsTiled, values ? "Only the keys are tiled." : "").keys_tiled = true;
        if (values) add(Bug::GroupedHeadsTiled, keys ? "Only the values are tiled." : "").values_tiled = true;
    }

    void rotations() {
        if (sequence_.rotation) {
            const std::int64_t meant = sequence_.rotation->first_key + sequence_.first_query(), seen = sequence_.rotation->first_query;
            if (seen != meant)
                add(Bug::PositionOffset,
                    fmt::format("The first query is rotated for position {} and the first key for position {}; the query should be at {}.",
                                seen, sequence_.rotation->first_key, meant))
                    .positions_as_seen = true;
            add(Bug::RotatedValues).values_rotated = sequence_.rotation;
            if (!sequence_.rotation->at_projection && sequence_.has(Part::VProj) && sequence_.has(Part::V)) {
                // v may be recorded after its rotation even where q and k are recorded before it as well.
                Recipe& recorded_after = add(Bug::RotatedValues);
                recorded_after.values_rotated = sequence_.rotation;
                recorded_after.values_rotated->at_projection = true;
            }
        } else if ((sequence_.has(Part::Context) || sequence_.has(Part::Concat)) &&
                   (sequence_.has(Part::V) || sequence_.has(Part::VProj)) && sequence_.value_size > 0) {
            for (const Rotation& rotation : usual_rotations(sequence_)) add(Bug::RotatedValues).values_rotated = rotation;
        }
    }

    void add_mask(Bug bug, Keep keep, const std::string& detail = "") {
        const auto shared = share(std::move(keep));
        if (*shared == *intended_.keep && sequence_.intent.bias.empty()) return;
        const bool nothing_left = std::find(shared->begin(), shared->end(), std::uint8_t{1}) == shared->end();
        if (nothing_left && !detail.empty()) return;
        for (const double bias_factor : {1.0, 0.0}) {
            if (bias_factor != 0 && sequence_.intent.bias.empty()) continue;
            Recipe& shown = add(bug, detail);
            shown.keep = shared;
            shown.bias_factor = bias_factor;
            Recipe& hidden = add(bug, detail);  // the masked scores are right, but not the softmax's input
            hidden.keep = shared;
            hidden.shown = intended_.keep;
            hidden.bias_factor = bias_factor;
            hidden.mask = MaskUse::Skipped;
        }
    }

    /// Causal masks aligned at the first key instead of the last.
    void misaligned(const Keep& keep, const Keep& keys) {
        if (!has_cached_keys(sequence_) || !is_subset(keep, causal_keep(sequence_, sequence_.first_query()))) return;
        const Keep first = causal_keep(sequence_, 0);
        add_mask(Bug::CausalOffset, both(first, sequence_.intent.given ? sequence_.intent.keep : full_keep(sequence_)));
        add_mask(Bug::CausalOffset, both(first, keys));
        add_mask(Bug::CausalOffset, first);
    }

    /// Whether subtracting these biases would reward distance.
    bool is_penalty(std::vector<double> bias) const {
        for (double& x : bias) x = -x;
        return grows_with_distance(sequence_, bias, *intended_.keep, bias_error(sequence_));
    }

    /// A large positive number is added to forbidden cells, or biases are subtracted.
    void wrong_sign(const Keep& keep) {
        const Intent& intent = sequence_.intent;
        if (!intent.bias.empty()) {
            const bool is_alibi = is_penalty(intent.bias);
            add(is_alibi ? Bug::AlibiSign : Bug::MaskSign).bias_factor = -1;
        }
        const auto lifted = share(lifted_keep(sequence_, keep));
        if (*lifted == keep) return;
        const std::size_t keys = static_cast<std::size_t>(sequence_.keys);
        bool some_row_is_open = false;
        for (std::size_t row = 0; row < keep.size(); row += keys)
            some_row_is_open = some_row_is_open || std::find(keep.begin() + static_cast<std::ptrdiff_t>(row),
                                                             keep.begin() + static_cast<std::ptrdiff_t>(row + keys),
                                                             0) == keep.begin() + static_cast<std::ptrdiff_t>(row + keys);
        for (const Lifted left : {Lifted::Scores, Lifted::AsRecorded, Lifted::EqualShares, Lifted::Nan, Lifted::Zeros})
            for (const double bias_factor : {1.0, -1.0}) {
                if (bias_factor < 0 && intent.bias.empty()) continue;
                if (left == Lifted::AsRecorded && !sequence_.has(Part::Masked)) continue;
                // NaN everywhere can have many causes.
                if (left >= Lifted::Nan &&
                    ((!intent.given && intent.causal != true) || !intended_.warning.empty() ||
                     ((!some_row_is_open || sequence_.queries < 4) && !intent.wrong_sign && !sequence_.has(Part::Masked))))
                    continue;
                Recipe& recipe = add(Bug::MaskSign);
                recipe.mask = MaskUse::WrongSign;
                recipe.keep = lifted;
                recipe.shown = intended_.keep;
                recipe.lifted = left;
                recipe.bias_factor = bias_factor;
            }
    }

    void masks() {
        const Keep& keep = *intended_.keep;
        const std::vector<std::uint8_t> used = keys_used(sequence_, keep);
        const Keep keys = keep_of_keys(sequence_, used);
        const bool padded = std::find(used.begin(), used.end(), 0) != used.end();
        misaligned(keep, keys);
        if (sequence_.intent.wrong_sign) wrong_sign(keep);
        add_mask(Bug::MaskMissing, full_keep(sequence_));
        if (padded) add_mask(Bug::MaskMissing, keys, "Only the padding is masked.");
        add_mask(Bug::InvertedMask, complement(keep));
        for (const std::int64_t offset : causal_offsets(sequence_)) {
            const Keep causal = causal_keep(sequence_, offset);
            if (!is_subset(keep, causal)) continue;
            if (padded && both(causal, keys) == keep) add_mask(Bug::MaskMissing, causal, "The padding is not masked.");
            const Keep before = causal_keep(sequence_, offset - 1), after = causal_keep(sequence_, offset + 1);
            // Keys that no query may attend to are padding, or beyond what a causal mask allows.
            for (const Keep& visible : {keys, full_keep(sequence_)}) {
                Keep leaking = both(complement(causal), both(after, visible));
                for (std::size_t i = 0; i < leaking.size(); ++i) leaking[i] |= keep[i];
                add_mask(Bug::CausalLeaksOne, std::move(leaking));
            }
            add_mask(Bug::CausalMasksSelf, both(keep, before));
        }
        if (padded && sequence_.queries == sequence_.keys) padding_on_queries(used);
        if (!sequence_.intent.wrong_sign) wrong_sign(keep);
        inverted_parts(keys, padded);
        // Cells without any pattern were dropped, which setting masked weights to 0 would also reproduce.
        if (intended_.observed && is_scattered(complement(keep))) return;
        for (const MaskUse use : {MaskUse::AfterSoftmax, MaskUse::AfterWeights, MaskUse::OfWeights}) {
            add(Bug::MaskAfterSoftmax).mask = use;
            if (use == MaskUse::OfWeights) continue;
            Recipe& shown = add(Bug::MaskAfterSoftmax);
            shown.mask = use;
            shown.shown = intended_.keep;
        }
    }

    /// Whether more than a few cells, which may have underflowed, are not those of a mask.
    bool is_scattered(const Keep& gone) const {
        return 16 * cells_beside_masks(sequence_, gone) > std::count(gone.begin(), gone.end(), std::uint8_t{1});
    }

    /// One of two combined masks is inverted, or the causal one including the diagonal.
    void inverted_parts(const Keep& keys, bool padded) {
        for (const std::int64_t offset : causal_offsets(sequence_)) {
            const Keep causal = causal_keep(sequence_, offset);
            if (both(causal, keys) != *intended_.keep) continue;
            if (padded) {
                add_mask(Bug::InvertedMask, both(complement(causal), keys), "Only its causal part is inverted.");
                add_mask(Bug::InvertedMask, both(causal, complement(keys)), "Only its padding part is inverted.");
            }
            add_mask(Bug::InvertedMask, both(complement(causal_keep(sequence_, offset - 1)), keys),
                     "Every position attends to itself and to later ones.");
        }
    }

    void padding_on_queries(const std::vector<std::uint8_t>& used) {
        const Keep queries = keep_of_queries(sequence_, used), keys = keep_of_keys(sequence_, used), causal = causal_keep(sequence_, 0);
        const Keep& keep = *intended_.keep;
        if (both(causal, keys) == keep) add_mask(Bug::PaddingOnQueries, both(causal, queries));
        if (keys == keep) add_mask(Bug::PaddingOnQueries, queries);
        // Any other pattern without its padding: a band such as a sliding window continues along its diagonals.
        add_mask(Bug::PaddingOnQueries, both(along_diagonals(sequence_, keep), queries));
        // Or padded columns are copies of the last column before the padding.
        Keep widened = keep;
        for (std::size_t i = 1; i < widened.size(); ++i)
            if (const std::size_t s = i % used.size(); s > 0 && used[s] == 0) widened[i] = widened[i - 1];
        add_mask(Bug::PaddingOnQueries, both(widened, queries));
    }

    void softmaxes() {
        add(Bug::SoftmaxOverQueries).axis = SoftmaxAxis::Queries;
        if (sequence_.heads > 1) add(Bug::SoftmaxOverHeads).axis = SoftmaxAxis::Heads;
        add(Bug::SoftmaxTwice).softmax_twice = true;
        if (std::find(intended_.keep->begin(), intended_.keep->end(), 0) != intended_.keep->end()) {
            Recipe& masked = add(Bug::SoftmaxTwice);
            masked.softmax_twice = masked.masked_twice = true;
        }
        if (!sequence_.sinks.empty()) add(Bug::Other, "The sinks are left out of the softmax.").sinks_left_out = true;
        add(Bug::Other, "Masked scores become 0 instead of minus infinity.").mask = MaskUse::AsZeros;
    }

    void dropouts() {
        add(Bug::DropoutLeftOn).dropout = DropoutUse::InWeights;
        add(Bug::DropoutLeftOn, "It was applied to weights that are not in the file.").dropout = DropoutUse::InContext;
        const auto add_unscaled = [&](DropoutUse use) {
            Recipe& recipe = add(Bug::Other, "Dropout set some weights to 0, but did not divide the others by 1 - rate.");
            recipe.dropout = use;
            recipe.dropout_unscaled = true;
        };
        if (sequence_.has(Part::Dropped)) add_unscaled(DropoutUse::AsRecorded);
        add_unscaled(DropoutUse::InWeights);
        add_unscaled(DropoutUse::InContext);
        if (sequence_.has(Part::Dropped))
            add(Bug::Other, "The context was computed from the weights before dropout.").context_ignores_dropout = true;
    }

    void transposed_weights() {
        if (sequence_.queries != sequence_.keys || !rows_are_shares(sequence_[Part::Weights])) return;
        add(Bug::Other, "The context is computed from the transposed weights, weights^T v.").context_transposed = true;
    }
    /// Whether all rows sum to 1, or less beside a sink; else the recorded weights may themselves be transposed.
    bool rows_are_shares(const std::vector<double>& weights) const {
        for (std::size_t row = 0; row < weights.size(); row += static_cast<std::size_t>(sequence_.keys)) {
            const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(row);
            const double sum = std::accumulate(begin, begin + sequence_.keys, 0.0);
            if (!(std::fabs(sum - 1) <= sum_tolerance(sequence_)) && !(sum < 1 && !sequence_.sinks.empty())) return false;
        }
        return true;
    }

    /// The last resort: no named mistake, but a single factor for all scores.
    void custom_scale() {
        if (const std::optional<double> seen = observed_scale(sequence_)) {
            Recipe& custom = add(Bug::Other, fmt::format("The scores are multiplied by {0:.6g} throughout, which is neither {1:.6g} nor a "
                                                         "known mistake. If it is intended, say so in the metadata: scale = {0:.6g}.",
                                                         *seen, right_.scale));
            custom.scale = *seen;
            custom.scale_is_observed = true;
            custom.partial.push_back(*seen);
        }
    }

    const Sequence& sequence_;
    const IntendedMask& intended_;
    const Recipe right_;
    std::vector<Recipe> out_;
};

}  // namespace

std::vector<IntendedMask> intended_masks(const Sequence& sequence) { return IntendedMasks(sequence).run(); }

double proper_scale(const Sequence& sequence) {
    if (sequence.scale) return *sequence.scale;
    if (sequence.head_size > 0) return 1 / std::sqrt(static_cast<double>(sequence.head_size));
    const auto usual = static_cast<double>(sequence.usual_head_size);
    if (const std::optional<double> factor = observed_scale(sequence)) {
        const double size = 1 / (*factor * *factor), whole = std::round(size);
        const bool mistaken = usual > 0 && (whole == 1 || whole == usual * usual ||
                                            std::find(sequence.widths.begin(), sequence.widths.end(), whole) != sequence.widths.end());
        // If scores equal scaled, heads would have one dimension, but the scores may just be scaled already.
        const double least = sequence.has(Part::Scaled) ? 2 : 1;
        if (whole >= least && std::fabs(size - whole) <= 0.01 * whole && (whole == usual || !mistaken)) return 1 / std::sqrt(whole);
    }
    if (usual > 0) return 1 / std::sqrt(usual);
    return 1 / std::numbers::sqrt2;  // no evidence: assume something other than 1, the only head size that needs no scaling
}

Recipe correct_recipe(const Sequence& sequence, const IntendedMask& intended) {
    Recipe recipe;
    recipe.keep = intended.keep;
    recipe.meant = sequence.intent.given || intended.observed ? intended.keep : share(full_keep(sequence));
    recipe.scale = proper_scale(sequence);
    recipe.partial = {1, recipe.scale};
    recipe.cap = sequence.softcap.value_or(0);
    return recipe;
}

std::vector<Recipe> mistaken_recipes(const Sequence& sequence, const IntendedMask& intended) { return Mistakes(sequence, intended).run(); }

}  // namespace attn::doctor
