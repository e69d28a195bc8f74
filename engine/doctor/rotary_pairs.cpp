#include "engine/doctor/rotary_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn::doctor {
namespace {

double rounded_to_bits(double x, int bits) {
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

}  // namespace

std::int64_t width_in(const Rotation& rotation, std::int64_t size) { return rotation.width > 0 ? std::min(rotation.width, size) : size; }

Pair pair_of(const Rotation& rotation, std::int64_t width, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return rotation.halves ? Pair{at, at + static_cast<std::size_t>(width / 2)} : Pair{2 * at, 2 * at + 1};
}

double frequency(const Rotation& rotation, std::int64_t width, std::int64_t i) {
    return std::pow(rotation.base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
}

double stepped(const Rotation& rotation, std::int64_t position) {
    const auto exact = static_cast<double>(position);
    return rotation.steps == RotarySteps::Exact ? exact : rounded_to_bits(exact, rotation.steps == RotarySteps::Float16Positions ? 11 : 8);
}

double angle_at(const Rotation& rotation, std::int64_t width, std::int64_t i, std::int64_t position) {
    const double p = stepped(rotation, position), f = frequency(rotation, width, i);
    return rotation.steps == RotarySteps::Bfloat16Angles ? rounded_to_bits(p * rounded_to_bits(f, 8), 8) : p * f;
}

std::vector<double> bases(const Sequence& sequence) {
    return sequence.rotary_base ? std::vector<double>{*sequence.rotary_base} : std::vector<double>{10000, 500000, 1000000};
}

std::vector<std::int64_t> all_widths(std::int64_t size) {
    std::vector<std::int64_t> out = usual_rotary_widths(size);
    for (std::int64_t width = 2; width < size; width += 2)
        if (std::find(out.begin(), out.end(), width) == out.end()) out.push_back(width);
    return out;
}

std::vector<Rotation> pairings(const Sequence& sequence, std::int64_t size, std::vector<std::int64_t> widths) {
    if (sequence.rotary_width) widths = {std::min(*sequence.rotary_width, size)};
    std::vector<Rotation> out;
    for (const std::int64_t width : widths)
        for (const bool halves : {true, false}) {
            if (sequence.rotary_halves.value_or(halves) != halves) continue;
            Rotation rotation;
            rotation.halves = halves;
            rotation.width = width;
            out.push_back(rotation);
        }
    return out;
}

std::vector<std::int64_t> usual_rotary_widths(std::int64_t size) {
    std::vector<std::int64_t> out;
    // Quarters: GPT-NeoX, GPT-J and many others; two fifths: Phi-2; four fifths: CodeGen.
    for (const auto& [parts, of] : {std::pair{1, 1}, {1, 4}, {1, 2}, {3, 4}, {2, 5}, {4, 5}}) {
        const std::int64_t width = size * parts / of;
        if (width * of == size * parts && width >= 2 && width % 2 == 0) out.push_back(width);
    }
    return out;
}

}  // namespace attn::doctor
