#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/doctor/keep_patterns.hpp"
#include "engine/doctor/observed_scale.hpp"
#include "engine/doctor/recipe.hpp"

namespace attn::doctor {
namespace {

std::shared_ptr<const Keep> share(Keep keep) { return std::make_shared<const Keep>(std::move(keep)); }

/// Causal masks aligned at the first query and, where there are more keys than queries or fewer, at the last.
std::vector<std::int64_t> causal_offsets(const Sequence& sequence) {
    if (sequence.queries == sequence.keys) return {0};
    return {0, sequence.keys - sequence.queries};
}

class Plans {
public:
    explicit Plans(const Sequence& sequence) : sequence_(sequence), intent_(sequence.intent) {}

    std::vector<Plan> run() {
        if (intent_.given) given();
        else not_given();
        return std::move(out_);
    }

private:
    void add(Keep keep, bool observed = false, std::string warning = "") {
        for (const Plan& plan : out_)
            if (*plan.keep == keep) return;
        // A guess that forbids everything fits anything.
        if ((guessing_ || !warning.empty()) && std::find(keep.begin(), keep.end(), std::uint8_t{1}) == keep.end()) return;
        out_.push_back({share(std::move(keep)), guessing_, observed, std::move(warning)});
    }

    void given() {
        const bool causal_unknown = !intent_.causal.has_value();
        if (intent_.causal == true && is_causal(intent_.keep)) return add(intent_.keep);
        if (intent_.causal != true || intent_.complete) add(intent_.keep);
        if (!intent_.complete && (intent_.causal == true || (intent_.keys_only && causal_unknown)))
            for (const std::int64_t offset : causal_offsets(sequence_))
                add(both(intent_.keep, causal_keep(sequence_, offset)), false,
                    intent_.causal == true ? "" : "The attention is causal too, although the file says so nowhere.");
        if (!intent_.complete && mistaken_pattern(sequence_, intent_.keep) == Bug::InvertedMask)
            add(complement(intent_.keep), false, "The mask is stored the other way round: true means that a position may not be attended.");
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
                add(both(*out_[i].keep, keys), false, "Some keys are never attended, as if they were padding; the file does not say so.");
        } else if (sequence_.has(Part::Context) || sequence_.has(Part::Concat)) {
            guess_padding();
        }
    }

    /// Zeros of dropped weights may be dropout's, but a key that no query attends to is not by chance.
    Keep cells_in_use() const {
        Keep keep;
        for (const double w : sequence_[Part::Dropped]) keep.push_back(w != 0);
        return keep;
    }

    /// Only the context tells: any number of keys at either end may be padding.
    void guess_padding() {
        constexpr std::int64_t kMostKeys = 64;
        if (sequence_.keys > kMostKeys) return;
        guessing_ = true;
        const std::size_t known = out_.size();
        for (std::int64_t n = 1; n < sequence_.keys; ++n)
            for (const Keep& keys : {key_range_keep(sequence_, 0, n), key_range_keep(sequence_, n, sequence_.keys)})
                for (std::size_t i = 0; i < known; ++i)
                    add(both(*out_[i].keep, keys), false, "Some keys take no part, as if they were padding; the file does not say so.");
    }

    const Sequence& sequence_;
    const Intent& intent_;
    bool guessing_ = false;
    std::vector<Plan> out_;
};

class Mistakes {
public:
    Mistakes(const Sequence& sequence, const Plan& plan) : sequence_(sequence), plan_(plan), right_(correct_recipe(sequence, plan)) {}

    std::vector<Recipe> run() {
        packing();
        scale();
        swaps();
        // Zeros that were taken for a mask may be what dropout left.
        if (plan_.observed) dropouts();
        masks();
        softmaxes();
        if (!plan_.observed) dropouts();
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
        add(Bug::HeadsSplitWithoutTranspose).split = Packing::Reshape;
        add(Bug::HeadsJoinedWithoutTranspose).join = Packing::Reshape;
        add(Bug::Other, "The columns of the heads are interleaved in the split.").split = Packing::Interleave;
        add(Bug::Other, "The columns of the heads are interleaved in the join.").join = Packing::Interleave;
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

    void swaps() {
        if (sequence_.head_size == sequence_.value_size) {
            Recipe& all = add(Bug::KeysValuesSwapped);
            all.scores_use_values = all.context_uses_keys = true;
            add(Bug::KeysValuesSwapped, "The scores are products of q and v.").scores_use_values = true;
            add(Bug::KeysValuesSwapped, "The context is made of k.").context_uses_keys = true;
            add(Bug::KeysValuesSwapped, "k comes from v_proj and v from k_proj.").projections_swapped = true;
        }
    }

    void add_mask(Bug bug, Keep keep, const std::string& detail = "") {
        const auto shared = share(std::move(keep));
        if (*shared == *plan_.keep && sequence_.intent.bias.empty()) return;
        const bool nothing_left = std::find(shared->begin(), shared->end(), std::uint8_t{1}) == shared->end();
        if (nothing_left && !detail.empty()) return;
        for (const bool with_bias : {true, false}) {
            if (with_bias && sequence_.intent.bias.empty()) continue;
            Recipe& shown = add(bug, detail);
            shown.keep = shared;
            shown.with_bias = with_bias;
            Recipe& hidden = add(bug, detail);  // the masked scores are right, but what the softmax gets is not
            hidden.keep = shared;
            hidden.shown = plan_.keep;
            hidden.with_bias = with_bias;
            hidden.mask = MaskUse::Skipped;
        }
    }

    void masks() {
        const Keep& keep = *plan_.keep;
        const std::vector<std::uint8_t> used = keys_used(sequence_, keep);
        const Keep keys = keep_of_keys(sequence_, used);
        const bool padded = std::find(used.begin(), used.end(), 0) != used.end();
        add_mask(Bug::MaskMissing, full_keep(sequence_));
        if (padded) add_mask(Bug::MaskMissing, keys, "Only the padding is masked.");
        add_mask(Bug::InvertedMask, complement(keep));
        for (const std::int64_t offset : causal_offsets(sequence_)) {
            const Keep causal = causal_keep(sequence_, offset);
            if (!is_subset(keep, causal)) continue;
            if (padded && both(causal, keys) == keep) add_mask(Bug::MaskMissing, causal, "The padding is not masked.");
            const Keep before = causal_keep(sequence_, offset - 1), after = causal_keep(sequence_, offset + 1);
            // Keys that no query may attend to are padding, or lie beyond what a causal mask lets anyone see.
            for (const Keep& visible : {keys, full_keep(sequence_)}) {
                Keep leaking = both(complement(causal), both(after, visible));
                for (std::size_t i = 0; i < leaking.size(); ++i) leaking[i] |= keep[i];
                add_mask(Bug::CausalLeaksOne, std::move(leaking));
            }
            add_mask(Bug::CausalMasksSelf, both(keep, before));
        }
        if (padded && sequence_.queries == sequence_.keys) padding_on_queries(used);
        inverted_parts(keys, padded);
        for (const MaskUse use : {MaskUse::AfterSoftmax, MaskUse::AfterWeights, MaskUse::OfWeights}) {
            add(Bug::MaskAfterSoftmax).mask = use;
            if (use == MaskUse::OfWeights) continue;
            Recipe& shown = add(Bug::MaskAfterSoftmax);
            shown.mask = use;
            shown.shown = plan_.keep;
        }
    }

    /// One of two masks inverted, or the causal one up to the diagonal.
    void inverted_parts(const Keep& keys, bool padded) {
        for (const std::int64_t offset : causal_offsets(sequence_)) {
            const Keep causal = causal_keep(sequence_, offset);
            if (both(causal, keys) != *plan_.keep) continue;
            if (padded) {
                add_mask(Bug::InvertedMask, both(complement(causal), keys), "The causal part of it is.");
                add_mask(Bug::InvertedMask, both(causal, complement(keys)), "The padding part of it is.");
            }
            add_mask(Bug::InvertedMask, both(complement(causal_keep(sequence_, offset - 1)), keys),
                     "Every position attends to itself and to later ones.");
        }
    }

    void padding_on_queries(const std::vector<std::uint8_t>& used) {
        const Keep queries = keep_of_queries(sequence_, used), keys = keep_of_keys(sequence_, used), causal = causal_keep(sequence_, 0);
        const Keep& keep = *plan_.keep;
        if (both(causal, keys) == keep) add_mask(Bug::PaddingOnQueries, both(causal, queries));
        if (keys == keep) add_mask(Bug::PaddingOnQueries, queries);
        // Any other pattern without its padding: a band such as a sliding window goes on along its diagonals.
        add_mask(Bug::PaddingOnQueries, both(along_diagonals(sequence_, keep), queries));
        // Or padded columns look like the last one that is not padded.
        Keep widened = keep;
        for (std::size_t i = 1; i < widened.size(); ++i)
            if (const std::size_t s = i % used.size(); s > 0 && used[s] == 0) widened[i] = widened[i - 1];
        add_mask(Bug::PaddingOnQueries, both(widened, queries));
    }

    void softmaxes() {
        add(Bug::SoftmaxOverQueries).axis = SoftmaxAxis::Queries;
        if (sequence_.heads > 1) add(Bug::Other, "The softmax runs over the heads.").axis = SoftmaxAxis::Heads;
        add(Bug::Other, "Masked scores become 0 instead of minus infinity.").mask = MaskUse::AsZeros;
    }

    void dropouts() {
        add(Bug::DropoutLeftOn).dropout = DropoutUse::InWeights;
        add(Bug::DropoutLeftOn, "It hit weights that the file does not hold.").dropout = DropoutUse::InContext;
        if (sequence_.has(Part::Dropped))
            add(Bug::Other, "The context is that of the weights before dropout.").context_ignores_dropout = true;
    }

    /// The last resort: no mistake that has a name, but one factor for all scores.
    void custom_scale() {
        if (const std::optional<double> seen = observed_scale(sequence_)) {
            Recipe& custom =
                add(Bug::Other, fmt::format("The scores are multiplied by {0:.6g} throughout, which is neither {1:.6g} nor a known "
                                            "mistake. If it is meant, say so in the metadata: scale = {0:.6g}.",
                                            *seen, right_.scale));
            custom.scale = *seen;
            custom.scale_is_observed = true;
            custom.partial.push_back(*seen);
        }
    }

    const Sequence& sequence_;
    const Plan& plan_;
    const Recipe right_;
    std::vector<Recipe> out_;
};

}  // namespace

std::vector<Plan> plans_for(const Sequence& sequence) { return Plans(sequence).run(); }

double proper_scale(const Sequence& sequence) {
    if (sequence.scale) return *sequence.scale;
    if (sequence.head_size > 0) return 1 / std::sqrt(static_cast<double>(sequence.head_size));
    const auto usual = static_cast<double>(sequence.usual_head_size);
    if (const std::optional<double> factor = observed_scale(sequence)) {
        const double size = 1 / (*factor * *factor), whole = std::round(size);
        const bool mistaken = usual > 0 && (whole == 1 || whole == usual * usual ||
                                            std::find(sequence.widths.begin(), sequence.widths.end(), whole) != sequence.widths.end());
        // Where scores and scaled are the same a head would have one dimension; scores of unknown heads may be scaled already.
        const double least = sequence.has(Part::Scaled) ? 2 : 1;
        if (whole >= least && std::fabs(size - whole) <= 0.01 * whole && (whole == usual || !mistaken)) return 1 / std::sqrt(whole);
    }
    if (usual > 0) return 1 / std::sqrt(usual);
    return 1 / std::numbers::sqrt2;  // nothing tells, but a head of one dimension is the only one that needs no scaling
}

Recipe correct_recipe(const Sequence& sequence, const Plan& plan) {
    Recipe recipe;
    recipe.keep = plan.keep;
    recipe.meant = sequence.intent.given || plan.observed ? plan.keep : share(full_keep(sequence));
    recipe.scale = proper_scale(sequence);
    recipe.partial = {1, recipe.scale};
    return recipe;
}

std::vector<Recipe> mistaken_recipes(const Sequence& sequence, const Plan& plan) { return Mistakes(sequence, plan).run(); }

}  // namespace attn::doctor
