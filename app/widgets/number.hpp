#pragma once
/// How numbers are written, everywhere: cells, tooltips, read-outs and exports agree because they all come here.

#include <cstdint>
#include <string>

namespace attn::app {

inline constexpr const char* kMasked = "masked";  ///< written instead of a masked cell's number

struct NumberFormat {
    int decimals = 3;    ///< digits after the point of ordinary numbers, 0 to 9
    bool plus = false;   ///< a positive number carries its sign
    bool fixed = false;  ///< never in powers of ten: for ticks, whose size is known
    bool ascii = false;  ///< '-' and "inf" instead of the true minus and ∞, for files
};

/// A rounded number: fixed with `decimals` digits between 0.01 and 1000; above, whole up to five digits, then "1.23e6"; below, "4.2e−3"
/// as soon as fixed digits would leave fewer than two significant ones. Exactly 0 (and −0) is "0"; "∞", "−∞", "NaN".
/// The value is the exact one rounded once, to nearest, so that coarser and finer texts never contradict each other.
std::string format_number(double value, const NumberFormat& format = {});

/// The shortest text that reads back as the same float.
std::string format_exact(float value, bool ascii = false);

/// One mantissa, one exponent: "2.4e−7".
std::string format_scientific(double value, int decimals = 1, bool ascii = false);

/// Whole numbers with thousands apart: "1,240".
std::string format_count(std::int64_t value);

/// Decimals (2, 1, 0) at which numbers as large as `largest` fit into `characters`; -1 when not even whole ones do.
int decimals_that_fit(double largest, int characters, bool negative);

/// Visible characters of a number's text (a minus sign counts as one).
int number_length(const std::string& text);

}  // namespace attn::app
