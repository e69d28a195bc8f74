#pragma once
/// Number formatting, shared by cells, tooltips, readouts and exports so that they agree.

#include <cstdint>
#include <string>

namespace attn::app {

inline constexpr const char* kMasked = "masked";  ///< shown in place of a masked cell's number

struct NumberFormat {
    int decimals = 3;    ///< decimals of ordinary numbers, 0 to 9
    bool plus = false;   ///< show the sign of positive numbers
    bool fixed = false;  ///< never scientific: for axis ticks, whose magnitude is known
    bool ascii = false;  ///< '-' and "inf" instead of the typographic minus and ∞, for files
};

/// A rounded number: with `decimals` decimals between 0.01 and 1000; above, whole numbers up to five digits, then "1.23e6"; below, "4.2e−3"
/// as soon as fixed notation would leave fewer than two significant digits. 0 and −0 give "0"; also "∞", "−∞" and "NaN". Rounds the exact
/// value once, to nearest, so that texts of different precision never contradict each other.
std::string format_number(double value, const NumberFormat& format = {});

/// The shortest text that parses back to the same float.
std::string format_exact(float value, bool ascii = false);

/// Scientific notation, such as "2.4e−7".
std::string format_scientific(double value, int decimals = 1, bool ascii = false);

/// Whole numbers with thousands separators, such as "1,240".
std::string format_count(std::int64_t value);

/// The decimals (2, 1 or 0) with which numbers up to `largest` fit into `characters`; -1 if not even whole numbers fit.
int decimals_that_fit(double largest, int characters, bool negative);

/// The number of visible characters (the minus sign counts as one).
int number_length(const std::string& text);

}  // namespace attn::app
