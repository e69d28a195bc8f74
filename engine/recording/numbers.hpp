#pragma once
/// The arithmetic of attention on recorded numbers, in double precision, with the rounding that the recorded code may have done.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"

namespace attn::recording {

/// Larger tensors are not computed with.
inline constexpr std::int64_t kMostNumbers = std::int64_t{1} << 26;

/// A tensor whose axes have letters. Row-major; an axis of size 1 holds for all.
struct Numbers {
    std::string axes;
    std::vector<std::int64_t> shape;  ///< as long as `axes`
    std::vector<double> values;
    std::vector<double> slack;  ///< how far each number of the recorded code may be from this one, through rounding; as long as `values`
    double eps = 0;             ///< of the recorded code's numbers: the distance from 1 to the next one

    std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
    /// The size along a letter; 1 if the tensor lacks it.
    std::int64_t size(char letter) const;
};

/// The distance from 1 to the next number; 0 for integers.
double eps_of(DType dtype);
/// The nearest number of a type with this distance from 1 to the next: double, float, half or bfloat16. Of other types: as it is.
double rounded(double number, double eps);
/// Whether both are this number; so are two NaN.
bool is_same(double a, double b);
/// Recorded numbers have no slack. Throws FileError(Schema) naming `source` if there are not as many axes as letters.
Numbers numbers_of(const NamedArray& array, const std::string& axes, const std::string& source);

/// Sum over the letter `summed` of a times b; `repeat` heads of the result share a head of what has the letter G.
Numbers product_over(const Numbers& a, const Numbers& b, const std::string& axes, char summed, std::int64_t repeat);
Numbers scaled_by(Numbers numbers, double factor);
/// Vectors along a letter, each divided by its length (by 10⁻⁸ if it is shorter).
Numbers of_length_one(Numbers numbers, char letter);
/// cap · tanh(x / cap)
Numbers capped_at(Numbers numbers, double cap);
/// Along a letter; a row of −∞ alone becomes NaN.
Numbers softmax_along(Numbers numbers, char letter);
/// `mask` is of 0 and 1; where it is `hidden`, the number becomes `fill`.
Numbers filled(Numbers numbers, const Numbers& mask, bool hidden, double fill);
/// Keys after the query become `fill`.
Numbers filled_ahead(Numbers numbers, double fill);
Numbers plus(Numbers numbers, const Numbers& bias);
/// Cell by cell.
Numbers times(Numbers numbers, const Numbers& factors);
/// A norm over the last axis: (x − mean) / √(variance + eps) · gain + shift, or without the mean. Empty: no gain, or no shift.
struct NormRule {
    std::vector<double> gain, shift;
    bool has_mean = true;
    double eps = 0;
};
Numbers normed(Numbers numbers, const NormRule& rule);
/// What feed-forward layers bend numbers with.
enum class Curve : std::uint8_t { Relu, Gelu, GeluTanh, Silu, Tanh, Sigmoid };
/// a + b, of which the one with fewer numbers holds for all of the other.
Numbers sum_of(Numbers a, Numbers b);
Numbers bent(Numbers numbers, Curve curve);
/// [B,H,T,D] as [B,T,H·D], or as [B,T,D·H] if the width is the `outer` of the two.
Numbers joined_heads(const Numbers& context, bool width_is_outer);
/// x · W + b for x of BTC; W is [out, in], or [in, out] if `transposed`.
struct LinearMap {
    const NamedArray& weight;
    const NamedArray* bias;
    bool transposed;
    std::int64_t first;  ///< the channel of the result from which on channels are cut into heads
};
/// `axes` and `shape` are those of the result, whose positions are those of x.
Numbers mapped(const Numbers& x, const LinearMap& map, const std::string& axes, std::span<const std::int64_t> shape,
               const std::string& source);

}  // namespace attn::recording
