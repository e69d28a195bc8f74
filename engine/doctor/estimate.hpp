#pragma once
/// Attention recomputed in double, with bounds on how far the recording's own rounding may have moved every number.

#include <cstdint>
#include <vector>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// Numbers, each with the largest difference from the recording that rounding can explain; infinite if anything may be recorded there.
struct Estimate {
    std::vector<double> value;
    std::vector<double> slack;  ///< empty: exact
    double slack_at(std::size_t i) const { return slack.empty() ? 0 : slack[i]; }
};

/// Rounding errors of the program that made the recording.
struct Rounding {
    double unit = 0x1p-24;         ///< relative error of a stored number
    double accumulated = 0x1p-24;  ///< relative error of each addition in a product; sums of 16-bit numbers are accumulated in 32 bits
    double product = 0;            ///< additional relative error of a product's factors, if a GPU truncates them
};
Rounding rounding_of(const Sequence& sequence);
/// Absolute error of the smallest numbers in the recording's format, which have fewer digits or are flushed to 0.
double least(const Rounding& rounding);

/// How far the sum of a softmax row may differ from 1.
double sum_tolerance(const Sequence& sequence);

/// How heads are extracted from packed rows: where dimension d of head h at position p comes from.
enum class Packing : std::uint8_t {
    Heads,       ///< column hD + d of row p: correct
    Reshape,     ///< the packed rows in memory order, without a transpose
    Interleave,  ///< column dH + h of row p
};

enum class SoftmaxAxis : std::uint8_t { Keys, Queries, Heads };

/// heads [H,P,D] out of packed [P,HD].
Estimate unpack(const Estimate& packed, Packing packing, std::int64_t heads, std::int64_t positions, std::int64_t size);
/// Keys or values [H,P,D] for all query heads, from `stored` shared ones, each repeated consecutively.
Estimate repeat_heads(const Estimate& rows, std::int64_t stored, std::int64_t heads);
/// Reorders repeated heads as a program would that tiles them: query head h gets head h % stored.
Estimate tile_heads(const Estimate& repeated, std::int64_t stored, std::int64_t heads);
/// packed [P,HD] out of heads [H,P,D].
Estimate pack(const Estimate& heads, Packing packing, std::int64_t count, std::int64_t positions, std::int64_t size);
/// a [H,T,D] times the transpose of b [H,S,D].
Estimate products(const Estimate& a, const Estimate& b, std::int64_t heads, std::int64_t rows, std::int64_t columns, std::int64_t size,
                  const Rounding& rounding);
Estimate scaled(const Estimate& x, double factor, const Rounding& rounding);
/// scaled + bias, -inf where not kept. The biases may be wrong by up to bias_error.
Estimate masked(const Estimate& scaled, const Keep& keep, const std::vector<double>& bias, double bias_error, const Rounding& rounding);
/// Softmax of masked / temperature along an axis of [H,T,S]; over keys, sinks [H] take part in each row if there are any. A line without
/// any score above kForbidding may contain anything: programs give NaN, zeros or equal shares.
Estimate softmax(const Estimate& masked, SoftmaxAxis axis, double temperature, const Sequence& sizes, const Rounding& rounding,
                 const std::vector<double>& sinks = {});
/// map [H,T,S] times rows [H,S,D].
Estimate weighted_rows(const Estimate& map, const Estimate& rows, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                       std::int64_t size, const Rounding& rounding);

/// How a recording compares with an estimate.
struct Comparison {
    double max_error = 0;               ///< largest |recorded - expected|; infinite if exactly one of them is NaN
    double max_excess = 0;              ///< largest error in units of its slack; above 1 the recording differs
    std::int64_t first = -1;            ///< first differing cell
    double recorded = 0, expected = 0;  ///< at that cell
    std::int64_t differing = 0;         ///< number of differing cells
    std::int64_t nan = 0;               ///< how many of them are recorded as NaN
    std::int64_t judged = 0;            ///< number of cells in which not just anything is allowed
    std::int64_t exact = 0;             ///< how many of those agree exactly, such as zeros and ones of masked weights
    double squares = 0;                 ///< sum of their squared errors
    double recorded_squares = 0;        ///< sum of their squared recorded values
    bool ok() const { return first < 0; }
    /// Root-mean-square error in relation to the recorded numbers, in units of their rounding.
    double deviation(const Rounding& rounding) const;
};
/// Where -inf is expected, as in masked scores, any number below kForbidding agrees; where +inf is, any above -kForbidding.
Comparison compare(const std::vector<double>& recorded, const Estimate& expected);

}  // namespace attn::doctor
