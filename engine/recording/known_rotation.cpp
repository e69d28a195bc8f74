#include "engine/recording/known_rotation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

namespace attn::recording {
namespace {

constexpr double kSameBase = 1e-3;  ///< relative

/// A head's numbers at all positions, before and after they were turned.
class Turned {
public:
    Turned(const Numbers& before, const Numbers& after)
        : before_(before), after_(after), width_(before.shape.back()), positions_(before.shape[before.shape.size() - 2]),
          tolerance_(std::max(1e-4, 8 * std::max(before.eps, after.eps))) {}

    std::int64_t width() const { return width_; }

    /// Up to the last number that changed, which is even.
    std::int64_t changed() const {
        std::int64_t last = -1;
        for (std::int64_t i = 0; i < before_.count(); ++i)
            if (before_.values[static_cast<std::size_t>(i)] != after_.values[static_cast<std::size_t>(i)])
                last = std::max(last, i % width_);
        return (last + 2) / 2 * 2;
    }

    /// The rotation of the first `size` numbers, paired in one of the two ways; nothing if it is none.
    std::optional<RotationForm> form(std::int64_t size, bool neighbours) const {
        std::vector<double> frequencies;
        for (std::int64_t pair = 0; pair < size / 2; ++pair) {
            const std::int64_t first = neighbours ? 2 * pair : pair, second = neighbours ? first + 1 : pair + size / 2;
            const std::optional<double> frequency = frequency_of(first, second);
            if (!frequency) return {};
            frequencies.push_back(*frequency);
        }
        RotationForm form{neighbours, base_of(frequencies, size), size};
        for (std::size_t i = 0; i < frequencies.size(); ++i) {
            const double expected = std::pow(form.base, -2 * static_cast<double>(i) / static_cast<double>(size));
            if (!(std::abs(frequencies[i] - expected) <= kSameBase * expected + tolerance_ / static_cast<double>(positions_))) return {};
        }
        return form;
    }

    /// By which angle a pair turned at a position; nothing if its numbers in all heads did not turn alike.
    std::optional<double> angle_at(std::int64_t position, std::int64_t first, std::int64_t second) const {
        std::complex<double> turn = 0;
        double size = 0, rest = 0;
        const auto at = [&](const Numbers& numbers, std::int64_t row) {
            const double* values = numbers.values.data() + (row * positions_ + position) * width_;
            return std::complex<double>(values[first], values[second]);
        };
        const std::int64_t rows = before_.count() / (positions_ * width_);
        for (std::int64_t row = 0; row < rows; ++row) {
            turn += at(after_, row) * std::conj(at(before_, row));
            size += std::norm(at(before_, row));
        }
        if (!(size > 0)) return {};
        const std::complex<double> unit = turn / size;
        for (std::int64_t row = 0; row < rows; ++row)
            rest += std::norm(at(after_, row) - std::polar(1.0, std::arg(unit)) * at(before_, row));
        if (!(std::sqrt(rest / size) <= tolerance_)) return {};
        return std::arg(unit);
    }

private:
    /// How far a pair turns from a position to the next: ever more exactly, as later positions turn farther.
    std::optional<double> frequency_of(std::int64_t first, std::int64_t second) const {
        const std::optional<double> start = angle_at(0, first, second);
        if (!start || std::abs(*start) > tolerance_) return {};
        double frequency = 0;
        for (std::int64_t position = 1; position < positions_; ++position) {
            const std::optional<double> angle = angle_at(position, first, second);
            if (!angle) return {};
            const double turns = std::round((static_cast<double>(position) * frequency - *angle) / (2 * std::numbers::pi));
            frequency = (*angle + 2 * std::numbers::pi * turns) / static_cast<double>(position);
        }
        return frequency;
    }

    /// From the pair that tells it best, and as round a number as that allows.
    static double base_of(const std::vector<double>& frequencies, std::int64_t size) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < frequencies.size(); ++i)
            if (best == 0 || frequencies[i] * static_cast<double>(i) > frequencies[best] * static_cast<double>(best)) best = i;
        if (best == 0 || !(frequencies[best] > 0)) return RotationForm().base;  // a single pair turns by 1 with every base
        const double base = std::pow(frequencies[best], -static_cast<double>(size) / (2 * static_cast<double>(best)));
        for (double unit = std::pow(10, std::floor(std::log10(base))); unit >= 1; unit /= 10)
            if (const double round = std::round(base / unit) * unit; std::abs(round - base) <= kSameBase * base / 5) return round;
        return base;
    }

    const Numbers &before_, &after_;
    std::int64_t width_, positions_;
    double tolerance_;
};

}  // namespace

bool KnownRotation::keep(const Numbers& before, const Numbers& after) {
    if (before.shape != after.shape || before.shape.size() < 2 || before.count() == 0) return false;
    const Turned turned(before, after);
    for (const std::int64_t size : {turned.changed(), turned.width()})  // the last pairs may turn too little to be seen
        for (const bool neighbours : {false, true}) {
            if (size < 2 || size > turned.width() || size % 2 != 0) continue;
            const std::optional<RotationForm> found = turned.form(size, neighbours);
            if (!found) continue;
            if (!form_) form_ = found;
            return form_->neighbours == neighbours && form_->size == size && std::abs(found->base / form_->base - 1) <= kSameBase;
        }
    return false;
}

std::optional<double> turn_at(std::int64_t position, const Numbers& before, const Numbers& after, const RotationForm& form) {
    if (before.shape != after.shape || before.shape.size() < 2 || before.count() == 0 || before.shape.back() < form.size) return {};
    return Turned(before, after).angle_at(position, 0, form.neighbours ? 1 : form.size / 2);
}

std::vector<std::int64_t> halves_of_neighbours(const RotationForm& form, std::int64_t head_size) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(head_size));
    for (std::int64_t i = 0; i < head_size; ++i)
        places[static_cast<std::size_t>(i)] = i >= form.size ? i : i % 2 == 0 ? i / 2 : form.size / 2 + i / 2;
    return places;
}

}  // namespace attn::recording
