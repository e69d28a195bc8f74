#pragma once
/// Numbers as text that gives back the very same float, whether it is read as a float or as a double first.

#include <string>

namespace attn {

/// How a format writes what is no ordinary number.
struct OddNumberNames {
    const char *nan = "nan", *infinity = "inf", *minus_infinity = "-inf";
};

/// Appends the shortest decimal that reads back exactly.
void append_number(std::string& out, float value, const OddNumberNames& names = {});
std::string number_text(float value, const OddNumberNames& names = {});

}  // namespace attn
