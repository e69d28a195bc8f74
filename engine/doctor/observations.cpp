#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/doctor/diagnose.hpp"

namespace attn::doctor {
namespace {

/// If the largest weight of a row is at least this on average, the head is practically a lookup.
constexpr double kSaturated = 0.99;
/// With at least this share of the maximum entropy the head makes no choice.
constexpr double kUniform = 0.9999;

/// Sums over the rows of a head that have more than one allowed key.
struct HeadSums {
    double largest = 0, entropy_share = 0;
    std::int64_t rows = 0;
};

class Observer {
public:
    Observer(const Attention& attention, const std::vector<Judgement>& judgements, bool wrong)
        : attention_(attention), judgements_(judgements), wrong_(wrong) {}

    std::vector<Finding> run() {
        if (attention_.sequences.empty()) return {};
        empty_rows();
        if (attention_.sequences.front().has(Part::Weights)) {
            if (attention_.sequences.front().sinks.empty()) row_sums();
            choices();
        }
        spreads();
        return std::move(out_);
    }

private:
    void add(Severity severity, Part part, std::vector<std::int64_t> cell, std::string sentence, std::int64_t head = -1) {
        out_.push_back({severity, attention_.prefix, std::string(part_name(part)), std::move(cell), head, std::move(sentence)});
    }

    bool row_kept(std::size_t b, std::size_t row) const {
        const Keep& keep = *judgements_[b].intended.keep;
        const auto keys = static_cast<std::ptrdiff_t>(attention_.sequences[b].keys), first = static_cast<std::ptrdiff_t>(row) * keys;
        return std::any_of(keep.begin() + first, keep.begin() + first + keys, [](std::uint8_t k) { return k != 0; });
    }
    /// Whether a row of the weights has NaN, which hides what its mask was.
    bool is_nan(std::size_t b, std::size_t row) const {
        const std::vector<double>& weights = attention_.sequences[b][Part::Weights];
        const auto keys = static_cast<std::ptrdiff_t>(attention_.sequences[b].keys), first = static_cast<std::ptrdiff_t>(row) * keys;
        return !weights.empty() &&
               std::any_of(weights.begin() + first, weights.begin() + first + keys, [](double w) { return std::isnan(w); });
    }
    std::size_t rows(std::size_t b) const {
        return static_cast<std::size_t>(attention_.sequences[b].heads * attention_.sequences[b].queries);
    }

    /// Reports queries that may attend to no key.
    void empty_rows() {
        std::int64_t count = 0;
        std::string first;
        for (std::size_t b = 0; b < attention_.sequences.size(); ++b)
            for (std::size_t row = 0; row < rows(b); ++row) {
                if (row_kept(b, row) || (judgements_[b].intended.observed && is_nan(b, row))) continue;
                const std::int64_t queries = attention_.sequences[b].queries;
                if (count++ == 0)
                    first = fmt::format("query {} of head {} in sequence {}", static_cast<std::int64_t>(row) % queries,
                                        static_cast<std::int64_t>(row) / queries, b);
            }
        if (count == 0) return;
        add(Severity::Warning, Part::Masked, {},
            fmt::format("{} row{} of the maps {} fully masked, first that of {}: programs give zeros, equal weights or NaN there.", count,
                        count == 1 ? "" : "s", count == 1 ? "is" : "are", first));
    }

    void row_sums() {
        double least = 1, most = 1;
        std::vector<std::int64_t> cell;
        for (std::size_t b = 0; b < attention_.sequences.size(); ++b) {
            const Sequence& sequence = attention_.sequences[b];
            for (std::size_t row = 0; row < rows(b); ++row) {
                double sum = 0;
                for (std::size_t s = 0; s < static_cast<std::size_t>(sequence.keys); ++s)
                    sum += sequence[Part::Weights][row * static_cast<std::size_t>(sequence.keys) + s];
                if (!row_kept(b, row) || std::isnan(sum) || std::fabs(sum - 1) <= std::max(1e-5, 8 * sequence.unit)) continue;
                if (cell.empty())
                    cell = attention_.cell(Part::Weights, static_cast<std::int64_t>(b), static_cast<std::int64_t>(row) * sequence.keys);
                least = std::min(least, sum);
                most = std::max(most, sum);
            }
        }
        if (!cell.empty())
            add(Severity::Warning, Part::Weights, cell,
                fmt::format("Rows of the weights do not sum to 1: the sums lie between {:.4g} and {:.4g}.", least, most));
    }

    void choices() {
        const auto heads = static_cast<std::size_t>(attention_.sequences.front().heads);
        std::vector<HeadSums> sums(heads);
        for (std::size_t b = 0; b < attention_.sequences.size(); ++b) add_choices(b, sums);
        std::vector<std::size_t> uniform;
        for (std::size_t h = 0; h < heads; ++h) {
            if (sums[h].rows == 0) continue;
            const double n = static_cast<double>(sums[h].rows);
            if (sums[h].largest / n > kSaturated)
                add(Severity::Warning, Part::Weights, {},
                    fmt::format("Head {} is saturated: its rows put {:.3f} of their weight on one key.", h, sums[h].largest / n),
                    static_cast<std::int64_t>(h));
            if (sums[h].entropy_share / n > kUniform) uniform.push_back(h);
        }
        const bool all = uniform.size() == heads && heads > 1;
        if (all && !wrong_) add(Severity::Warning, Part::Weights, {}, "Every head is uniform: the parameters may not have been loaded.");
        if (!all)  // all may be uniform because of the mistake
            for (const std::size_t h : uniform)
                add(Severity::Warning, Part::Weights, {}, fmt::format("Head {} is uniform: it gives all its keys the same weight.", h),
                    static_cast<std::int64_t>(h));
    }

    void add_choices(std::size_t b, std::vector<HeadSums>& sums) const {
        const Sequence& sequence = attention_.sequences[b];
        const auto keys = static_cast<std::size_t>(sequence.keys);
        for (std::size_t row = 0; row < rows(b); ++row) {
            double largest = 0, entropy = 0, sum = 0;
            std::int64_t choices = 0;
            for (std::size_t i = row * keys; i < (row + 1) * keys; ++i) {
                const double w = sequence[Part::Weights][i];
                choices += (*judgements_[b].intended.keep)[i] != 0 || w > 0;  // what leaks through a mask is a choice, too
                sum += w;
                largest = std::max(largest, w);
                if (w > 0) entropy -= w * std::log(w);
            }
            if (choices < 2 || !(std::fabs(sum - 1) < 0.02)) continue;
            HeadSums& head = sums[row / static_cast<std::size_t>(sequence.queries)];
            head.largest += largest;
            head.entropy_share += entropy / std::log(static_cast<double>(choices));
            ++head.rows;
        }
    }

    static double deviation(const std::vector<double>& values) {
        double sum = 0, squares = 0, n = 0;
        for (const double x : values) {
            if (!std::isfinite(x)) continue;
            sum += x;
            squares += x * x;
            n += 1;
        }
        return n < 2 ? 0 : std::sqrt(std::max(0.0, squares / n - sum / n * sum / n));
    }

    /// Products of independent numbers have a spread of √d_head; scaled, they should have the spread of the numbers themselves.
    void spreads() {
        const Sequence& sequence = attention_.sequences.front();
        if (!sequence.has(Part::Scaled) || sequence.head_size < 4 || sequence.map_size() < 16) return;
        const double spread = deviation(sequence[Part::Scaled]), root = std::sqrt(static_cast<double>(sequence.head_size));
        if (spread <= root) return;
        const Judgement& judged = judgements_.front();
        const bool scaling_is_right = !wrong_ && judged.right && judged.telling;
        add(Severity::Warning, Part::Scaled, {},
            fmt::format("The scaled scores spread by {:.2f}, more than √d_head = {:.2f}: {}.", spread, root,
                        scaling_is_right ? "q and k are large" : "either the scaling is missing or q and k are large"));
    }

    const Attention& attention_;
    const std::vector<Judgement>& judgements_;
    const bool wrong_;
    std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> observations(const Attention& attention, const std::vector<Judgement>& judgements, bool wrong) {
    return Observer(attention, judgements, wrong).run();
}

}  // namespace attn::doctor
