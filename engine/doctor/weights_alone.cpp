#include "engine/doctor/weights_alone.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/doctor/keep_patterns.hpp"

namespace attn::doctor {
namespace {

class WeightsAlone {
public:
    WeightsAlone(const Sequence& sequence, const std::vector<Plan>& plans)
        : sequence_(sequence), weights_(sequence[Part::Weights]), plans_(plans), observed_(not_zero()),
          rows_(static_cast<std::size_t>(sequence.heads * sequence.queries)), keys_(static_cast<std::size_t>(sequence.keys)),
          tolerance_(std::max(1e-6, 4 * sequence.unit * (1 + 0.1 * static_cast<double>(sequence.keys)))) {}

    void run(Judgement& out) {
        Comparison comparison = compare_rows(nullptr);
        if (sequence_.intent.given || sequence_.intent.causal == true)
            for (std::size_t i = 0; i < plans_.size() && (i == 0 || !comparison.ok()); ++i)
                if (Comparison other = compare_rows(plans_[i].keep.get()); i == 0 || other.ok()) comparison = other;
        const bool sums_right = wrong_sums_ == 0;
        if (!comparison.ok()) {
            if (!sums_right) suspect_sums(out);
            else suspect_mask(out);
        } else if (const std::optional<Bug> bug = mistaken_pattern(sequence_, observed_);
                   bug && !sequence_.intent.complete &&
                   std::none_of(weights_.begin(), weights_.end(), [](double w) { return std::isnan(w); })) {
            out.suspects.push_back({*bug, "The file holds no mask, but nobody means this one."});
            comparison = compare_rows(meant(*bug));
            if (comparison.ok()) comparison.first = 0;
        }
        out.right = out.right && comparison.ok();
        out.outcome.parts[static_cast<std::size_t>(Part::Weights)] = comparison;
    }

private:
    Keep not_zero() const {
        Keep keep(weights_.size());
        for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = std::isfinite(weights_[i]) && weights_[i] != 0;
        return keep;
    }

    const Keep* meant(Bug bug) {
        meant_ = causal_keep(sequence_, 0);
        if (bug == Bug::PaddingOnQueries) {
            std::vector<std::uint8_t> rows(keys_);
            for (std::size_t t = 0; t < keys_; ++t) rows[t] = observed_[t * keys_];
            meant_ = keep_of_keys(sequence_, rows);
        }
        return &meant_;
    }

    /// Rows that are all 0, or not numbers, are those of queries that may attend nowhere.
    bool row_is_empty(std::size_t row) const {
        return std::all_of(weights_.begin() + static_cast<std::ptrdiff_t>(row * keys_),
                           weights_.begin() + static_cast<std::ptrdiff_t>((row + 1) * keys_),
                           [](double w) { return w == 0 || std::isnan(w); });
    }

    bool may_attend_in_every_plan(std::size_t row) const {
        const auto first = static_cast<std::ptrdiff_t>(row * keys_), last = first + static_cast<std::ptrdiff_t>(keys_);
        return std::all_of(plans_.begin(), plans_.end(), [&](const Plan& plan) {
            return std::any_of(plan.keep->begin() + first, plan.keep->begin() + last, [](std::uint8_t keep) { return keep != 0; });
        });
    }

    /// A row whose sum is not 1 differs at its first cell, a masked cell that is not 0 at itself.
    Comparison compare_rows(const Keep* intended) {
        Comparison out;
        wrong_sums_ = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            double sum = 0;
            for (std::size_t s = 0; s < keys_; ++s) sum += weights_[row * keys_ + s];
            const bool may_attend = intended == nullptr || std::any_of(intended->begin() + static_cast<std::ptrdiff_t>(row * keys_),
                                                                       intended->begin() + static_cast<std::ptrdiff_t>((row + 1) * keys_),
                                                                       [](std::uint8_t keep) { return keep != 0; });
            if (row_is_empty(row)) {
                if (intended == nullptr || !may_attend_in_every_plan(row)) continue;
                ++out.judged;
                note(out, row * keys_, sum, 1);
                continue;
            }
            if (!(std::fabs(sum - 1) <= tolerance_)) {
                ++wrong_sums_;
                note(out, row * keys_, sum, 1);
            }
            for (std::size_t i = row * keys_; i < (row + 1) * keys_; ++i) {
                ++out.judged;
                if (!(weights_[i] >= 0)) note(out, i, weights_[i], 0);
                else if (may_attend && intended != nullptr && (*intended)[i] == 0 && weights_[i] > 0) note(out, i, weights_[i], 0);
            }
        }
        return out;
    }

    static void note(Comparison& out, std::size_t cell, double recorded, double expected) {
        const double error = std::fabs(recorded - expected);
        out.max_error = std::max(out.max_error, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
        ++out.differing;
        if (out.first >= 0) return;
        out.first = static_cast<std::int64_t>(cell);
        out.recorded = recorded;
        out.expected = expected;
    }

    bool columns_sum_to_one() const {
        for (std::int64_t h = 0; h < sequence_.heads; ++h)
            for (std::size_t s = 0; s < keys_; ++s) {
                double sum = 0;
                for (std::int64_t t = 0; t < sequence_.queries; ++t)
                    sum += weights_[static_cast<std::size_t>(h * sequence_.queries + t) * keys_ + s];
                if (sum != 0 && !std::isnan(sum) && !(std::fabs(sum - 1) <= tolerance_)) return false;
            }
        return true;
    }

    /// Every row that lost something to the mask sums to less than 1, every other to 1.
    bool masked_late() const {
        bool lost = false;
        for (std::size_t row = 0; row < rows_; ++row) {
            double sum = 0;
            std::size_t zeros = 0;
            for (std::size_t s = 0; s < keys_; ++s) {
                sum += weights_[row * keys_ + s];
                zeros += weights_[row * keys_ + s] == 0;
            }
            if (!(sum <= 1 + tolerance_) || (zeros == 0 && sum < 1 - tolerance_)) return false;
            lost = lost || (zeros > 0 && sum < 1 - tolerance_);
        }
        if (!lost) return false;
        // The zeros have to be a mask, and not what dropout left without making up for it: the same for every head, or known.
        for (const Plan& plan : plans_)
            if (!plan.observed && is_subset(observed_, *plan.keep) && is_subset(*plan.keep, observed_)) return true;
        const std::size_t map = static_cast<std::size_t>(sequence_.queries) * keys_;
        for (std::size_t i = map; i < observed_.size(); ++i)
            if (observed_[i] != observed_[i % map]) return false;
        return sequence_.heads > 1;
    }

    /// Rows that lost nothing sum to 1/(1 - rate), the others to less.
    std::optional<double> dropout_rate() const {
        double largest = 0;
        std::size_t scattered = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            double sum = 0;
            for (std::size_t s = 0; s < keys_; ++s) {
                const double w = weights_[row * keys_ + s];
                if (!(w >= 0)) return std::nullopt;
                sum += w;
                scattered += w == 0;
            }
            largest = std::max(largest, sum);
        }
        if (scattered == 0 || !(largest > 1 + tolerance_)) return std::nullopt;
        return 1 - 1 / largest;
    }

    void suspect_sums(Judgement& out) const {
        if (columns_sum_to_one()) {
            out.suspects.push_back({Bug::SoftmaxOverQueries, "The columns sum to 1, the rows do not."});
        } else if (masked_late()) {
            out.suspects.push_back({Bug::MaskAfterSoftmax, "Rows sum to less than 1 by what the mask took from them."});
        } else if (const std::optional<double> rate = dropout_rate()) {
            Suspect suspect{Bug::DropoutLeftOn, "Some weights are 0 and rows sum to more than 1."};
            suspect.dropout_rate = *rate;
            out.suspects.push_back(suspect);
        }
    }

    /// Zeros, NaN or equal shares: what programs make of a row without any key.
    bool row_may_be_emptied(std::size_t row) const {
        const double* w = weights_.data() + row * keys_;
        return row_is_empty(row) || (keys_ > 1 && std::all_of(w, w + keys_, [&](double x) { return x == w[0]; }));
    }

    /// How many rows `keep` leaves without a key that look like it; nothing when some row cannot come from it. Rows that should have no
    /// key anyway tell nothing.
    std::optional<int> rows_explained(const Keep& keep, const Keep& meant) const {
        int emptied = 0, matching = 0, left_empty = 0, nan = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            const auto first = static_cast<std::ptrdiff_t>(row * keys_), last = first + static_cast<std::ptrdiff_t>(keys_);
            const auto is_empty = [&](const Keep& k) {
                return std::none_of(k.begin() + first, k.begin() + last, [](std::uint8_t x) { return x != 0; });
            };
            if (is_empty(meant)) continue;
            if (is_empty(keep)) {
                ++left_empty;
                emptied += row_may_be_emptied(row);
                nan += std::isnan(weights_[row * keys_]);
            } else if (std::equal(keep.begin() + first, keep.begin() + last, observed_.begin() + first)) {
                ++matching;
            } else {
                return std::nullopt;
            }
        }
        // A program makes the same of all of them, and NaN alone has many reasons.
        if (nan != 0 && (nan != left_empty || matching == 0)) return std::nullopt;
        return matching + emptied > 0 ? std::optional(emptied) : std::nullopt;
    }

    /// The mistake whose mask is the pattern of what is not 0.
    void suspect_mask(Judgement& out) const {
        std::optional<int> best;
        for (const Plan& plan : plans_) {
            if (plan.guessed) break;
            for (const Recipe& recipe : mistaken_recipes(sequence_, plan)) {
                if (recipe.mask != MaskUse::BeforeSoftmax || recipe.keep == plan.keep) continue;
                const std::optional<int> explained = rows_explained(*recipe.keep, *plan.keep);
                if (!explained || (best && *explained < *best)) continue;
                if (best && *explained > *best) out.suspects.clear();
                best = explained;
                const bool known = std::any_of(out.suspects.begin(), out.suspects.end(),
                                               [&](const Suspect& suspect) { return suspect.bug == *recipe.bug; });
                if (!known) out.suspects.push_back({*recipe.bug, recipe.detail});
            }
        }
    }

    const Sequence& sequence_;
    const std::vector<double>& weights_;
    const std::vector<Plan>& plans_;
    const Keep observed_;
    const std::size_t rows_, keys_;
    const double tolerance_;
    std::int64_t wrong_sums_ = 0;
    Keep meant_;
};

}  // namespace

void judge_weights_alone(const Sequence& sequence, const std::vector<Plan>& plans, Judgement& judgement) {
    if (!sequence.has(Part::Weights) || judgement.outcome.parts[static_cast<std::size_t>(Part::Weights)]) return;
    WeightsAlone(sequence, plans).run(judgement);
}

}  // namespace attn::doctor
