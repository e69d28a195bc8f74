/// Head colours are distinguishable from the pane and from each other with every common form of colour vision.

#include "app/widgets/head_colors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn::app::test {
namespace {

using Triple = std::array<double, 3>;
using Table = std::array<Triple, 3>;

Triple linear(Color color) {
    Triple out{};
    for (std::size_t i = 0; i < 3; ++i) {
        const double c = static_cast<double>((color >> (8 * i)) & 0xFFU) / 255;
        out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    }
    return out;
}

Triple times(const Table& m, const Triple& x) {
    Triple out{};
    for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = 0; c < 3; ++c) out[r] += m[r][c] * x[c];
    return out;
}

/// WCAG 2: (lighter + 0.05) / (darker + 0.05).
double contrast(Color a, Color b) {
    const auto luminance = [](Color c) {
        const Triple l = linear(c);
        return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
    };
    const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
    return std::max(x, y) / std::min(x, y);
}

/// Machado, Oliveira and Fernandes 2009, severity 1: none, protan, deutan, tritan.
constexpr std::array<Table, 4> kEyes = {{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
}};

/// Ottosson's OKLab (2020).
Triple oklab(const Triple& rgb) {
    Triple lms = times({{{0.4122214708, 0.5363325363, 0.0514459929},
                         {0.2119034982, 0.6806995451, 0.1073969566},
                         {0.0883024619, 0.2817188376, 0.6299787005}}},
                       rgb);
    for (double& x : lms) x = std::cbrt(std::max(x, 0.0));
    return times({{{0.2104542553, 0.7936177850, -0.0040720468},
                   {1.9779984951, -2.4285922050, 0.4505937099},
                   {0.0259040371, 0.7827717662, -0.8086757660}}},
                 lms);
}

double distance(Color a, Color b, const Table& eye) {
    const auto seen = [&](Color c) {
        Triple rgb = times(eye, linear(c));
        for (double& x : rgb) x = std::clamp(x, 0.0, 1.0);
        return oklab(rgb);
    };
    const Triple x = seen(a), y = seen(b);
    return std::sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) + (x[2] - y[2]) * (x[2] - y[2]));
}

TEST(HeadColors, StandOutInBothThemes) {
    for (const bool dark : {true, false})
        for (std::int64_t head = 0; head < kHeadColors; ++head)
            EXPECT_GE(contrast(head_color(palette(dark), head), palette(dark).pane), 3) << (dark ? "dark " : "light ") << head;
    EXPECT_LT(contrast(palette(true).pane, palette(true).raised), 3) << "the negative control";
}

TEST(HeadColors, AreFarApartForEveryEye) {
    for (const bool dark : {true, false})
        for (std::int64_t a = 0; a < kHeadColors; ++a)
            for (std::int64_t b = 0; b < a; ++b)
                for (std::size_t eye = 0; eye < kEyes.size(); ++eye)
                    EXPECT_GE(distance(head_color(palette(dark), a), head_color(palette(dark), b), kEyes[eye]), eye == 0 ? 0.18 : 0.12)
                        << (dark ? "dark " : "light ") << a << " and " << b << " to eye " << eye;
    // Negative control: red and green of equal brightness, which red-green colour blindness cannot distinguish.
    EXPECT_LT(distance(0xFF009F9F, 0xFF00A573, kEyes[2]), 0.12);
    EXPECT_NEAR(distance(0xFF00A573, 0xFF00A573, kEyes[0]), 0, 1e-12);
}

TEST(HeadColors, BeginAgainAfterTheLast) {
    // Heads of the same colour differ in their round, and lines of different rounds look different.
    EXPECT_EQ(head_round(0), 0);
    EXPECT_EQ(head_round(kHeadColors - 1), 0);
    EXPECT_EQ(head_round(kHeadColors), 1);
    EXPECT_EQ(head_round(2 * kHeadColors + 3), 2);
    EXPECT_EQ(head_color(palette(true), kHeadColors + 2), head_color(palette(true), 2));
    EXPECT_EQ(head_color(palette(false), -1), head_color(palette(false), kHeadColors - 1));
}

}  // namespace
}  // namespace attn::app::test
