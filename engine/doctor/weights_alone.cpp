#include "engine/doctor/weights_alone.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/doctor/keep_patterns.hpp"

namespace attn::doctor {
namespace {

class WeightsAlone {
public:
    WeightsAlone(const Sequence& sequence, const std::vector<IntendedMask>& intended)
        : sequence_(sequence), weights_(sequence[Part::Weights]), intended_(intended), observed_(not_zero()),
          rows_(static_cast<std::size_t>(sequence.heads * sequence.queries)), keys_(static_cast<std::size_t>(sequence.keys)),
          tolerance_(sum_tolerance(sequence)) {}

    void run(Judgement& out) {
        Comparison comparison = compare_rows(nullptr);
        if (sequence_.intent.given || sequence_.intent.causal == true)
            for (std::size_t i = 0; i < intended_.size() && (i == 0 || !comparison.ok()); ++i)
                if (Comparison other = compare_rows(intended_[i].keep.get()); i == 0 || other.ok()) comparison = other;
        const bool sums_right = wrong_sums_ == 0;
        if (!comparison.ok()) {
            if (sums_right) suspect_mask(out);
            else if (std::optional<Suspect> suspect = suspect_of_sums()) out.suspects.push_back(std::move(*suspect));
        } else if (const std::optional<Bug> bug = mistaken_pattern(sequence_, observed_);
                   bug && !sequence_.intent.complete &&
                   std::none_of(weights_.begin(), weights_.end(), [](double w) { return std::isnan(w); })) {
            out.suspects.push_back({*bug, "The file has no mask, but this one can hardly be intended."});
            const Keep& keep = *meant(*bug);
            comparison = compare_rows(&keep);
            for (std::size_t i = 0; i < weights_.size() && comparison.ok(); ++i)
                if (keep[i] != 0 && weights_[i] == 0) note(comparison, i, 0, std::nan(""));
            if (comparison.ok()) comparison.first = 0;
        } else if (sequence_.intent.given || sequence_.intent.causal == true) {
            suspect_hidden_cells(out, comparison);
        }
        out.right = out.right && comparison.ok();
        out.outcome.parts[static_cast<std::size_t>(Part::Weights)] = comparison;
    }

    /// The mistake that the row sums reveal, whatever the scores are.
    std::optional<Suspect> suspect_of_sums() const {
        if (sequence_.sinks.empty() && masked_late())
            return Suspect{Bug::MaskAfterSoftmax, "Rows sum to less than 1 by what the mask took from them."};
        if (columns_alone_sum_to_one()) return Suspect{Bug::SoftmaxOverQueries, "The columns sum to 1, but the rows do not."};
        if (heads_alone_sum_to_one())
            return Suspect{Bug::SoftmaxOverHeads, "Each cell sums to 1 over the heads, but the rows do not sum to 1."};
        if (const std::optional<double> rate = dropout_rate()) {
            Suspect suspect{Bug::DropoutLeftOn, "Some weights are 0 and rows sum to more than 1."};
            suspect.dropout_rate = *rate;
            return suspect;
        }
        return std::nullopt;
    }

private:
    Keep not_zero() const {
        Keep keep(weights_.size());
        for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = std::isfinite(weights_[i]) && weights_[i] != 0;
        return keep;
    }

    const Keep* meant(Bug bug) {
        meant_ = causal_keep(sequence_, sequence_.first_query());
        if (bug == Bug::PaddingOnQueries) {
            std::vector<std::uint8_t> rows(keys_);
            for (std::size_t t = 0; t < keys_; ++t) rows[t] = observed_[t * keys_];
            meant_ = keep_of_keys(sequence_, rows);
        }
        return &meant_;
    }

    /// Rows of zeros or NaN belong to queries that may attend to no key.
    bool row_is_empty(std::size_t row) const {
        return std::all_of(weights_.begin() + static_cast<std::ptrdiff_t>(row * keys_),
                           weights_.begin() + static_cast<std::ptrdiff_t>((row + 1) * keys_),
                           [](double w) { return w == 0 || std::isnan(w); });
    }

    bool may_attend_in_every_plan(std::size_t row) const {
        const auto first = static_cast<std::ptrdiff_t>(row * keys_), last = first + static_cast<std::ptrdiff_t>(keys_);
        return std::all_of(intended_.begin(), intended_.end(), [&](const IntendedMask& candidate) {
            return std::any_of(candidate.keep->begin() + first, candidate.keep->begin() + last,
                               [](std::uint8_t keep) { return keep != 0; });
        });
    }

    /// A row whose sum is not 1 is reported at its first cell, a nonzero masked cell at itself.
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
            if (!(std::fabs(sum - 1) <= tolerance_) && !(sum < 1 && !sequence_.sinks.empty())) {
                ++wrong_sums_;
                note(out, row * keys_, sum, 1);
            }
            for (std::size_t i = row * keys_; i < (row + 1) * keys_; ++i) {
                ++out.judged;
                const bool leaks = may_attend && intended != nullptr && (*intended)[i] == 0 && weights_[i] > 0;
                if (!(weights_[i] >= 0) || leaks) note(out, i, weights_[i], 0);
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

    /// Rows in which the mask removes something sum to less than 1, all others to 1.
    bool masked_late(const Keep& mask) const {
        std::size_t lost = 0, masked = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            double sum = 0;
            bool whole = true;
            for (std::size_t i = row * keys_; i < (row + 1) * keys_; ++i) {
                sum += weights_[i];
                whole = whole && mask[i] != 0;
            }
            if (!(sum <= 1 + tolerance_) || (whole && sum < 1 - tolerance_)) return false;
            masked += !whole;
            lost += !whole && sum < 1 - tolerance_;
        }
        return lost > 0 && lost * 2 >= masked;
    }

    /// The zeros must come from a mask and not from dropout without rescaling: from the file's mask, or the same in every head.
    bool masked_late() const {
        for (const IntendedMask& candidate : intended_)
            if (!candidate.observed && !candidate.guessed && is_subset(observed_, *candidate.keep) && masked_late(*candidate.keep))
                return true;
        const std::size_t map = static_cast<std::size_t>(sequence_.queries) * keys_;
        for (std::size_t i = map; i < observed_.size(); ++i)
            if (observed_[i] != observed_[i % map]) return false;
        return sequence_.heads > 1 && masked_late(observed_);
    }

    /// Rows that lost nothing sum to 1/(1 - rate), the others to less. Zeros of a mask are not losses.
    std::optional<double> dropout_rate() const {
        const Keep open = sequence_.intent.given
                              ? *intended_.front().keep
                              : both(along_diagonals(sequence_, observed_), keep_of_keys(sequence_, keys_used(sequence_, observed_)));
        double largest = 0, least_intact = std::numeric_limits<double>::infinity();
        bool lost = false;
        for (std::size_t row = 0; row < rows_; ++row) {
            double sum = 0;
            bool intact = true;
            for (std::size_t i = row * keys_; i < (row + 1) * keys_; ++i) {
                if (!(weights_[i] >= 0) || !std::isfinite(weights_[i])) return std::nullopt;
                sum += weights_[i];
                intact = intact && (weights_[i] != 0 || open[i] == 0);
            }
            largest = std::max(largest, sum);
            if (intact) least_intact = std::min(least_intact, sum);
            lost = lost || !intact;
        }
        if (!lost || !(largest > 1 + tolerance_) || least_intact < largest - tolerance_ * largest) return std::nullopt;
        return 1 - 1 / largest;
    }

    bool columns_alone_sum_to_one() const {
        const auto queries = static_cast<std::size_t>(sequence_.queries);
        bool row_differs = false;
        for (std::size_t h = 0; h < static_cast<std::size_t>(sequence_.heads); ++h) {
            std::vector<double> rows(queries, 0), columns(keys_, 0);
            for (std::size_t t = 0; t < queries; ++t)
                for (std::size_t s = 0; s < keys_; ++s) {
                    const double w = weights_[(h * queries + t) * keys_ + s];
                    if (std::isnan(w)) return false;
                    rows[t] += w;
                    columns[s] += w;
                }
            const auto is_one = [&](double sum) { return sum == 0 || std::fabs(sum - 1) <= tolerance_; };
            if (!std::all_of(columns.begin(), columns.end(), is_one)) return false;
            row_differs = row_differs || !std::all_of(rows.begin(), rows.end(), is_one);
        }
        return row_differs;
    }

    bool heads_alone_sum_to_one() const {
        const std::size_t map = static_cast<std::size_t>(sequence_.queries) * keys_;
        if (sequence_.heads < 2) return false;
        std::size_t ones = 0;
        for (std::size_t i = 0; i < map; ++i) {
            double sum = 0;
            for (std::size_t cell = i; cell < weights_.size(); cell += map) sum += weights_[cell];
            // A masked cell is masked in every head.
            const bool masked = sum == 0 || std::isnan(sum);
            if (!masked && !(std::fabs(sum - 1) <= tolerance_)) return false;
            ones += !masked;
        }
        return ones > 0;
    }

    /// Zeros, NaN or equal shares: what programs produce for a row without keys.
    bool row_may_be_emptied(std::size_t row) const {
        const double* w = weights_.data() + row * keys_;
        return row_is_empty(row) || (keys_ > 1 && std::all_of(w, w + keys_, [&](double x) { return x == w[0]; }));
    }

    /// How many rows that `keep` leaves without a key look like it; nullopt if some row contradicts it. Rows that should have no key anyway
    /// prove nothing.
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
        // A program treats all such rows alike, and NaN alone can have many causes.
        if (nan != 0 && (nan != left_empty || matching == 0)) return std::nullopt;
        return matching + emptied > 0 ? std::optional(emptied) : std::nullopt;
    }

    /// Zeros at allowed keys are underflow, unless they are exactly those of a mistaken mask.
    void suspect_hidden_cells(Judgement& out, Comparison& comparison) const {
        for (const IntendedMask& candidate : intended_)
            if (is_subset(*candidate.keep, observed_)) return;
        for (const IntendedMask& candidate : intended_) {
            for (const Recipe& recipe : mistaken_recipes(sequence_, candidate)) {
                if (recipe.mask != MaskUse::BeforeSoftmax || *recipe.keep == *candidate.keep || !is_subset(*recipe.keep, *candidate.keep))
                    continue;
                if (!rows_explained(*recipe.keep, *candidate.keep)) continue;
                out.suspects.push_back({*recipe.bug, recipe.detail});
                for (std::size_t i = 0; i < weights_.size() && comparison.ok(); ++i)
                    if ((*candidate.keep)[i] != 0 && (*recipe.keep)[i] == 0 && weights_[i] == 0) note(comparison, i, 0, std::nan(""));
                return;
            }
        }
    }

    /// Finds the mistake whose mask matches the nonzero cells.
    void suspect_mask(Judgement& out) const {
        std::optional<int> best;
        for (const IntendedMask& candidate : intended_) {
            if (candidate.guessed) break;
            for (const Recipe& recipe : mistaken_recipes(sequence_, candidate)) {
                if ((recipe.mask != MaskUse::BeforeSoftmax && recipe.mask != MaskUse::WrongSign) || recipe.keep == candidate.keep) continue;
                const std::optional<int> explained = rows_explained(*recipe.keep, *candidate.keep);
                if (!explained || (best && *explained < *best)) continue;
                if (best && *explained > *best) out.suspects.clear();
                best = explained;
                const bool known = std::any_of(out.suspects.begin(), out.suspects.end(),
                                               [&](const Suspect& suspect) { return suspect.bug == *recipe.bug; });
                if (!known) out.suspects.push_back({*recipe.bug, recipe.detail});
            }
        }
        // Scores are lost if a large number was added to them; an inverted mask leaves them intact.
        if (rows_are_equal_shares())
            std::stable_partition(out.suspects.begin(), out.suspects.end(), [](const Suspect& s) { return s.bug == Bug::MaskSign; });
    }

    /// Whether in every row with a masked cell all nonzero weights are equal, with more than one in some row.
    bool rows_are_equal_shares() const {
        bool several = false;
        for (std::size_t row = 0; row < rows_; ++row) {
            std::vector<double> shares;
            for (std::size_t i = row * keys_; i < (row + 1) * keys_; ++i)
                if (weights_[i] != 0) shares.push_back(weights_[i]);
            const bool equal = std::all_of(shares.begin(), shares.end(),
                                           [&](double w) { return std::fabs(w - shares[0]) <= 8 * sequence_.unit * shares[0]; });
            if (!equal && shares.size() < keys_) return false;
            several = several || (equal && shares.size() > 1 && shares.size() < keys_);
        }
        return several;
    }

    const Sequence& sequence_;
    const std::vector<double>& weights_;
    const std::vector<IntendedMask>& intended_;
    const Keep observed_;
    const std::size_t rows_, keys_;
    const double tolerance_;
    std::int64_t wrong_sums_ = 0;
    Keep meant_;
};

}  // namespace

void suspect_sums_of_weights(const Sequence& sequence, const std::vector<IntendedMask>& intended, Judgement& judgement) {
    if (std::optional<Suspect> suspect = WeightsAlone(sequence, intended).suspect_of_sums()) {
        suspect->first_failure = static_cast<int>(Part::Context);
        judgement.suspects = {std::move(*suspect)};
    }
}

void judge_weights_alone(const Sequence& sequence, const std::vector<IntendedMask>& intended, Judgement& judgement) {
    if (!sequence.has(Part::Weights) || judgement.outcome.parts[static_cast<std::size_t>(Part::Weights)]) return;
    WeightsAlone(sequence, intended).run(judgement);
}

}  // namespace attn::doctor
