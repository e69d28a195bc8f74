#pragma once
/// Which dimensions of a head a rotation pairs, and the ways that it may do so.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// How many of a head's `size` dimensions are rotated.
std::int64_t width_in(const Rotation& rotation, std::int64_t size);

struct Pair {
    std::size_t first = 0, second = 0;  ///< dimensions
};
Pair pair_of(const Rotation& rotation, std::int64_t width, std::int64_t i);
/// The angle by which pair i of a rotation over `width` dimensions turns from one position to the next.
/// The position as the rotation's program holds it.
double stepped(const Rotation& rotation, std::int64_t position);
/// What pair i is rotated by at a position.
double angle_at(const Rotation& rotation, std::int64_t width, std::int64_t i, std::int64_t position);
double frequency(const Rotation& rotation, std::int64_t width, std::int64_t i);

/// The bases that may be meant: the one that the file states, or the usual ones.
std::vector<double> bases(const Sequence& sequence);
/// The numbers of a head's `size` dimensions that models rotate: all first, then the usual parts of them.
std::vector<std::int64_t> usual_rotary_widths(std::int64_t size);
/// The same, then all other even widths.
std::vector<std::int64_t> all_widths(std::int64_t size);
/// How pairs may be formed with each of these widths, or the one that the file states; the base is left open.
std::vector<Rotation> pairings(const Sequence& sequence, std::int64_t size, std::vector<std::int64_t> widths);

}  // namespace attn::doctor
