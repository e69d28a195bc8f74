#include "engine/io/number_text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace attn {
namespace {

/// Parses a decimal to float via double, as Python and most other programs do.
float read_by_double(const std::string& text) { return static_cast<float>(std::strtod(text.c_str(), nullptr)); }

TEST(NumberText, GivesBackTheSameBits) {
    std::mt19937 random(7);
    for (int i = 0; i < 300000; ++i) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (!std::isfinite(value)) continue;
        const std::string text = number_text(value);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(read_by_double(text)), std::bit_cast<std::uint32_t>(value)) << text;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr)), std::bit_cast<std::uint32_t>(value)) << text;
    }
}

TEST(NumberText, IsShort) {
    EXPECT_EQ(number_text(0.1F), "0.1");
    EXPECT_EQ(number_text(-0.0F), "-0");
    EXPECT_EQ(number_text(1), "1");
    EXPECT_EQ(number_text(std::numeric_limits<float>::denorm_min()), "1e-45");
    EXPECT_EQ(number_text(std::numeric_limits<float>::max()), "3.4028235e+38");
}

TEST(NumberText, NamesWhatIsNoOrdinaryNumber) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(number_text(NAN) + number_text(kInfinity) + number_text(-kInfinity), "naninf-inf");
    EXPECT_EQ(number_text(-kInfinity, {"np.nan", "np.inf", "-np.inf"}), "-np.inf");
}

}  // namespace
}  // namespace attn
