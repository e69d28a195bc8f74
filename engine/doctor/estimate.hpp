#pragma once
/// Attention recomputed in double together with how far the recording's own rounding may have carried every number.

#include <cstdint>
#include <vector>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// Numbers and, for each, the largest difference from the recording that rounding explains; infinite where anything may be recorded.
struct Estimate {
    std::vector<double> value;
    std::vector<double> slack;  ///< empty: exact
    double slack_at(std::size_t i) const { return slack.empty() ? 0 : slack[i]; }
};

/// How the recorded program rounded.
struct Rounding {
    double unit = 0x1p-24;         ///< relative error of a stored number
    double accumulated = 0x1p-24;  ///< relative error of each addition of a product: sums of 16-bit numbers are kept in 32 bits
    double product = 0;            ///< relative error of the factors of a product beyond that, where a GPU shortens them
};
Rounding rounding_of(const Sequence& sequence);
/// What the smallest numbers of the recording's format may be off by: they have fewer digits, or are flushed to 0.
double least(const Rounding& rounding);

/// How far the sum of a softmax's row may be from 1.
double sum_tolerance(const Sequence& sequence);

/// Heads out of packed rows: where dimension d of head h at position p comes from.
enum class Packing : std::uint8_t {
    Heads,       ///< column hD + d of row p: what is right
    Reshape,     ///< the packed rows' numbers in their order, without a transpose
    Interleave,  ///< column dH + h of row p
};

enum class SoftmaxAxis : std::uint8_t { Keys, Queries, Heads };

/// heads [H,P,D] out of packed [P,HD].
Estimate unpack(const Estimate& packed, Packing packing, std::int64_t heads, std::int64_t positions, std::int64_t size);
/// Keys or values [H,P,D] of all query heads out of `stored` ones that they share: each several times in a row.
Estimate repeat_heads(const Estimate& rows, std::int64_t stored, std::int64_t heads);
/// The same repeated heads in the order of a program that tiles them: query head h gets head h % stored.
Estimate tile_heads(const Estimate& repeated, std::int64_t stored, std::int64_t heads);
/// packed [P,HD] out of heads [H,P,D].
Estimate pack(const Estimate& heads, Packing packing, std::int64_t count, std::int64_t positions, std::int64_t size);
/// a [H,T,D] times b [H,S,D] transposed.
Estimate products(const Estimate& a, const Estimate& b, std::int64_t heads, std::int64_t rows, std::int64_t columns, std::int64_t size,
                  const Rounding& rounding);
Estimate scaled(const Estimate& x, double factor, const Rounding& rounding);
/// scaled + bias, -inf where not kept. The biases may be off by `bias_error`.
Estimate masked(const Estimate& scaled, const Keep& keep, const std::vector<double>& bias, double bias_error, const Rounding& rounding);
/// Softmax of masked / temperature along an axis of [H,T,S]. A line without any score above kForbidding may hold anything: programs
/// give NaN, zeros or equal shares.
Estimate softmax(const Estimate& masked, SoftmaxAxis axis, double temperature, const Sequence& sizes, const Rounding& rounding);
/// map [H,T,S] times rows [H,S,D].
Estimate weighted_rows(const Estimate& map, const Estimate& rows, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                       std::int64_t size, const Rounding& rounding);

/// How a recording compares with an estimate.
struct Comparison {
    double max_error = 0;               ///< largest |recorded - expected|; infinite where one is not a number and the other is
    double max_excess = 0;              ///< largest error in units of its slack; above 1 the recording differs
    std::int64_t first = -1;            ///< first cell that differs
    double recorded = 0, expected = 0;  ///< at that cell
    std::int64_t differing = 0;         ///< how many do
    std::int64_t nan = 0;               ///< how many of these are recorded as NaN
    std::int64_t judged = 0;            ///< cells where not anything goes
    std::int64_t exact = 0;             ///< how many of these are recorded to the last digit: the zeros and ones of masked weights
    double squares = 0;                 ///< sum of the squared errors of these
    double recorded_squares = 0;        ///< sum of their own squares
    bool ok() const { return first < 0; }
};
/// Where -inf is expected, as in a masked map, any number below kForbidding will do; where +inf is, any above -kForbidding.
Comparison compare(const std::vector<double>& recorded, const Estimate& expected);

}  // namespace attn::doctor
