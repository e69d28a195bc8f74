#include "engine/doctor/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/doctor/dropout_evidence.hpp"
#include "engine/doctor/emptied.hpp"
#include "engine/doctor/rotation.hpp"
#include "engine/doctor/softcap.hpp"

namespace attn::doctor {
namespace {

using MaybeEstimate = std::shared_ptr<const Estimate>;

/// The first recorded stage that is taken as capped: the one that fits only if it is, or an earlier one that also fits without. A cap that
/// changes less than the rounding of a product does still shows in the next stage, which is computed from the recorded numbers.
enum class FirstCapped : std::uint8_t { AsFits, Scores, Scaled };

MaybeEstimate share(Estimate estimate) { return std::make_shared<const Estimate>(std::move(estimate)); }

class Evaluation {
public:
    Evaluation(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding, SharedProducts& shared,
               FirstCapped first_capped = FirstCapped::AsFits)
        : sequence_(sequence), recipe_(recipe), rounding_(rounding), shared_(shared), first_capped_(first_capped) {
        if (recipe.bias_factor == 0) return;
        bias_ = sequence.intent.bias;
        for (double& x : bias_) x *= recipe.bias_factor;
    }

    Outcome run(int needed) {
        for (int i = 0; i < kPartCount; ++i) {
            const Part part = static_cast<Part>(i);
            if (!sequence_.has(part)) continue;
            if (const MaybeEstimate expected = recomputed(part)) {
                outcome_.parts[static_cast<std::size_t>(i)] = compare(sequence_[part], *expected);
                if (part == Part::Weights) compare_sums(*expected, *outcome_.parts[static_cast<std::size_t>(i)]);
                if (i <= needed && !outcome_.parts[static_cast<std::size_t>(i)]->ok()) break;
            }
        }
        return outcome_;
    }

    MaybeEstimate last_before_mask() { return input(Part::Capped); }

private:
    /// Rounding that moves single weights far leaves row sums alone, because a softmax divides by the sum it computed.
    void compare_sums(const Estimate& expected, Comparison& out) const {
        if (recipe_.axis != SoftmaxAxis::Keys || recipe_.mask == MaskUse::AfterSoftmax || outcome_.dropout_rate > 0) return;
        const auto keys = static_cast<std::size_t>(sequence_.keys);
        for (std::size_t row = 0; row < expected.value.size() && out.ok(); row += keys) {
            double recorded = 0, meant = 0;
            bool known = true;
            for (std::size_t i = row; i < row + keys; ++i) {
                recorded += sequence_[Part::Weights][i];
                meant += expected.value[i];
                known = known && std::isfinite(expected.slack_at(i));
            }
            if (!known || std::isnan(recorded) || std::isnan(meant) || std::fabs(recorded - meant) <= sum_tolerance(sequence_)) continue;
            ++out.differing;
            out.first = static_cast<std::int64_t>(row);
            out.recorded = sequence_[Part::Weights][row];
            out.expected = expected.value[row];
        }
    }

    /// The input of a later stage: the recording, or else its recomputed value.
    MaybeEstimate input(Part part) {
        MaybeEstimate& known = inputs_[static_cast<std::size_t>(part)];
        if (known == nullptr) known = sequence_.has(part) ? recorded(part) : recomputed(part);
        return known;
    }
    const MaybeEstimate& recorded(Part part) {
        MaybeEstimate& known = shared_.recorded[static_cast<std::size_t>(part)];
        if (known == nullptr) known = share({sequence_[part], {}});
        return known;
    }

    /// Null if its inputs are not available.
    MaybeEstimate recomputed(Part part) {
        MaybeEstimate& known = recomputed_[static_cast<std::size_t>(part)];
        if (known == nullptr) known = compute(part);
        return known;
    }

    MaybeEstimate compute(Part part) {
        switch (part) {
        case Part::Q:
            return queries();
        case Part::K:
            return keys();
        case Part::V:
            return values();
        case Part::QRotated:
            return rotated(input(Part::Q), sequence_.queries, sequence_.head_size, rotation_after_q(), first_query());
        case Part::KRotated:
            return rotated(tiled(Part::K, Part::KRotated, recipe_.keys_tiled), sequence_.keys, sequence_.head_size, rotation_after_q(),
                           first_key());
        case Part::VRotated:
            return rotated(tiled(Part::V, Part::VRotated, recipe_.values_tiled), sequence_.keys, sequence_.value_size,
                           values_turn_at_projection() ? nullptr : values_rotation(), first_value());
        case Part::Scores:
            return scores();
        case Part::Scaled:
            return scaled_scores();
        case Part::Capped:
            return capped_scores();
        case Part::Masked:
            return masked_scores();
        case Part::Weights:
            return weights();
        case Part::Dropped:
            return dropped();
        case Part::Context:
            return context();
        case Part::Concat:
            return concat();
        default:
            return nullptr;
        }
    }

    MaybeEstimate queries() {
        return rotated(heads_of(recipe_.queries_from_keys ? Part::KProj : Part::QProj, sequence_.queries, sequence_.head_size, false),
                       sequence_.queries, sequence_.head_size, rotation_at_projection(), first_query());
    }
    MaybeEstimate keys() {
        const Part from = recipe_.projections_swapped ? Part::VProj : recipe_.queries_from_keys ? Part::QProj : Part::KProj;
        return rotated(heads_of(from, sequence_.keys, sequence_.head_size, recipe_.keys_tiled && !sharing_is_ahead(Part::K)),
                       sequence_.keys, sequence_.head_size, rotation_at_projection(), first_key());
    }
    MaybeEstimate values() {
        const Part from = recipe_.projections_swapped ? Part::KProj : Part::VProj;
        return rotated(heads_of(from, sequence_.keys, sequence_.value_size, recipe_.values_tiled && !sharing_is_ahead(Part::V)),
                       sequence_.keys, sequence_.value_size, values_turn_at_projection() ? values_rotation() : nullptr, first_value());
    }

    MaybeEstimate heads_of(Part projection, std::int64_t positions, std::int64_t size, bool tile) {
        if (!sequence_.has(projection) || size == 0) return nullptr;
        const std::int64_t stored = sequence_.heads_stored(projection);
        if (static_cast<std::int64_t>(sequence_[projection].size()) != stored * positions * size) return nullptr;
        Estimate heads = repeat_heads(unpack({sequence_[projection], {}}, recipe_.split, stored, positions, size), stored, sequence_.heads);
        return share(tile ? tile_heads(heads, stored, sequence_.heads) : std::move(heads));
    }

    /// Whether the part has fewer heads than the queries, so that a later stage repeats them.
    bool sharing_is_ahead(Part part) const { return sequence_.has(part) && sequence_.heads_stored(part) < sequence_.heads; }

    /// The part as a later stage reads it, tiled there if the program tiles shared heads. `to` null: as the scores or the context read it.
    MaybeEstimate tiled(Part from, std::optional<Part> to, bool tile) {
        MaybeEstimate rows = input(from);
        if (rows == nullptr || !tile || !sharing_is_ahead(from) || (to && !sequence_.has(*to)) || (to && sharing_is_ahead(*to)))
            return rows;
        return share(tile_heads(*rows, sequence_.heads_stored(from), sequence_.heads));
    }
    /// Keys or values as the scores or the context read them.
    MaybeEstimate handed_out(Part plain, Part rotated, bool tile) {
        MaybeEstimate rows = input(rotated);
        const Part last = sequence_.has(rotated) ? rotated : plain;
        if (rows == nullptr || !tile || !sharing_is_ahead(last)) return rows;
        return share(tile_heads(*rows, sequence_.heads_stored(last), sequence_.heads));
    }

    const Rotation* rotation_at_projection() const {
        return sequence_.rotation && sequence_.rotation->at_projection ? &*sequence_.rotation : nullptr;
    }
    const Rotation* rotation_after_q() const {
        return sequence_.rotation && !sequence_.rotation->at_projection ? &*sequence_.rotation : nullptr;
    }
    const Rotation* values_rotation() const { return recipe_.values_rotated ? &*recipe_.values_rotated : nullptr; }
    /// A program that rotates v does so where it rotates q and k; true if v is recorded both before and after that.
    bool values_turn_at_projection() const {
        return sequence_.has(Part::VProj) && sequence_.has(Part::V) && !sequence_.has(Part::VRotated) &&
               (recipe_.values_rotated ? recipe_.values_rotated->at_projection : false);
    }
    std::int64_t first_key() const { return sequence_.rotation ? sequence_.rotation->first_key : 0; }
    std::int64_t first_value() const { return recipe_.values_rotated ? recipe_.values_rotated->first_key : 0; }
    std::int64_t first_query() const {
        return recipe_.positions_as_seen ? sequence_.rotation->first_query : first_key() + sequence_.first_query();
    }

    MaybeEstimate rotated(const MaybeEstimate& rows, std::int64_t positions, std::int64_t size, const Rotation* rotation,
                          std::int64_t first) const {
        if (rows == nullptr || rotation == nullptr) return rows;
        return share(rotate(*rows, positions, size, *rotation, first, rounding_));
    }

    MaybeEstimate scores() {
        std::shared_ptr<const Estimate>& product =
            shared_.scores[{recipe_.split, recipe_.projections_swapped, recipe_.scores_use_values, recipe_.queries_keys_swapped,
                            recipe_.queries_from_keys, recipe_.keys_tiled, recipe_.positions_as_seen}];
        if (product == nullptr) {
            MaybeEstimate q = input(Part::QRotated);
            MaybeEstimate k = recipe_.scores_use_values ? input(Part::V) : handed_out(Part::K, Part::KRotated, recipe_.keys_tiled);
            if (q == nullptr || k == nullptr) return nullptr;
            if (recipe_.queries_keys_swapped) std::swap(q, k);
            product = share(products(*q, *k, sequence_.heads, sequence_.queries, sequence_.keys, sequence_.head_size, rounding_));
        }
        partial_ = 1;
        if (!sequence_.has(Part::Scores)) return product;
        // The recorded scores may already include part of the scaling: many programs scale q, or call the scaled scores "scores".
        MaybeEstimate best = product;
        double least = compare(sequence_[Part::Scores], *best).max_excess;
        for (const double factor : recipe_.partial) {
            if (factor == 1 || least <= 1) continue;
            const MaybeEstimate other = share(doctor::scaled(*product, factor, rounding_));
            const double excess = compare(sequence_[Part::Scores], *other).max_excess;
            if (excess > 1) continue;
            best = other;
            least = excess;
            partial_ = factor;
            outcome_.scores_scaled = true;
        }
        const bool may_be_capped = recipe_.cap > 0 && (least > 1 || first_capped_ == FirstCapped::Scores);
        return may_be_capped ? capped_product(*product, least, best) : best;
    }

    /// The recorded scores may even be capped. `best` and its distance `least` without that.
    MaybeEstimate capped_product(const Estimate& product, double least, const MaybeEstimate& best) {
        if (recipe_.cap_use == CapUse::AfterMask) return best;
        const bool scale_first = recipe_.cap_use == CapUse::AfterScale;
        MaybeEstimate capped = share(cap(scale_first ? doctor::scaled(product, recipe_.scale, rounding_) : product));
        if (!fits_better(compare(sequence_[Part::Scores], *capped).max_excess, least)) return best;
        scores_capped_ = true;
        partial_ = scale_first ? recipe_.scale : 1;
        return capped;
    }

    /// Whether the capped numbers are taken instead of those that are not. If both fit, that was asked for.
    static bool fits_better(double capped, double uncapped) { return uncapped <= 1 ? capped <= 1 : capped < uncapped; }

    Estimate cap(const Estimate& from) const { return softcapped(from, recipe_.cap, rounding_); }

    MaybeEstimate scaled_scores() {
        const MaybeEstimate from = input(Part::Scores);
        if (from == nullptr) return nullptr;
        if (sequence_.has(Part::Scores)) recomputed(Part::Scores);  // determines how much of the scaling they include
        const bool cap_first = recipe_.cap > 0 && recipe_.cap_use == CapUse::BeforeScale && !scores_capped_;
        MaybeEstimate scaled = cap_first ? share(doctor::scaled(cap(*from), recipe_.scale / partial_, rounding_)) : scaled_by_scale(from);
        scaled_capped_ = scores_capped_;
        if (!caps_after_scaling() || scores_capped_ || !sequence_.has(Part::Scaled)) return scaled;
        // So may the recorded scaled scores.
        const double excess = compare(sequence_[Part::Scaled], *scaled).max_excess;
        if (excess <= 1 && first_capped_ != FirstCapped::Scaled) return scaled;
        MaybeEstimate capped = share(cap(*scaled));
        scaled_capped_ = fits_better(compare(sequence_[Part::Scaled], *capped).max_excess, excess);
        return scaled_capped_ ? capped : scaled;
    }
    MaybeEstimate scaled_by_scale(const MaybeEstimate& from) {
        const double factor = recipe_.scale / partial_;
        SharedProducts::Scaled& last = shared_.scaled;
        if (last.from != from || last.factor != factor) last = {from, share(doctor::scaled(*from, factor, rounding_)), factor};
        return last.result;
    }
    bool caps_after_scaling() const { return recipe_.cap > 0 && recipe_.cap_use == CapUse::AfterScale; }

    MaybeEstimate capped_scores() {
        MaybeEstimate from = input(Part::Scaled);
        if (from == nullptr) return from;
        // Both may be recorded with less precision than they were computed with.
        if (!caps_after_scaling()) return sequence_.has(Part::Capped) ? share(doctor::scaled(*from, 1, rounding_)) : from;
        // Determines whether the scaled scores are capped.
        if (sequence_.has(Part::Scaled) && recomputed(Part::Scaled) == nullptr) scaled_capped_ = scaled_are_capped(sequence_, recipe_.cap);
        return scaled_capped_ ? from : share(cap(*from));
    }

    /// Masked scores of a program that caps them afterwards; they may be recorded before or after that.
    MaybeEstimate late_capped(const MaybeEstimate& masked) {
        if (recipe_.cap == 0 || recipe_.cap_use != CapUse::AfterMask) return masked;
        masked_capped_ = true;
        MaybeEstimate capped = share(cap(*masked));
        if (!sequence_.has(Part::Masked)) return capped;
        masked_capped_ = compare(sequence_[Part::Masked], *capped).max_excess < compare(sequence_[Part::Masked], *masked).max_excess;
        return masked_capped_ ? capped : masked;
    }

    const std::vector<double>& bias() const { return bias_; }

    Estimate with_mask(const Estimate& from, const Keep& keep, const std::vector<double>& biases) const {
        return masked(from, keep, biases, sequence_.intent.bias_error, rounding_);
    }

    /// If masked scores cannot be recomputed, they still show which cells the mask allowed.
    MaybeEstimate mask_pattern() {
        const Intent& intent = sequence_.intent;
        if (!sequence_.has(Part::Masked) || (!intent.given && intent.causal != true)) return nullptr;
        if (recipe_.mask == MaskUse::OfWeights) return masked_weights();
        if (recipe_.mask == MaskUse::AsZeros) return nullptr;
        if (recipe_.mask == MaskUse::WrongSign) return share(lift({sequence_[Part::Masked], {}}));
        const Keep* keep = recipe_.mask == MaskUse::BeforeSoftmax ? recipe_.keep.get() : recipe_.shown.get();
        Estimate out{sequence_[Part::Masked], {}};
        const bool late = recipe_.cap > 0 && recipe_.cap_use == CapUse::AfterMask;
        masked_capped_ = late && shows_unmasked_scores();
        const double hidden = masked_capped_ ? -recipe_.cap : -std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < out.value.size(); ++i) {
            const bool let_through = keep == nullptr || (*keep)[i] != 0;
            if (!let_through) out.value[i] = hidden;
            else if (out.value[i] <= kForbidding) out.value[i] = std::numeric_limits<double>::quiet_NaN();
        }
        return share(std::move(out));
    }

    MaybeEstimate masked_scores() {
        MaybeEstimate from = input(Part::Capped);
        if (from == nullptr) return mask_pattern();
        if (recipe_.mask == MaskUse::AsZeros) {
            Estimate out = *from;
            for (std::size_t i = 0; i < out.value.size(); ++i)
                if ((*recipe_.keep)[i] == 0) out.value[i] = 0;
            return share(std::move(out));
        }
        if (recipe_.mask == MaskUse::WrongSign) return share(lift(plus_bias(*from)));
        if (recipe_.mask == MaskUse::BeforeSoftmax) return late_capped(share(with_untold_bias(with_mask(*from, *recipe_.keep, bias()))));
        if (recipe_.mask == MaskUse::OfWeights) return masked_weights();
        if (recipe_.shown != nullptr) return share(with_mask(*from, *recipe_.shown, sequence_.intent.bias));
        return from;
    }

    Estimate plus_bias(const Estimate& from) const { return with_mask(from, Keep(from.value.size(), 1), bias()); }

    /// Adds a large positive number to the scores of forbidden cells.
    Estimate lift(Estimate out) const {
        for (std::size_t i = 0; i < out.value.size(); ++i)
            if ((*recipe_.shown)[i] == 0) out.value[i] = std::numeric_limits<double>::infinity();
            else if (out.value[i] >= -kForbidding) out.value[i] = std::numeric_limits<double>::quiet_NaN();
        return out;
    }

    /// The logits after that: if a row has lifted cells, only those matter.
    MaybeEstimate lifted_logits() {
        MaybeEstimate from = input(Part::Capped);
        if (recipe_.lifted == Lifted::AsRecorded || from == nullptr) return input(Part::Masked);
        Estimate out = with_mask(*from, *recipe_.keep, bias());
        // Adding 1e9 to a double loses digits below 1e-7; adding 1e5 to a 32-bit number those below 0.01.
        const double lost = rounding_.unit < 0x1p-24 ? 4e9 * 0x1p-53 : 0.02;
        for (std::size_t i = 0; i < out.value.size(); ++i) {
            if ((*recipe_.shown)[i] != 0) continue;
            if (recipe_.lifted == Lifted::EqualShares) out.value[i] = out.slack[i] = 0;
            else out.slack[i] += lost;
        }
        return share(std::move(out));
    }

    /// Rows with a lifted cell become infinity minus infinity.
    void lose_lifted_rows(Estimate& out) const {
        const double left = recipe_.lifted == Lifted::Nan ? std::numeric_limits<double>::quiet_NaN() : 0;
        const auto keys = static_cast<std::ptrdiff_t>(sequence_.keys);
        for (std::ptrdiff_t row = 0; row < std::ssize(out.value); row += keys) {
            const auto meant = recipe_.shown->begin() + row;
            if (std::find(meant, meant + keys, std::uint8_t{0}) == meant + keys) continue;
            std::fill_n(out.value.begin() + row, keys, left);
            std::fill_n(out.slack.begin() + row, keys, 0.0);
        }
    }

    /// A mistake may allow cells that the file's additive mask forbids and for which it therefore has no bias. The bias that the program
    /// added there is taken from the recording: its masked scores, or its weights relative to others in the row.
    Estimate with_untold_bias(Estimate out) const {
        const Intent& intent = sequence_.intent;
        if (bias().empty() || !intent.given) return out;
        const std::vector<double>&masked = sequence_[Part::Masked], &weights = sequence_[Part::Weights];
        const auto untold = [&](std::size_t i) { return intent.keep[i] == 0 && (*recipe_.keep)[i] != 0; };
        const auto keys = static_cast<std::size_t>(sequence_.keys);
        for (std::size_t row = 0; row < out.value.size(); row += keys) {
            std::optional<std::size_t> told;
            for (std::size_t i = row; i < row + keys && !weights.empty(); ++i)
                if (!untold(i) && (*recipe_.keep)[i] != 0 && weights[i] > 0 && (!told || weights[i] > weights[*told])) told = i;
            for (std::size_t i = row; i < row + keys; ++i) {
                if (!untold(i)) continue;
                if (!masked.empty()) {
                    if (std::fabs(masked[i]) < -kForbidding) out.value[i] = masked[i];
                } else if (!weights.empty() && weights[i] > 0) {
                    out.value[i] = std::log(weights[i]) + (told ? out.value[*told] - std::log(weights[*told]) : 0);
                    out.slack[i] = (told ? out.slack[*told] : 0) + 8 * rounding_.unit;
                }
            }
        }
        return out;
    }

    /// For a program that masks its weights and calls the result masked.
    MaybeEstimate masked_weights() const {
        if (!sequence_.has(Part::Weights)) return nullptr;
        Estimate out{sequence_[Part::Weights], {}};
        for (std::size_t i = 0; i < out.value.size(); ++i)
            if ((*recipe_.keep)[i] == 0) out.value[i] = 0;
        return share(std::move(out));
    }

    /// The input of the softmax.
    MaybeEstimate logits() {
        if (recipe_.mask == MaskUse::WrongSign) return lifted_logits();
        if (recipe_.mask == MaskUse::BeforeSoftmax || recipe_.mask == MaskUse::AsZeros) {
            MaybeEstimate from = input(Part::Masked);
            if (from == nullptr || recipe_.cap == 0 || recipe_.cap_use != CapUse::AfterMask) return from;
            if (sequence_.has(Part::Masked)) recomputed(Part::Masked);  // determines whether they are capped
            return masked_capped_ ? from : share(cap(*from));
        }
        MaybeEstimate from = input(Part::Capped);
        // If the softmax does not use the masked scores it uses the scaled ones; if those are not recorded, masked may show them.
        if (from == nullptr && shows_unmasked_scores()) from = input(Part::Masked);
        if (from == nullptr || recipe_.mask != MaskUse::Skipped) return from;
        return share(with_mask(*from, *recipe_.keep, bias()));
    }
    bool shows_unmasked_scores() const {
        const std::vector<double>& masked = sequence_[Part::Masked];
        return !masked.empty() && std::all_of(masked.begin(), masked.end(), [](double x) { return x > kForbidding; });
    }

    MaybeEstimate weights() {
        const MaybeEstimate from = logits();
        if (from == nullptr) return nullptr;
        Estimate out = softmax(*from, recipe_.axis, sequence_.temperature, sequence_, rounding_);
        if (recipe_.softmax_twice) {
            if (recipe_.masked_twice) out = with_mask(out, *recipe_.keep, {});
            out = softmax(out, recipe_.axis, 1, sequence_, rounding_);
        }
        if (sequence_.has(Part::Weights)) {
            if (recipe_.axis != SoftmaxAxis::Keys) fill_lines(out);
            else fill_rows(out, sequence_[Part::Weights], sequence_.keys, [](const Estimate& map) { return map; });
        }
        if (recipe_.mask == MaskUse::AfterSoftmax) mask_weights(out);
        if (recipe_.mask == MaskUse::WrongSign && recipe_.lifted >= Lifted::Nan) lose_lifted_rows(out);
        if (recipe_.dropout == DropoutUse::InWeights && sequence_.has(Part::Weights)) {
            if (recipe_.dropout_unscaled) {
                keep_zeros(out, sequence_[Part::Weights], sequence_);
                return share(std::move(out));
            }
            DropoutEvidence evidence = find_dropout(sequence_[Part::Weights], out, rounding_);
            outcome_.dropout_rate = evidence.present() ? evidence.rate() : 0;
            if (evidence.present()) out = std::move(evidence.expected);
        }
        return share(std::move(out));
    }

    bool is_emptied(std::size_t row) const {
        const auto keys = static_cast<std::ptrdiff_t>(sequence_.keys), first = static_cast<std::ptrdiff_t>(row) * keys;
        const auto none = [&](const Keep& keep) {
            return std::none_of(keep.begin() + first, keep.begin() + first + keys, [](std::uint8_t k) { return k != 0; });
        };
        return none(*recipe_.keep) && !none(*recipe_.meant);
    }

    std::vector<std::size_t> open_cells(const Estimate& map) const {
        std::vector<std::size_t> cells;
        for (std::size_t i = 0; i < map.value.size(); ++i)
            if (std::isinf(map.slack_at(i))) cells.push_back(i);
        return cells;
    }

    /// Fills the lines that a softmax along another axis leaves open, according to the recorded weights.
    void fill_lines(Estimate& out) {
        const MaybeEstimate scores = input(Part::Capped);
        fill(out, best_filling(fillings(sequence_, recipe_.axis, scores.get(), rounding_), sequence_[Part::Weights], open_cells(out)),
             open_cells(out));
    }

    /// Fills rows that the recipe's mask empties. `recorded` has rows of `width` numbers; `make` computes such rows from weights.
    template <class Make>
    void fill_rows(Estimate& out, const std::vector<double>& recorded, std::int64_t width, const Make& make) {
        if (recipe_.mask != MaskUse::BeforeSoftmax && recipe_.mask != MaskUse::Skipped) return;
        std::vector<std::size_t> cells;
        for (std::size_t row = 0; row < static_cast<std::size_t>(sequence_.heads * sequence_.queries); ++row)
            for (std::size_t i = 0; i < static_cast<std::size_t>(width) && is_emptied(row); ++i)
                cells.push_back(row * static_cast<std::size_t>(width) + i);
        if (cells.empty()) return;
        // With a mask that forbids everything, the unmasked weights would be the same as without a mask.
        const bool some_kept = std::find(recipe_.keep->begin(), recipe_.keep->end(), std::uint8_t{1}) != recipe_.keep->end();
        const MaybeEstimate scores = some_kept ? input(Part::Capped) : nullptr;
        std::vector<Estimate> candidates;
        for (const Estimate& map : fillings(sequence_, SoftmaxAxis::Keys, scores.get(), rounding_)) candidates.push_back(make(map));
        fill(out, best_filling(candidates, recorded, cells), cells);
    }

    /// Masked weights become 0, or -inf if a program adds its mask to them, which no other mistake does.
    void mask_weights(Estimate& out) const {
        for (std::size_t i = 0; i < out.value.size(); ++i) {
            if ((*recipe_.keep)[i] != 0) continue;
            out.value[i] = 0;
            out.slack[i] =
                sequence_.has(Part::Weights) && sequence_[Part::Weights][i] <= kForbidding ? std::numeric_limits<double>::infinity() : 0;
        }
    }

    MaybeEstimate dropped() {
        MaybeEstimate from = input(Part::Weights);
        if (from == nullptr || !sequence_.has(Part::Dropped)) return from;
        if (recipe_.dropout_unscaled) {
            Estimate out = *from;
            keep_zeros(out, sequence_[Part::Dropped], sequence_);
            return share(std::move(out));
        }
        DropoutEvidence evidence = find_dropout(sequence_[Part::Dropped], *from, rounding_);
        if (evidence.present()) outcome_.dropout_rate = evidence.rate();
        return share(std::move(evidence.expected));
    }

    /// The recorded context, or what the recorded concat shows of it.
    std::vector<double> recorded_context() const {
        if (sequence_.has(Part::Context) || !sequence_.has(Part::Concat)) return sequence_[Part::Context];
        return unpack({sequence_[Part::Concat], {}}, recipe_.join, sequence_.heads, sequence_.queries, sequence_.value_size).value;
    }

    /// The same if only the context shows how a softmax along another axis filled its lines.
    template <class Make>
    void fill_unseen_lines(Estimate& out, const Estimate& map, const std::vector<double>& recorded, const Make& make) {
        const std::vector<std::size_t> open = open_cells(map);
        if (open.empty()) return;
        const MaybeEstimate scores = input(Part::Capped);
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (const Estimate& filling : fillings(sequence_, recipe_.axis, scores.get(), rounding_)) {
            Estimate filled = map;
            fill(filled, filling, open);
            Estimate made = make(filled);
            for (std::size_t i = 0; i < made.value.size(); ++i)
                if (std::isnan(made.value[i])) made.slack[i] = 0;  // NaN is expected, rather than anything allowed
            const std::int64_t differing = compare(recorded, made).differing;
            if (differing >= least) continue;
            least = differing;
            out = std::move(made);
        }
    }

    MaybeEstimate context() {
        MaybeEstimate map = input(recipe_.context_ignores_dropout ? Part::Weights : Part::Dropped);
        const MaybeEstimate rows = recipe_.context_uses_keys ? input(Part::K) : handed_out(Part::V, Part::VRotated, recipe_.values_tiled);
        if (map == nullptr || rows == nullptr || sequence_.value_size == 0) return nullptr;
        if (recipe_.mask == MaskUse::AfterWeights || recipe_.mask == MaskUse::OfWeights) {
            Estimate late = *map;
            for (std::size_t i = 0; i < late.value.size(); ++i)
                if ((*recipe_.keep)[i] == 0) late.value[i] = 0;
            map = share(std::move(late));
        }
        if (recipe_.context_transposed) map = share(transposed(*map));
        const bool plain = context_is_plain();
        if (plain && shared_.context != nullptr) return shared_.context;
        const auto context_of = [&](const Estimate& weights) {
            return weighted_rows(weights, *rows, sequence_.heads, sequence_.queries, sequence_.keys, sequence_.value_size, rounding_);
        };
        Estimate out = context_of(*map);
        for (std::size_t i = 0; i < out.value.size() && recipe_.mask == MaskUse::WrongSign; ++i)
            if (std::isnan(out.value[i])) out.slack[i] = 0;  // NaN is expected, rather than anything allowed
        if (!sequence_.has(Part::Weights) && !sequence_.has(Part::Dropped)) {
            const std::vector<double> recorded = recorded_context();
            if (recorded.empty()) return share(std::move(out));
            if (recipe_.axis != SoftmaxAxis::Keys) fill_unseen_lines(out, *map, recorded, context_of);
            else fill_rows(out, recorded, sequence_.value_size, context_of);
        }
        if (recipe_.dropout == DropoutUse::InContext && !recorded_context().empty()) {
            std::vector<double> recorded = recorded_context();
            if (const std::optional<double> rate =
                    find_hidden_dropout(recorded, *map, *rows, sequence_, rounding_, recipe_.dropout_unscaled)) {
                outcome_.dropout_rate = *rate;
                out.value = std::move(recorded);
            }
        }
        MaybeEstimate made = share(std::move(out));
        if (plain) shared_.context = made;
        return made;
    }
    Estimate transposed(const Estimate& map) const {
        Estimate out = map;
        for (std::size_t i = 0; i < map.value.size(); ++i) {
            const std::size_t to = sequence_.transposed(i);
            out.value[to] = map.value[i];
            if (!map.slack.empty()) out.slack[to] = map.slack[i];
        }
        return out;
    }
    /// Whether the context depends only on recorded tensors, whatever mistake was made before them.
    bool context_is_plain() const {
        return (sequence_.has(Part::Dropped) || sequence_.has(Part::Weights)) &&
               (sequence_.has(Part::V) || sequence_.has(Part::VRotated)) && !recipe_.context_ignores_dropout &&
               !recipe_.context_transposed && !recipe_.context_uses_keys && !recipe_.values_tiled && !recipe_.values_rotated &&
               recipe_.mask != MaskUse::AfterWeights && recipe_.mask != MaskUse::OfWeights && recipe_.dropout != DropoutUse::InContext;
    }

    MaybeEstimate concat() {
        const MaybeEstimate from = input(Part::Context);
        if (from == nullptr || sequence_.value_size == 0) return nullptr;
        return share(pack(*from, recipe_.join, sequence_.heads, sequence_.queries, sequence_.value_size));
    }

    const Sequence& sequence_;
    const Recipe& recipe_;
    const Rounding& rounding_;
    SharedProducts& shared_;
    const FirstCapped first_capped_;
    Outcome outcome_;
    double partial_ = 1;
    bool scores_capped_ = false, scaled_capped_ = false, masked_capped_ = false;  ///< the recorded ones, as far as they are recorded
    std::vector<double> bias_;
    std::array<MaybeEstimate, kPartCount> inputs_, recomputed_;
};

}  // namespace

int Outcome::first_failure() const {
    for (int i = 0; i < kPartCount; ++i)
        if (const auto& part = parts[static_cast<std::size_t>(i)]; part && !part->ok()) return i;
    return kPartCount;
}

int Outcome::failures() const {
    return static_cast<int>(std::count_if(parts.begin(), parts.end(), [](const auto& part) { return part && !part->ok(); }));
}

double Outcome::max_error() const {
    double largest = 0;
    for (const auto& part : parts)
        if (part) largest = std::max(largest, part->max_error);
    return largest;
}

std::shared_ptr<const Estimate> scaled_scores(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding,
                                              SharedProducts& shared) {
    return Evaluation(sequence, recipe, rounding, shared).last_before_mask();
}

Outcome evaluate(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding, SharedProducts& shared, int needed) {
    Outcome best = Evaluation(sequence, recipe, rounding, shared).run(needed);
    if (recipe.cap == 0 || recipe.cap_use != CapUse::AfterScale) return best;
    for (const auto& [part, reading] : {std::pair{Part::Scores, FirstCapped::Scores}, std::pair{Part::Scaled, FirstCapped::Scaled}}) {
        if (best.first_failure() == kPartCount || !sequence.has(part)) continue;
        const Outcome other = Evaluation(sequence, recipe, rounding, shared, reading).run(needed);
        if (other.first_failure() > best.first_failure()) best = other;
    }
    return best;
}

}  // namespace attn::doctor
