#include <algorithm>
#include <cmath>
#include <complex>
#include <unordered_map>
#include <vector>

#include "engine/doctor/rotary_pairs.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

/// What a rotation turns the pairs by, for every distance between query and key. Kept, because thousands of shifts are tried and sines take
/// nearly all of the time.
class Turns {
public:
    Turns(const Rotation& rotation, std::int64_t head_size) {
        const std::int64_t width = width_in(rotation, head_size);
        for (std::int64_t i = 0; i < width / 2; ++i) frequencies_.push_back(frequency(rotation, width, i));
    }
    const std::vector<std::complex<double>>& at(std::int64_t distance) {
        const auto [place, fresh] = by_distance_.try_emplace(distance);
        if (fresh)
            for (const double f : frequencies_) place->second.push_back(std::polar(1.0, f * static_cast<double>(distance)));
        return place->second;
    }

private:
    std::vector<double> frequencies_;
    std::unordered_map<std::int64_t, std::vector<std::complex<double>>> by_distance_;
};

/// Products of the pairs of one query and one key; the score under any rotation is a weighted sum of them.
struct Cell {
    std::int64_t t = 0, s = 0;
    double seen = 0;  ///< the score, or the log of the weight
    std::size_t row = 0;
    std::vector<std::complex<double>> products;
    double unturned = 0;  ///< product of the dimensions that are not rotated
    double at(Turns& turns, std::int64_t shift) const {
        double sum = unturned;
        const std::vector<std::complex<double>>& turn = turns.at(t + shift - s);
        for (std::size_t i = 0; i < products.size(); ++i) sum += std::real(products[i] * turn[i]);
        return sum;
    }
};

/// A few rows of the first recorded stage after q kᵀ.
class Sample {
    static constexpr std::int64_t kMostRows = 64;

public:
    /// The base of `pairing` does not matter.
    Sample(const Sequence& sequence, const Rotation& pairing) : size_(sequence.head_size), pairing_(pairing) {
        const std::vector<double> q = final_queries(sequence), k = final_keys(sequence);
        const std::optional<Part> part = stage(sequence);
        if (q.empty() || k.empty() || !part) return;
        within_rows_ = *part == Part::Weights;
        constexpr std::int64_t kMaxInRow = 32;
        constexpr std::size_t kMaxCells = 256;
        const std::int64_t rows = sequence.heads * sequence.queries, tried = std::min(rows, kMostRows);
        const std::int64_t step = std::max<std::int64_t>(1, sequence.keys / kMaxInRow);
        for (std::int64_t n = 0; n < tried && cells_.size() < kMaxCells; ++n) {
            // Spread over all rows: 29 and 64 are coprime.
            const std::int64_t row = (2 * (n * 29 % tried) + 1) * rows / (2 * tried), h = row / sequence.queries;
            std::vector<std::int64_t> keys;
            std::vector<double> seen;
            for (std::int64_t s = 0; s < sequence.keys; s += step) {
                double x = sequence[*part][static_cast<std::size_t>(row * sequence.keys + s)];
                if (within_rows_) x = x > 1e-6 ? sequence.temperature * std::log(x) : kForbidding;
                if (!(std::fabs(x) < -kForbidding)) continue;
                keys.push_back(s);
                seen.push_back(x);
            }
            // Equal weights reveal nothing about scores.
            if (within_rows_ && std::all_of(seen.begin(), seen.end(), [&](double x) { return x == seen.front(); })) continue;
            for (std::size_t i = 0; i < keys.size(); ++i)
                add(row % sequence.queries, keys[i], seen[i], n, &q[static_cast<std::size_t>(row * size_)],
                    &k[static_cast<std::size_t>((h * sequence.keys + keys[i]) * size_)]);
        }
    }

    /// The fraction of the observed variation that scores under this rotation leave unexplained, up to a factor.
    double unexplained(Turns& turns, std::int64_t shift) const { return left_by(scores(turns, shift)); }

    /// The same if the scores may be soft-capped at any number.
    double unexplained_if_capped(Turns& turns, std::int64_t shift) const {
        const std::vector<double> plain = scores(turns, shift);
        double squares = 0;
        for (const double x : plain) squares += x * x;
        const double spread = std::sqrt(squares / std::max(1.0, static_cast<double>(plain.size())));
        double least = left_by(plain);
        for (const double part : {2.0, 1.0, 0.5, 0.25, 0.125, 0.0625}) {
            std::vector<double> capped = plain;
            for (double& x : capped) x = std::tanh(x / (part * spread));
            least = std::min(least, left_by(std::move(capped)));
        }
        return least;
    }

private:
    std::vector<double> scores(Turns& turns, std::int64_t shift) const {
        std::vector<double> out;
        for (const Cell& cell : cells_) out.push_back(cell.at(turns, shift));
        return out;
    }

    /// The fraction of the observed variation that `x`, times a factor, leaves unexplained.
    double left_by(std::vector<double> x) const {
        if (cells_.size() < 2) return 1;
        std::vector<double> y;
        for (const Cell& cell : cells_) y.push_back(cell.seen);
        if (within_rows_) {
            take_off_means(x);
            take_off_means(y);
        }
        double xx = 0, xy = 0, yy = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            xx += x[i] * x[i];
            xy += x[i] * y[i];
            yy += y[i] * y[i];
        }
        return xx > 0 && yy > 0 && xy > 0 ? std::max(0.0, 1 - xy / xx * xy / yy) : 1;
    }

    static std::optional<Part> stage(const Sequence& sequence) {
        for (const Part part : {Part::Scores, Part::Scaled, Part::Masked, Part::Weights})
            if (sequence.has(part)) return part;
        return std::nullopt;
    }

    void add(std::int64_t t, std::int64_t s, double seen, std::int64_t row, const double* q, const double* k) {
        Cell cell{t, s, seen, static_cast<std::size_t>(row), {}};
        const std::int64_t width = width_in(pairing_, size_);
        for (std::int64_t i = 0; i < width / 2; ++i) {
            const Pair pair = pair_of(pairing_, width, i);
            cell.products.push_back(std::complex(q[pair.first], q[pair.second]) * std::conj(std::complex(k[pair.first], k[pair.second])));
        }
        for (std::int64_t d = width; d < size_; ++d) cell.unturned += q[d] * k[d];
        cells_.push_back(std::move(cell));
    }

    void take_off_means(std::vector<double>& values) const {
        std::vector<double> sums(kMostRows, 0), counts(kMostRows, 0);
        for (std::size_t i = 0; i < values.size(); ++i) {
            sums[cells_[i].row] += values[i];
            counts[cells_[i].row] += 1;
        }
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= sums[cells_[i].row] / counts[cells_[i].row];
    }

    const std::int64_t size_;
    const Rotation pairing_;
    bool within_rows_ = false;  ///< weights give scores up to a constant per row
    std::vector<Cell> cells_;
};

struct Candidate {
    Rotation rotation;
    double unexplained = 1;
};

}  // namespace

std::vector<Rotation> hidden_rotations(const Sequence& sequence) {
    constexpr double kMaxUnexplained = 0.02;
    std::vector<Candidate> right, shifted;
    const std::vector<std::int64_t> usual = usual_rotary_widths(sequence.head_size);
    for (const Rotation& pairing : pairings(sequence, sequence.head_size, all_widths(sequence.head_size))) {
        const Sample sample(sequence, pairing);
        for (const double base : bases(sequence)) {
            Rotation rotation = pairing;
            rotation.base = base;
            Turns turns(rotation, sequence.head_size);
            const auto look = [&](std::int64_t shift, double unexplained, std::vector<Candidate>& found) {
                rotation.first_query = shift;
                if (unexplained < kMaxUnexplained) found.push_back({rotation, unexplained});
            };
            const std::int64_t meant = sequence.first_query();
            look(meant, sample.unexplained_if_capped(turns, meant), right);
            // Two unusual things at once are not looked for.
            if (!sequence.rotary_width && std::find(usual.begin(), usual.end(), rotation.width) == usual.end()) continue;
            constexpr std::int64_t kFarthest = 128;
            for (std::int64_t away = 1; away <= kFarthest; ++away)
                for (const std::int64_t shift : {meant + away, meant - away}) look(shift, sample.unexplained(turns, shift), shifted);
            if (meant > kFarthest) look(0, sample.unexplained(turns, 0), shifted);
        }
    }
    const auto likelier = [](const Candidate& a, const Candidate& b) { return a.unexplained < b.unexplained; };
    std::stable_sort(right.begin(), right.end(), likelier);
    std::stable_sort(shifted.begin(), shifted.end(), likelier);
    constexpr std::size_t kMost = 6;
    std::vector<Rotation> out;
    for (const std::vector<Candidate>* candidates : {&right, &shifted})
        for (std::size_t i = 0; i < std::min(candidates->size(), kMost); ++i) out.push_back((*candidates)[i].rotation);
    return out;
}

}  // namespace attn::doctor
