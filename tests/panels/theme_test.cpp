/// All text is readable: checks the contrast of every text colour on every background it is used on, in both themes.

#include "app/widgets/theme.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "app/widgets/text.hpp"

namespace attn::app::test {
namespace {

struct Named {
    std::string name;
    Color color;
};

/// Implemented independently, so that the program's own function does not judge itself.
double ratio(Color a, Color b) {
    const auto luminance = [](Color color) {
        double sum = 0;
        const double share[] = {0.2126, 0.7152, 0.0722};
        for (int channel = 0; channel < 3; ++channel) {
            const double c = static_cast<double>(color >> (8 * channel) & 0xFF) / 255;
            sum += share[channel] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
        }
        return sum;
    };
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

std::vector<Named> inks_of(const Palette& p) {
    return {{"text", p.text},     {"muted", p.muted},   {"faint", p.faint},   {"accent", p.accent}, {"chosen_text", p.chosen_text},
            {"good", p.good},     {"bad", p.bad},       {"axis B", p.axis_b}, {"axis H", p.axis_h}, {"axis T", p.axis_t},
            {"axis S", p.axis_s}, {"axis C", p.axis_c}, {"axis D", p.axis_d}, {"axis V", p.axis_v}, {"axis F", p.axis_f}};
}

/// Such as "faint on pane: 3.57", for every pair below the required contrast.
std::vector<std::string> unreadable(const Palette& p) {
    std::vector<std::string> found;
    for (const Named& ink : inks_of(p))
        for (const Named& ground : std::vector<Named>{{"window", p.window}, {"pane", p.pane}, {"raised", p.raised}})
            if (!(ratio(ink.color, ground.color) >= 4.5))
                found.push_back(ink.name + " on " + ground.name + ": " + std::to_string(ratio(ink.color, ground.color)));
    if (!(ratio(p.on_accent, p.accent) >= 4.5)) found.emplace_back("text on the accent");
    return found;
}

TEST(Theme, EveryTextCanBeRead) {
    for (const bool dark : {true, false}) EXPECT_EQ(unreadable(palette(dark)), std::vector<std::string>()) << dark;
    // A colour with too little contrast, formerly used for faint text.
    Palette planted = palette(true);
    planted.faint = 0xFF80736BU;
    EXPECT_EQ(unreadable(planted).size(), 3U);
}

TEST(Theme, InkOnAnyColourCanBeRead) {
    for (std::uint32_t r = 0; r < 256; r += 15)
        for (std::uint32_t g = 0; g < 256; g += 15)
            for (std::uint32_t b = 0; b < 256; b += 15) {
                const Color ground = 0xFF000000U | b << 16 | g << 8 | r;
                ASSERT_GE(ratio(ink_on(ground), ground), 4.5) << std::hex << ground;
                ASSERT_NEAR(contrast(ink_on(ground), ground), ratio(ink_on(ground), ground), 1e-3);
            }
}

}  // namespace
}  // namespace attn::app::test
