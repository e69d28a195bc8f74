#include "app/widgets/number.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace attn::app {
namespace {

struct Case {
    double value;
    NumberFormat format;
    const char* text;
};

TEST(Number, TableOfCases) {
    const double inf = std::numeric_limits<double>::infinity();
    const std::vector<Case> cases{
        {-0.9955, {.decimals = 4}, "−0.9955"},
        {-8.358, {.decimals = 3}, "−8.358"},
        {0.033, {.decimals = 3}, "0.033"},
        {5.984, {.decimals = 2}, "5.98"},
        {0.497, {.decimals = 3, .plus = true}, "+0.497"},
        {-0.4071, {.decimals = 3, .plus = true}, "−0.407"},
        {0.0, {}, "0"},
        {-0.0, {}, "0"},
        {0.0, {.plus = true}, "0"},
        {1, {.decimals = 0}, "1"},
        {0.3, {.decimals = 0}, "0.3"},
        {0.04, {.decimals = 1}, "0.04"},
        {0.01, {.decimals = 3}, "0.010"},
        {0.0042, {.decimals = 3}, "4.2e−3"},
        {0.0042, {.decimals = 4}, "0.0042"},
        {0.00042, {.decimals = 4}, "4.20e−4"},
        {0.0042, {.decimals = 2}, "4e−3"},
        {3e-5, {.decimals = 2}, "3e−5"},
        {999.9996, {.decimals = 3}, "1000"},
        {999.994, {.decimals = 2}, "999.99"},
        {1234.5678, {.decimals = 3}, "1235"},
        {-10000, {.decimals = 2}, "−10000"},
        {99999.7, {.decimals = 3}, "1.000e5"},
        {1.5e6, {.decimals = 2}, "1.50e6"},
        {-1e9, {.decimals = 0}, "−1e9"},
        {inf, {}, "∞"},
        {-inf, {}, "−∞"},
        {inf, {.plus = true}, "+∞"},
        {std::nan(""), {}, "NaN"},
        {-std::nan(""), {}, "NaN"},
        {-inf, {.ascii = true}, "-inf"},
        {-1.25, {.decimals = 2, .ascii = true}, "-1.25"},
        {-2.5e-7, {.decimals = 3, .ascii = true}, "-2.5e-7"},
        {5e-324, {.decimals = 3}, "4.9e−324"},
        {1e-45, {.decimals = 3}, "1.0e−45"},
    };
    for (const Case& c : cases) EXPECT_EQ(format_number(c.value, c.format), c.text) << c.value << " at " << c.format.decimals;
}

/// An independent parser that accepts the typographic minus and the short exponent.
double read(std::string text) {
    for (std::size_t at = 0; (at = text.find("−", at)) != std::string::npos;) text.replace(at, std::string("−").size(), "-");
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    EXPECT_EQ(*end, '\0') << text;
    return value;
}

TEST(Number, RoundedTextIsTheNearestWithItsDigits) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> mantissa(-10, 10);
    std::uniform_int_distribution<int> exponent(-12, 9), digits(0, 5);
    for (int i = 0; i < 20000; ++i) {
        const double value = mantissa(random) * std::pow(10.0, exponent(random));
        const int decimals = digits(random);
        const std::string text = format_number(value, {.decimals = decimals});
        const double shown = read(text);
        EXPECT_NE(shown, 0) << value;
        // Fixed notation is accurate to half its last digit; whole numbers and scientific notation to half of one of their digits at worst.
        const double size = std::abs(value);
        const bool fixed = text.find('e') == std::string::npos && size < 999;
        const double last = fixed ? 0.5 * std::pow(10.0, -decimals) : size >= 999 && size < 99999 ? 0.5 : 0.5 * size;
        EXPECT_TRUE(std::abs(shown - value) <= last * (1 + 1e-9)) << value << " shown as " << text;
    }
}

TEST(Number, ExactTextReadsBackAsTheSameFloat) {
    std::mt19937 random(6);
    for (int i = 0; i < 20000; ++i) {
        const std::uint32_t bits = static_cast<std::uint32_t>(random());
        float value = 0;
        std::memcpy(&value, &bits, sizeof value);
        if (!std::isfinite(value)) continue;
        EXPECT_EQ(static_cast<float>(read(format_exact(value))), value);
        EXPECT_EQ(std::strtof(format_exact(value, true).c_str(), nullptr), value);
    }
    EXPECT_EQ(format_exact(0.1f), "0.1");
    EXPECT_EQ(format_exact(-std::numeric_limits<float>::denorm_min()), "−1e−45");
    EXPECT_EQ(format_exact(-0.0f), "0");
    EXPECT_EQ(format_exact(std::numeric_limits<float>::quiet_NaN(), true), "nan");
}

TEST(Number, CoarserTextsAreRoundingsOfTheSameNumber) {
    // 0.4445: rounding "0.445" again would give 0.45; the exact number gives 0.44.
    EXPECT_EQ(format_number(0.4449, {.decimals = 3}), "0.445");
    EXPECT_EQ(format_number(0.4449, {.decimals = 2}), "0.44");
}

TEST(Number, CountsAndErrors) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(1240), "1,240");
    EXPECT_EQ(format_count(-1234567), "−1,234,567");
    EXPECT_EQ(format_scientific(2.4e-7), "2.4e−7");
    EXPECT_EQ(format_scientific(0), "0");
    EXPECT_EQ(format_scientific(std::nan("")), "NaN");
}

TEST(Number, DecimalsThatFit) {
    EXPECT_EQ(decimals_that_fit(9.63, 5, true), 2);  // −9.63
    EXPECT_EQ(decimals_that_fit(9.63, 4, true), 1);  // −9.6
    EXPECT_EQ(decimals_that_fit(96.3, 4, true), 0);  // −96
    EXPECT_EQ(decimals_that_fit(1.0, 4, false), 2);  // 1.00
    EXPECT_EQ(decimals_that_fit(12345, 4, false), -1);
    EXPECT_EQ(decimals_that_fit(std::nan(""), 4, false), 2);
    EXPECT_EQ(number_length("−0.5"), 4);
}

}  // namespace
}  // namespace attn::app
