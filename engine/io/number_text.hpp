#pragma once
/// Floats as decimal text that reads back exactly, whether parsed as a float or as a double first.

#include <string>

namespace attn {

/// How a format writes NaN and infinities.
struct OddNumberNames {
    const char *nan = "nan", *infinity = "inf", *minus_infinity = "-inf";
};

/// Appends the shortest decimal that reads back exactly.
void append_number(std::string& out, float value, const OddNumberNames& names = {});
std::string number_text(float value, const OddNumberNames& names = {});

}  // namespace attn
