#include "engine/doctor/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/doctor/alibi.hpp"
#include "engine/doctor/keep_patterns.hpp"
#include "engine/doctor/one_head.hpp"
#include "engine/doctor/position_bias.hpp"
#include "engine/doctor/rotary_pairs.hpp"
#include "engine/doctor/rotation.hpp"
#include "engine/doctor/softcap.hpp"
#include "engine/doctor/weights_alone.hpp"
#include "engine/tensor/error.hpp"

namespace attn::doctor {
namespace {

/// Mistakes are tried under at most this many plausible masks.
constexpr int kMostIntended = 4;

/// Number of cells from which mistakes are first tried on a single head.
constexpr std::int64_t kLongMaps = 1 << 18;

bool better(const Outcome& a, const Outcome& b) {
    if (a.first_failure() != b.first_failure()) return a.first_failure() > b.first_failure();
    return a.failures() < b.failures();
}
bool better(const Suspect& a, const Suspect& b) {
    if (a.first_failure != b.first_failure) return a.first_failure > b.first_failure;
    return a.failures < b.failures;
}

std::optional<Comparison>& part_of(Outcome& outcome, Part part) { return outcome.parts[static_cast<std::size_t>(part)]; }

/// Rounding unit of 32-bit numbers.
constexpr double kFloat = 0x1p-24;

/// The first differing stage; null if none differs.
const Comparison* first_difference(const Outcome& outcome) {
    const int first = outcome.first_failure();
    return first == kPartCount ? nullptr : &*outcome.parts[static_cast<std::size_t>(first)];
}

bool explained(const Judgement& judgement) {
    return judgement.right || (!judgement.suspects.empty() && judgement.suspects.front().first_failure == kPartCount);
}

class Judge {
public:
    Judge(const Sequence& sequence, const Known& known) : sequence_(sequence), known_(known), rounding_(rounding_of(sequence)) {
        rounding_.product = std::max(rounding_.product, known.short_products);
    }

    Judgement run() {
        const std::vector<IntendedMask> intended = intended_masks(sequence_);
        find_mask(intended);
        if (!out_.right && find_stated_rotation()) return std::move(out_);
        if (!out_.right) find_suspects(intended);
        const bool unexplained = !out_.right && (no_suspect_reproduces_all() || out_.suspects.front().scale_is_observed);
        // What the file says goes before dropout that is only fitted.
        const bool unsure = unexplained || (!out_.right && out_.suspects.front().dropout_is_fitted);
        if (unsure && !known_.assumed && find_hidden_rotation()) return std::move(out_);
        if (unexplained && (find_other_rotation() || find_backward_rotation())) return std::move(out_);
        if (unexplained && find_softcap()) return std::move(out_);
        if (!out_.right && (no_suspect_reproduces_all() || out_.suspects.front().scale_is_observed)) excuse();
        if (!out_.right && no_suspect_reproduces_all() && find_transposed_weights()) return std::move(out_);
        const bool doubtful = !out_.right && (no_suspect_reproduces_all() || out_.suspects.front().scale_is_observed);
        if (doubtful && !known_.assumed && (find_position_bias() || allow_short_products() || find_swap())) return std::move(out_);
        if (!out_.right && cap_is_undecided_) {
            out_.suspects.clear();
            out_.undecided = Undecided::Softcap;
            return std::move(out_);
        }
        if (!out_.right && no_suspect_reproduces_all() && out_.outcome.first_failure() == static_cast<int>(Part::Weights))
            suspect_sums_of_weights(sequence_, intended, out_);
        if (out_.right && !out_.intended.warning.empty()) out_.warnings.push_back(out_.intended.warning);
        if (out_.right) warn_of_declarations();
        if (out_.right) suspect_pattern();
        if (out_.right && !sequence_.intent.bias.empty()) suspect_bias();
        if (out_.right) suspect_tiled_heads();
        if (out_.right) suspect_missing_rotation();
        judge_weights_alone(sequence_, intended, out_);
        find_whether_telling();
        if (!out_.right && out_.suspects.empty() && scale_is_unknown()) out_.undecided = Undecided::Scale;
        if (!out_.right && mask_is_unknown() && no_suspect_reproduces_all() &&
            out_.outcome.first_failure() >= static_cast<int>(Part::Context) && !sequence_.has(Part::Weights) &&
            !sequence_.has(Part::Masked) && !sequence_.has(Part::Dropped))
            out_.undecided = Undecided::Mask;
        return std::move(out_);
    }

private:
    bool has_nan(Part part) const {
        return std::any_of(sequence_[part].begin(), sequence_[part].end(), [](double x) { return std::isnan(x); });
    }
    /// Whether nothing reveals the intended scale; then most weights differ.
    bool scale_is_unknown() const {
        const auto& weights = out_.outcome.parts[static_cast<std::size_t>(Part::Weights)];
        return out_.outcome.first_failure() == static_cast<int>(Part::Weights) && sequence_.has(Part::Scores) &&
               !sequence_.has(Part::Scaled) && !sequence_.has(Part::Masked) && !sequence_.scale && sequence_.head_size == 0 &&
               sequence_.usual_head_size == 0 && weights->differing * 2 > weights->judged;
    }
    bool mask_is_unknown() const { return !sequence_.intent.given; }
    bool no_suspect_reproduces_all() const { return out_.suspects.empty() || out_.suspects.front().first_failure < kPartCount; }

    void find_mask(const std::vector<IntendedMask>& intended) {
        bool any = false;
        for (const IntendedMask& candidate : intended) {
            expect_to_go_on();
            Outcome outcome = evaluate(sequence_, correct_recipe(sequence_, candidate), rounding_, shared_);
            if (any && !better(outcome, out_.outcome)) continue;
            any = true;
            out_.intended = candidate;
            out_.outcome = outcome;
            if (out_.outcome.first_failure() == kPartCount) {
                out_.right = true;
                return;
            }
        }
    }

    void find_suspects(const std::vector<IntendedMask>& intended) {
        int tried = 0;
        for (const IntendedMask& candidate : intended) {
            if (candidate.guessed || tried++ == kMostIntended) break;
            for (const Recipe& recipe : mistaken_recipes(sequence_, candidate)) {
                expect_to_go_on();
                if (fails_in_one_head(recipe)) continue;
                const Outcome outcome = evaluate(sequence_, recipe, rounding_, shared_, out_.outcome.first_failure());
                if (recipe.scale_is_observed && outcome.first_failure() == kPartCount && !custom_scale_)
                    custom_scale_.emplace(candidate, outcome);
                if (outcome.first_failure() > out_.outcome.first_failure() && covers(outcome))
                    add({*recipe.bug, recipe.detail, outcome.first_failure(), outcome.failures(), outcome.dropout_rate,
                         recipe.scale_is_observed, deviation(recipe, outcome), recipe.dropout == DropoutUse::InContext});
            }
        }
        std::stable_sort(out_.suspects.begin(), out_.suspects.end(), [](const Suspect& a, const Suspect& b) { return better(a, b); });
        const auto worse = std::find_if(out_.suspects.begin(), out_.suspects.end(),
                                        [&](const Suspect& suspect) { return better(out_.suspects.front(), suspect); });
        farther_last(out_.suspects.begin(), worse, [](const Suspect& suspect) { return suspect.deviation; });
    }

    void expect_to_go_on() const {
        if (known_.stop.stop_requested()) throw Cancelled();
    }

    bool is_long() const { return sequence_.map_size() >= kLongMaps && is_separable(sequence_); }

    /// In a long text, what does not even explain the head with the first difference is refuted much faster there than in all heads.
    std::int64_t telling_head() const {
        const auto cells = static_cast<std::int64_t>(sequence_[static_cast<Part>(out_.outcome.first_failure())].size()) / sequence_.heads;
        return first_difference(out_.outcome)->first / cells;
    }
    /// That head of a long text, or else all heads.
    Sequence telling_part(const Sequence& assumed) const { return is_long() ? head_of(assumed, telling_head()) : assumed; }

    /// Whether a mistake does not even explain the first difference in that head.
    bool fails_in_one_head(const Recipe& recipe) {
        if (!is_long()) return false;
        if (recipe.axis == SoftmaxAxis::Heads) return !heads_may_sum_to_one();
        if (recipe.mixes_heads()) return false;
        if (!one_head_) one_head_ = head_of(sequence_, telling_head());
        const int first = out_.outcome.first_failure();
        const Recipe of_head = head_of(recipe, sequence_, telling_head());
        return evaluate(*one_head_, of_head, rounding_, shared_of_head_, first).first_failure() <= first;
    }

    /// Whether the weights of a softmax over the heads may be recorded, judged by the cell that differs first.
    bool heads_may_sum_to_one() const {
        if (!sequence_.has(Part::Weights) || out_.outcome.first_failure() != static_cast<int>(Part::Weights)) return true;
        const auto map = static_cast<std::size_t>(sequence_.queries * sequence_.keys);
        const auto cell = static_cast<std::size_t>(first_difference(out_.outcome)->first) % map;
        double sum = 0;
        for (std::size_t i = cell; i < sequence_[Part::Weights].size(); i += map) sum += sequence_[Part::Weights][i];
        return !(std::fabs(sum - 1) > 0.1);
    }

    /// Whether all of an assumed sequence may be right.
    bool may_be_right(const Sequence& assumed, const Known& known) const {
        return !is_long() || Judge(telling_part(assumed), without_bias(known)).run().right;
    }

    /// Whether a judgement of an assumed sequence may explain everything, even if only by a mistake.
    bool may_explain(const Sequence& assumed, const Known& known) const {
        if (!is_long() || shares_heads() || explained(Judge(telling_part(assumed), without_bias(known)).run())) return true;
        if (!heads_may_sum_to_one()) return false;
        SharedProducts shared;
        const int first = out_.outcome.first_failure();
        const std::vector<IntendedMask> intended = intended_masks(assumed);
        return std::any_of(intended.begin(), intended.end(), [&](const IntendedMask& candidate) {
            Recipe recipe = correct_recipe(assumed, candidate);
            recipe.axis = SoftmaxAxis::Heads;
            return !candidate.guessed && evaluate(assumed, recipe, rounding_, shared, first).first_failure() > first;
        });
    }
    /// A bias found in another sequence has numbers for all heads.
    static Known without_bias(Known known) {
        known.bias = nullptr;
        return known;
    }
    bool shares_heads() const {
        return std::any_of(sequence_.stored_heads.begin(), sequence_.stored_heads.end(),
                           [&](std::int64_t stored) { return stored > 0 && stored < sequence_.heads; });
    }

    /// See Suspect::deviation.
    double deviation(const Recipe& recipe, const Outcome& outcome) const {
        const auto& part = outcome.parts[static_cast<std::size_t>(out_.outcome.first_failure())];
        const bool fitted = recipe.scale_is_observed || recipe.dropout != DropoutUse::AsRecorded || recipe.dropout_unscaled;
        if (fitted || !part || part->recorded_squares == 0) return 0;
        return std::sqrt(part->squares / part->recorded_squares) / rounding_.unit;
    }

    /// A recipe that leaves a differing part unevaluated does not explain it.
    bool covers(const Outcome& outcome) const {
        for (std::size_t i = 0; i < kPartCount; ++i)
            if (out_.outcome.parts[i] && !out_.outcome.parts[i]->ok() && !outcome.parts[i]) return false;
        return true;
    }

    void add(Suspect suspect) {
        for (Suspect& known : out_.suspects)
            if (known.bug == suspect.bug && known.detail == suspect.detail) {
                if (better(suspect, known)) known = std::move(suspect);
                return;
            }
        out_.suspects.push_back(std::move(suspect));
    }

    /// A custom factor that appears in a recorded stage of its own is deliberate; one hidden between q and the weights may be a mistake and
    /// counts as a difference.
    bool excuse_scale() {
        if (out_.suspects.empty() || !out_.suspects.front().scale_is_observed || no_suspect_reproduces_all()) return false;
        const bool size_is_known = sequence_.head_size > 0 || sequence_.usual_head_size > 0;
        if (!custom_scale_ || (!sequence_.has(Part::Scaled) && size_is_known)) return false;
        out_.intended = custom_scale_->first;
        out_.outcome = custom_scale_->second;
        out_.right = true;
        out_.warnings.push_back(out_.suspects.front().detail);
        out_.suspects.clear();
        return true;
    }

    /// Accepts differences that are not mistakes: deviations of real programs from textbook attention.
    void excuse() {
        if (excuse_scale()) return;
        Outcome excused = out_.outcome;
        std::vector<std::string> warnings;
        excuse_rotation(excused, warnings);
        if (known_.concat_may_be_projected && excused.first_failure() == static_cast<int>(Part::Concat)) {
            part_of(excused, Part::Concat).reset();
            warnings.push_back("The attention's output is not its heads side by side; it may be the output of W_O, and is not judged.");
        }
        if (excused.first_failure() < kPartCount) return;
        out_.right = true;
        out_.outcome = excused;
        out_.suspects.clear();
        out_.warnings.insert(out_.warnings.end(), warnings.begin(), warnings.end());
    }

    /// A rotation with unknown frequencies; those with known ones are recomputed.
    void excuse_rotation(Outcome& outcome, std::vector<std::string>& warnings) const {
        constexpr Part kTurned[] = {Part::Q, Part::K, Part::QRotated, Part::KRotated};
        const bool differ = std::any_of(std::begin(kTurned), std::end(kTurned), [&](Part part) { return fails(outcome, part); });
        if (!differ || sequence_.rotation || known_.other_rotation || !turned_alike(sequence_, rounding_)) return;
        for (const Part part : kTurned) part_of(outcome, part).reset();
        if (sequence_.rotary_base)
            warnings.push_back(
                fmt::format("q and k are rotated alike, but by other angles than rope_theta = {:g} gives: the base is another "
                            "one, or it is scaled.",
                            *sequence_.rotary_base));
        else warnings.push_back("q and k are rotated by rotary positions with an unusual base: give it as rope_theta.");
    }

    /// A way to rotate that differs in one thing from what the file says.
    struct OtherRotation {
        std::optional<double> base;
        std::optional<std::int64_t> width;
        std::optional<bool> halves;
        std::string words;
    };

    std::vector<OtherRotation> other_rotations() const {
        const auto& base = sequence_.rotary_base;
        const auto& width = sequence_.rotary_width;
        const auto& halves = sequence_.rotary_halves;
        std::vector<OtherRotation> out;
        for (const double other : {10000.0, 500000.0, 1000000.0})
            if (base && other != *base)
                out.push_back({other, width, halves,
                               fmt::format("q and k are rotated with base {:g}, but the file says rope_theta = {:g}.", other, *base)});
        for (const std::int64_t other : usual_rotary_widths(sequence_.head_size))
            if (width && other != *width)
                out.push_back({base, other, halves,
                               fmt::format("q and k are rotated over {} dimensions, but the file says {} of {}.",
                                           other == sequence_.head_size ? fmt::format("all {}", other) : fmt::format("{}", other), *width,
                                           sequence_.head_size)});
        if (halves)
            out.push_back(
                {base, width, !*halves,
                 fmt::format("q and k are rotated in {}, but the file says in {}.", pairs_words(!*halves), pairs_words(*halves))});
        if (!width || *width >= sequence_.head_size) return out;
        // base^(-2i/D) is base^(R/D) to the power of -2i/R.
        const double share = static_cast<double>(*width) / static_cast<double>(sequence_.head_size);
        for (const double other : base ? std::vector<double>{*base} : std::vector<double>{10000, 500000, 1000000})
            out.push_back({std::pow(other, share), width, halves,
                           fmt::format("The frequencies of q and k are those of a rotation over all {0} dimensions, {1:g}^(-2i/{0}); over "
                                       "{2} they are {1:g}^(-2i/{2}).",
                                       sequence_.head_size, other, *width)});
        return out;
    }
    static const char* pairs_words(bool halves) { return halves ? "pairs of the two halves" : "pairs of neighbours"; }

    /// Whether a rotation explains the numbers that differs from the file's in one thing.
    bool find_other_rotation() {
        if (sequence_.rotation || known_.assumed || known_.other_rotation || !differs_in_many_cells()) return false;
        for (const OtherRotation& try_this : other_rotations()) {
            Sequence other = sequence_;
            other.rotary_base = try_this.base;
            other.rotary_width = try_this.width;
            other.rotary_halves = try_this.halves;
            other.rotation = visible_rotation(other, rounding_);
            if (!other.rotation) {
                const std::vector<Rotation> hidden = hidden_rotations(other);
                if (!hidden.empty()) other.rotation = hidden.front();
            }
            Known known = assuming();
            known.other_rotation = true;
            if (!other.rotation || !may_be_right(other, known) || !Judge(other, known).run().right) continue;
            blame_rotation(*other.rotation, try_this.words);
            return true;
        }
        return false;
    }

    /// Judges what q and k are rotated by with what the file says they should be. `seen` says where and at which positions.
    void blame_rotation(Rotation seen, const std::string& words) {
        Sequence meant = sequence_;
        seen.base = sequence_.rotary_base.value_or(seen.base);
        seen.width = sequence_.rotary_width.value_or(seen.width);
        seen.halves = sequence_.rotary_halves.value_or(seen.halves);
        meant.rotation = seen;
        Judge judge(meant, known_);
        judge.find_mask(intended_masks(meant));
        if (!judge.out_.right) out_ = std::move(judge.out_);
        out_.right = false;
        out_.suspects = {{Bug::Other, words}};
    }

    /// q and k that the file has before and after their rotation, which it describes, but are the same.
    void suspect_missing_rotation() {
        if ((!sequence_.rotary_base && !sequence_.rotary_width) || sequence_.rotation || known_.assumed || known_.other_rotation) return;
        const auto stays = [&](Part before, Part after) { return sequence_.has(after) && sequence_[before] == sequence_[after]; };
        const bool queries = sequence_.queries > 1 && stays(Part::Q, Part::QRotated),
                   keys = sequence_.keys > 1 && stays(Part::K, Part::KRotated);
        if (!queries && !keys) return;
        Sequence meant = sequence_;
        meant.rotation = usual_rotations(sequence_).front();
        const Outcome outcome = evaluate(meant, correct_recipe(meant, out_.intended), rounding_, shared_);
        if (outcome.first_failure() == kPartCount) return;
        out_.right = false;
        out_.outcome = outcome;
        out_.suspects = {{Bug::Other, "q and k are not rotated at all, although the file describes rotary positions."}};
    }

    /// Whether q and k are rotated the wrong way round, which a rotation with unknown frequencies would not show.
    bool find_backward_rotation() {
        if (sequence_.rotation || known_.other_rotation) return false;
        const std::optional<Rotation> meant = backward_rotation(sequence_, rounding_);
        if (!meant) return false;
        Sequence turned = sequence_;
        turned.rotation = meant;
        out_ = Judge(turned, assuming()).run();
        out_.right = false;
        out_.suspects = {
            {Bug::Other, fmt::format("q and k are rotated by the negative angles of their positions, with base {:g}: the sign of "
                                     "the sines is wrong.",
                                     meant->base)}};
        return true;
    }

    static Sequence with_cap(const Sequence& sequence, std::optional<double> cap) {
        Sequence capped = sequence;
        capped.softcap = cap;
        return capped;
    }

    /// The soft cap, other than the file's, that the first differing stage shows, if it shows one.
    std::optional<double> seen_cap() {
        if (cap_is_known_) return seen_cap_;
        cap_is_known_ = true;
        const int first = out_.outcome.first_failure();
        if (first < static_cast<int>(Part::Scores) || first == kPartCount || known_.other_softcap) return std::nullopt;
        // One head shows it as well as all.
        const bool split = sequence_.map_size() >= kLongMaps && is_separable(sequence_);
        const Sequence looked_at = split ? head_of(sequence_, 0) : sequence_;
        SharedProducts shared;
        const auto squares = [&](std::optional<double> cap) {
            expect_to_go_on();
            const Sequence capped = with_cap(looked_at, cap);
            const Recipe right = correct_recipe(sequence_, out_.intended);
            Recipe recipe = split ? head_of(right, sequence_, 0) : right;
            recipe.cap = cap.value_or(0);
            const Outcome outcome = evaluate(capped, recipe, rounding_, shared);
            const auto& part = outcome.parts[static_cast<std::size_t>(first)];
            return part && std::isfinite(part->squares) ? part->squares : std::numeric_limits<double>::infinity();
        };
        const double without = std::min(squares(std::nullopt), squares(sequence_.softcap));
        // Of 16-bit numbers rounding may be as large as what a cap changes; whether it explains them all is judged afterwards.
        const double left = rounding_.unit >= 0x1p-12 && first <= static_cast<int>(Part::Weights) ? 1 : 0.125;
        if (without > 0 && std::isfinite(without)) seen_cap_ = best_cap(without, left, squares);
        return seen_cap_;
    }

    /// A cap would explain a single number that is closer to 0 than it should be.
    bool may_show_cap() const {
        constexpr std::int64_t kSome = 4;
        const Comparison* difference = first_difference(out_.outcome);
        if (difference == nullptr) return false;
        const bool most = difference->differing * 2 > difference->judged - difference->exact;
        return difference->differing >= kSome || most || sequence_.has(Part::Capped);
    }

    /// Whether a constant factor explains the numbers as well as this cap does, or whether they are so few that most caps and factors do.
    enum class CapOrScale : std::uint8_t { Cap, Scale, Either };
    CapOrScale cap_or_scale(const Judgement& capped) const {
        constexpr std::int64_t kFew = 8;
        constexpr double kClearly = 1.5;
        const auto first = static_cast<std::size_t>(out_.outcome.first_failure());
        const auto& difference = out_.outcome.parts[first];
        if (difference->judged - difference->exact < kFew && !sequence_.has(Part::Capped)) return CapOrScale::Either;
        if (!custom_scale_ || !custom_scale_->second.parts[first] || !capped.outcome.parts[first]) return CapOrScale::Cap;
        const double scale = custom_scale_->second.parts[first]->squares, cap = capped.outcome.parts[first]->squares;
        return cap * kClearly < scale ? CapOrScale::Cap : scale * kClearly < cap ? CapOrScale::Scale : CapOrScale::Either;
    }

    /// Repeats the judgement with a soft cap that the numbers show but the file does not state. Accepted only if that explains everything.
    bool find_softcap() {
        if (known_.other_softcap || (!known_.softcap && !may_show_cap())) return false;
        const std::optional<double> seen = known_.softcap ? known_.softcap : seen_cap();
        if (!seen) return false;
        for (const double cap : likely_caps(*seen)) {
            Known known = assuming();
            known.other_softcap = true;
            const Sequence capped = with_cap(sequence_, cap);
            if (!explains_more(capped) || !may_explain(capped, known)) continue;
            Judgement judgement = Judge(capped, known).run();
            if (sequence_.softcap && judgement.right) {
                out_.suspects = {{Bug::Other, fmt::format("The scores are soft-capped at {:.6g}, but the file says softcap = {:.6g}.", cap,
                                                          *sequence_.softcap)}};
                return true;
            }
            if (judgement.right && !known_.softcap && !sequence_.softcap) {
                const CapOrScale better = cap_or_scale(judgement);
                cap_is_undecided_ = better == CapOrScale::Either;
                if (better != CapOrScale::Cap) return false;
            }
            if (sequence_.softcap ||
                !adopt(std::move(judgement),
                       fmt::format("The scores are soft-capped, which the file does not say: softcap = {:.6g} fits.", cap)))
                continue;
            out_.softcap = cap;
            return true;
        }
        return false;
    }

    /// What the file says and the numbers do not contradict, but do not show either.
    void warn_of_declarations() {
        const Intent& intent = sequence_.intent;
        const Keep& keep = *out_.intended.keep;
        const bool depends_on_query = keep != keep_of_keys(sequence_, keys_used(sequence_, keep));
        if (intent.causal == false && !intent.given && depends_on_query && is_subset(keep, causal_keep(sequence_, sequence_.first_query())))
            out_.warnings.emplace_back("The weights are causal, although the file says causal = false.");
        if ((sequence_.rotary_base || sequence_.rotary_width) && !sequence_.rotation && !known_.other_rotation && sequence_.queries > 1 &&
            sequence_.has(Part::Q) && sequence_.has(Part::K) && !sequence_.has(Part::QRotated) && !sequence_.has(Part::KRotated))
            out_.warnings.push_back(fmt::format("The file gives {}, but q and k are used as they are: they were saved after their "
                                                "rotation, or it is missing.",
                                                sequence_.rotary_base ? "rope_theta" : "rotary_dim"));
    }

    std::string words_of(const Rotation& rotation) const {
        return fmt::format("q and k are rotated by rotary positions before their product ({}), which the file does not show.",
                           rotation_words(rotation, sequence_.head_size));
    }

    /// Rotations to try if no recorded tensor shows one; first those that the file states.
    std::vector<Rotation> possible_rotations() const {
        const int first = out_.outcome.first_failure();
        const bool only_context = first >= static_cast<int>(Part::Context) && !sequence_.has(Part::Weights) && sequence_.head_size > 0;
        if (!only_context && (first < static_cast<int>(Part::Scores) || first > static_cast<int>(Part::Weights))) return {};
        std::vector<Rotation> out = stated_rotations();
        for (const Rotation& rotation : only_context ? usual_rotations(sequence_) : hidden_rotations(sequence_))
            if (!only_context || explains_more(with_rotation(rotation))) out.push_back(rotation);
        return out;
    }

    Sequence with_rotation(const Rotation& rotation) const {
        Sequence turned = sequence_;
        turned.rotation = rotation;
        return turned;
    }

    bool states_rotation() const { return sequence_.rotary_base || sequence_.rotary_width; }

    /// The rotations that agree with what the file says and are over the width that it gives, or whole heads.
    std::vector<Rotation> stated_rotations() const {
        if (!states_rotation()) return {};
        std::vector<Rotation> out = usual_rotations(sequence_);
        std::erase_if(out, [&](const Rotation& rotation) { return is_guess(rotation); });
        return out;
    }

    /// Whether a rotation that the file states, but no tensor shows, leaves nothing wrong. What is stated comes before any suspect.
    bool find_stated_rotation() {
        if (known_.assumed || shows_rotation() || sequence_.head_size == 0) return false;
        for (const Rotation& rotation : stated_rotations()) {
            const Sequence turned = with_rotation(rotation);
            if (explains_more(turned) && explains_all(turned) && take_rotation(rotation, Judge(turned, assuming()).run())) return true;
        }
        return false;
    }

    bool explains_all(const Sequence& assumed) const {
        SharedProducts shared;
        const std::vector<IntendedMask> intended = intended_masks(assumed);
        return std::any_of(intended.begin(), intended.end(), [&](const IntendedMask& candidate) {
            return evaluate(assumed, correct_recipe(assumed, candidate), rounding_, shared, kPartCount).first_failure() == kPartCount;
        });
    }

    /// Tests whether the weights were saved with queries as columns, although everything was computed from the right ones.
    bool find_transposed_weights() {
        const int first = out_.outcome.first_failure();
        const bool may_be = first == static_cast<int>(Part::Weights) || first == static_cast<int>(Part::Context);
        if (known_.assumed || sequence_.queries != sequence_.keys || !sequence_.has(Part::Weights) || !may_be) return false;
        Sequence upright = sequence_;
        const std::vector<double>& weights = sequence_[Part::Weights];
        for (std::size_t i = 0; i < weights.size(); ++i)
            upright.values[static_cast<std::size_t>(Part::Weights)][sequence_.transposed(i)] = weights[i];
        if (!may_be_right(upright, assuming()) || !Judge(upright, assuming()).run().right) return false;
        out_.suspects = {{Bug::Other, "The weights are transposed: their columns are queries and their rows are keys."}};
        return true;
    }

    /// Tests whether q and k were swapped in combination with a rotation not in the file.
    bool find_swap() {
        const bool split = sequence_.has(Part::Q) && sequence_.has(Part::K);
        const bool projected = sequence_.has(Part::QProj) && sequence_.has(Part::KProj);
        const bool fits =
            sequence_.queries == sequence_.keys && (split || (projected && sequence_.heads_stored(Part::KProj) == sequence_.heads));
        const int first = out_.outcome.first_failure();
        if (known_.swapped || sequence_.rotation || !fits || !is_small() || first < static_cast<int>(Part::Scores)) return false;
        Sequence swapped = sequence_;
        const auto values = [&](Part part) -> std::vector<double>& { return swapped.values[static_cast<std::size_t>(part)]; };
        std::swap(values(Part::Q), values(Part::K));
        std::swap(values(Part::QProj), values(Part::KProj));
        if (split) values(Part::QProj).clear(), values(Part::KProj).clear();
        Known known = known_;
        known.swapped = true;
        if (!Judge(swapped, known).run().right) return false;
        out_.suspects = {{Bug::QueriesKeysSwapped, ""}};
        return true;
    }

    /// Repeats the judgement assuming that q and k were rotated before their product, although no recorded tensor shows it. Accepted only
    /// if that explains everything.
    bool find_hidden_rotation() {
        if (shows_rotation()) return false;
        const std::vector<Rotation> possible = known_.rotation != nullptr ? std::vector<Rotation>{*known_.rotation} : possible_rotations();
        const auto guess = [&](const Rotation& rotation) { return is_guess(rotation); };
        const bool guesses = differs_in_many_cells() && std::any_of(possible.begin(), possible.end(), guess);
        return adopt_rotation(possible, false) || (guesses && (find_swap() || adopt_rotation(possible, true)));
    }

    bool shows_rotation() const { return sequence_.rotation || sequence_.has(Part::QRotated) || sequence_.has(Part::KRotated); }

    bool take_rotation(const Rotation& rotation, Judgement judgement) {
        if (!adopt(std::move(judgement), words_of(rotation))) return false;
        out_.rotation = rotation;
        return true;
    }

    /// Tries those that are guesses, or the others; those that leave nothing wrong count first.
    bool adopt_rotation(const std::vector<Rotation>& possible, bool guesses) {
        std::vector<std::pair<Rotation, Judgement>> wrong;
        for (const Rotation& rotation : possible) {
            if (is_guess(rotation) != guesses) continue;
            const Sequence turned = with_rotation(rotation);
            if (!may_explain(turned, assuming())) continue;
            Judgement judgement = Judge(turned, assuming()).run();
            if (judgement.right) return take_rotation(rotation, std::move(judgement));
            wrong.emplace_back(rotation, std::move(judgement));
        }
        return std::any_of(wrong.begin(), wrong.end(), [&](auto& each) { return take_rotation(each.first, std::move(each.second)); });
    }

    /// Whether a rotation has a width that nothing but the scores shows.
    bool is_guess(const Rotation& rotation) const {
        return rotation.width < sequence_.head_size && !sequence_.rotary_width && known_.rotation == nullptr;
    }
    /// Of the many ways to explain one or two numbers one may fit by chance.
    bool differs_in_many_cells() const {
        constexpr std::int64_t kMany = 8;
        const Comparison* difference = first_difference(out_.outcome);
        return difference != nullptr && difference->differing >= kMany;
    }

    static bool fails(Outcome& outcome, Part part) { return part_of(outcome, part) && !part_of(outcome, part)->ok(); }

    /// GPUs may truncate float32 factors to 11 bits (TF32); then most numbers are slightly off and none is far off. Repeats the judgement
    /// under that assumption.
    bool allow_short_products() {
        constexpr double kShort = 0x1p-10;
        const int first = out_.outcome.first_failure();
        const bool single = rounding_.unit <= 0x1p-24 && rounding_.unit > 0x1p-32;
        if (known_.short_products > 0 || known_.computed_with_32_bits || !single || first == kPartCount) return false;
        const Comparison& comparison = *first_difference(out_.outcome);
        if (comparison.differing * 4 < comparison.judged - comparison.exact || seen_cap()) return false;
        Known known = known_;
        known.short_products = kShort;
        return may_explain(sequence_, known) &&
               adopt(Judge(sequence_, known).run(), "The products were computed with about 11 bits, as GPUs do in TF32.");
    }

    Known assuming() const {
        Known known = known_;
        known.assumed = true;
        return known;
    }

    /// Accepts a judgement under an additional assumption if it explains everything.
    bool adopt(Judgement again, const std::string& warning) {
        if (!again.right && (again.suspects.empty() || again.suspects.front().first_failure < kPartCount)) return false;
        out_ = std::move(again);
        out_.warnings.push_back(warning);
        return true;
    }

    /// Repeats the judgement assuming the position bias that the numbers show. Accepted only if that explains everything.
    bool find_position_bias() {
        const int first = out_.outcome.first_failure();
        if (first < static_cast<int>(Part::Masked) || first == kPartCount || !sequence_.intent.bias.empty()) return false;
        if (first > static_cast<int>(Part::Weights)) return !sequence_.has(Part::Weights) && find_alibi();
        const auto scores = scaled_scores(sequence_, correct_recipe(sequence_, out_.intended), rounding_, shared_);
        if (scores == nullptr) return false;
        constexpr const char* kWarning =
            "The scores contain a position bias, a number for every head and distance, that is not in the file.";
        if (known_.bias != nullptr) return judge_with(*known_.bias, kWarning);
        if (find_alibi()) return true;
        if (const auto bias = observed_position_bias(sequence_, *scores, *out_.intended.keep, rounding_);
            bias && judge_with(*bias, kWarning)) {
            out_.bias = bias;
            return true;
        }
        return first == static_cast<int>(Part::Masked) && sequence_.has(Part::Scaled) && !seen_cap() &&
               judge_with(cell_biases(),
                          "masked differs from scaled by finite amounts, as if a position bias had been added; it is not in the file.");
    }

    /// ALiBi's own slopes need no cells to confirm them. Whether the sign is correct is judged afterwards.
    bool find_alibi() {
        for (const bool wrong_sign : {false, true}) {
            const PositionBias alibi{alibi_bias(sequence_, wrong_sign)};
            if ((is_small() || explains_more(with_bias(alibi))) &&
                judge_with(alibi, "The scores contain ALiBi's position bias, which is not in the file."))
                return true;
        }
        return false;
    }

    /// Small enough to test two unusual assumptions together.
    bool is_small() const { return sequence_.map_size() <= 1 << 14; }

    /// Whether the first difference disappears under some plausible mask: the cheap part of judging again.
    bool explains_more(const Sequence& all) const {
        const Sequence assumed = telling_part(all);
        SharedProducts shared;
        const int first = out_.outcome.first_failure();
        const auto explains = [&](const IntendedMask& candidate) {
            return evaluate(assumed, correct_recipe(assumed, candidate), rounding_, shared, first).first_failure() > first;
        };
        std::vector<IntendedMask> intended = intended_masks(assumed);
        std::erase_if(intended, [](const IntendedMask& candidate) { return candidate.guessed; });
        // Include a misaligned causal mask, which is reported as a mistake once everything else is explained.
        IntendedMask misaligned;
        misaligned.keep = std::make_shared<const Keep>(causal_keep(assumed, 0));
        if (assumed.keys > assumed.queries && assumed.intent.causal == true) intended.push_back(misaligned);
        return std::any_of(intended.begin(), intended.end(), explains);
    }

    Sequence with_bias(const PositionBias& bias) const {
        Sequence biased = sequence_;
        biased.intent.bias = bias.values;
        biased.intent.bias_error = bias.error;
        return biased;
    }

    bool judge_with(const PositionBias& bias, const char* warning) {
        if (bias.values.empty()) return false;
        const Sequence biased = with_bias(bias);
        return may_explain(biased, assuming()) && adopt(Judge(biased, assuming()).run(), warning);
    }

    /// The difference between masked and scaled in every cell, if most cells have one: a mistake in a single cell is not a bias. At
    /// distance 0 most biases are 0.
    PositionBias cell_biases() const {
        const std::vector<double>&masked = sequence_[Part::Masked], &scaled = sequence_[Part::Scaled];
        PositionBias out;
        std::int64_t differing = 0, open = 0;
        for (std::size_t i = 0; i < masked.size(); ++i) {
            const auto cell = static_cast<std::int64_t>(i), t = cell / sequence_.keys % sequence_.queries, s = cell % sequence_.keys;
            const bool kept = (*out_.intended.keep)[i] != 0 && masked[i] > kForbidding && std::isfinite(masked[i] - scaled[i]);
            out.values.push_back(kept ? masked[i] - scaled[i] : 0);
            if (!kept || s == t) continue;
            ++open;
            differing += masked[i] != scaled[i];
        }
        if (differing < std::min<std::int64_t>(2, open) || differing * 5 < open * 2 || differing == 0) return {};
        return out;
    }

    /// A mask that fits may still be one that nobody would intend.
    void suspect_pattern() {
        const Intent& intent = sequence_.intent;
        if (intent.complete || (!intent.given && has_nan(Part::Weights))) return;
        std::optional<Bug> bug =
            intent.queries_only ? std::optional(Bug::PaddingOnQueries) : mistaken_pattern(sequence_, *out_.intended.keep);
        if (intent.queries_only && is_subset(full_keep(sequence_), *out_.intended.keep)) bug.reset();
        if (!bug || (!intent.given && !out_.intended.observed)) return;
        if (bug == Bug::PaddingOnQueries && intent.given && !intent.queries_only) {
            out_.warnings.push_back("The file's mask leaves whole queries without a key; a padding mask usually hides keys.");
            return;
        }
        const std::vector<std::uint8_t> used = keys_used(sequence_, *out_.intended.keep);
        Keep meant = causal_keep(sequence_, sequence_.first_query());
        if (bug == Bug::PaddingOnQueries) {
            std::vector<std::uint8_t> rows(static_cast<std::size_t>(sequence_.keys), 0);
            for (std::size_t t = 0; t < rows.size() && t < static_cast<std::size_t>(sequence_.queries); ++t)
                rows[t] = (*out_.intended.keep)[t * static_cast<std::size_t>(sequence_.keys)];
            meant = keep_of_keys(sequence_, rows);
        }
        IntendedMask candidate;
        candidate.keep = std::make_shared<const Keep>(std::move(meant));
        const Outcome outcome = evaluate(sequence_, correct_recipe(sequence_, candidate), rounding_, shared_);
        if (outcome.first_failure() == kPartCount) return;  // no number tells the two masks apart
        out_.right = false;
        out_.outcome = outcome;
        out_.suspects = {{*bug, intent.given ? "The mask in the file itself is like that."
                                             : "The file has no mask, but this one can hardly be intended."}};
    }

    /// If all heads' keys or values are recorded and equal ones are not adjacent, they were tiled.
    void suspect_tiled_heads() {
        for (const Part part : {Part::K, Part::V}) {
            const std::vector<double>& rows = sequence_[part];
            const std::int64_t heads = sequence_.heads;
            if (rows.empty() || sequence_.heads_stored(part) < heads) continue;
            for (std::int64_t stored = 2; stored < heads; ++stored) {
                if (heads % stored != 0 || !is_tiled(rows, stored)) continue;
                const auto different = rows.begin() + static_cast<std::ptrdiff_t>(rows.size()) / heads * stored;
                const Estimate repeated = repeat_heads({{rows.begin(), different}, {}}, stored, heads);
                out_.right = false;
                part_of(out_.outcome, part) = compare(rows, repeated);
                out_.suspects = {{Bug::GroupedHeadsTiled, fmt::format("Head {} of {} is a copy of head 0.", stored, part_name(part))}};
                return;
            }
        }
    }

    bool is_tiled(const std::vector<double>& rows, std::int64_t stored) const {
        const auto size = static_cast<std::ptrdiff_t>(rows.size()) / sequence_.heads, period = size * stored;
        const bool repeats = std::equal(rows.begin() + period, rows.end(), rows.begin());
        return size > 1 && repeats && !std::equal(rows.begin() + size, rows.begin() + 2 * size, rows.begin());
    }

    /// A position bias that fits may still be one that nobody would intend.
    void suspect_bias() {
        if (!grows_with_distance(sequence_, sequence_.intent.bias, *out_.intended.keep, bias_error(sequence_))) return;
        Sequence meant = sequence_;
        for (double& x : meant.intent.bias) x = -x;
        out_.right = false;
        out_.outcome = evaluate(meant, correct_recipe(meant, out_.intended), rounding_, shared_);
        out_.suspects = {{Bug::AlibiSign, ""}};
        if (out_.outcome.first_failure() == kPartCount) blame_first_map();
    }

    /// Blames the first recorded map if no stage that can be recomputed includes the file's bias.
    void blame_first_map() {
        for (const Part part : {Part::Masked, Part::Weights, Part::Dropped, Part::Context, Part::Concat}) {
            if (!sequence_.has(part)) continue;
            Comparison comparison;
            comparison.first = 0;
            comparison.differing = 1;
            comparison.recorded = sequence_[part][0];
            comparison.expected = std::nan("");
            part_of(out_.outcome, part) = comparison;
            return;
        }
        out_.right = true;
        out_.suspects.clear();
        out_.warnings.emplace_back("The position bias in the file grows with the distance, where ALiBi's falls.");
    }

    void find_whether_telling() {
        for (int i = 0; i < kPartCount; ++i) {
            const auto& part = out_.outcome.parts[static_cast<std::size_t>(i)];
            if (part && part->judged > 0 && i != static_cast<int>(Part::Dropped)) out_.telling = true;
        }
    }

    const Sequence& sequence_;
    const Known known_;
    Rounding rounding_;
    SharedProducts shared_;
    bool cap_is_known_ = false;
    bool cap_is_undecided_ = false;  ///< a cap and another scale explain everything
    std::optional<double> seen_cap_;
    std::optional<Sequence> one_head_;  ///< the telling head alone
    SharedProducts shared_of_head_;
    std::optional<std::pair<IntendedMask, Outcome>> custom_scale_;  ///< a mask under which a custom factor reproduces everything
    Judgement out_;
};

Judgement judge_in_any_precision(const Sequence& sequence, const Known& known) {
    Judgement judgement = Judge(sequence, known).run();
    if (judgement.right || sequence.unit >= kFloat) return judgement;
    // Files of 64-bit numbers often contain results of 32-bit computations, perhaps only of the softmax. Then many cells differ, not just a
    // few.
    const Comparison* difference = first_difference(judgement.outcome);
    if (difference == nullptr || difference->differing * 8 < difference->judged) return judgement;
    Sequence shorter = sequence;
    shorter.unit = kFloat;
    Known assumed = known;
    assumed.computed_with_32_bits = true;
    Judgement again = Judge(shorter, assumed).run();
    if (!explained(again) || explained(judgement)) return judgement;
    again.warnings.push_back("The numbers are stored with 64 bits but were computed with 32.");
    return again;
}

}  // namespace

Judgement judge(const Sequence& sequence, const Known& known) {
    const Rounding rounding = rounding_of(sequence);
    Sequence turned = sequence;
    turned.rotation = visible_rotation(sequence, rounding);
    const std::optional<UnequalRotations> unequal = turned.rotation ? std::nullopt : unequal_rotations(sequence, rounding);
    if (unequal) turned.rotation = unequal->rotation;
    Judgement judgement = judge_in_any_precision(turned, known);
    const bool shows = unequal && !unequal->words.empty() && judgement.outcome.first_failure() <= static_cast<int>(Part::KRotated);
    if (shows && !judgement.right && (judgement.suspects.empty() || judgement.suspects.front().first_failure < kPartCount))
        judgement.suspects = {{Bug::Other, unequal->words}};
    return judgement;
}

}  // namespace attn::doctor
