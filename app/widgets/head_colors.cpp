#include "app/widgets/head_colors.hpp"

#include <array>

namespace attn::app {
namespace {

constexpr Color head_rgb(std::uint32_t hex) { return 0xFF000000U | (hex & 0xFFU) << 16 | (hex & 0xFF00U) | hex >> 16; }

using HeadColors = std::array<Color, kHeadColors>;
/// Found by search: maximises the smallest OKLab distance under Machado's colour blindness simulations (2009). A head has similar hues in
/// both themes, as far as both lists have them.
constexpr HeadColors kDarkHeads = {head_rgb(0xF57F04), head_rgb(0xADE4FB), head_rgb(0x45BA97), head_rgb(0xDB81FF),
                                   head_rgb(0xD71134), head_rgb(0xFBDA1A), head_rgb(0x1B7394), head_rgb(0x9E1DFE)};
constexpr HeadColors kLightHeads = {head_rgb(0xE96F0B), head_rgb(0x156189), head_rgb(0x009E9B), head_rgb(0xB86DFF),
                                    head_rgb(0xBA1705), head_rgb(0x4E223F), head_rgb(0x05199E), head_rgb(0x830DE3)};

}  // namespace

Color head_color(const Palette& colors, std::int64_t head) {
    const auto index = static_cast<std::size_t>(((head % kHeadColors) + kHeadColors) % kHeadColors);
    return (colors.dark ? kDarkHeads : kLightHeads)[index];
}

}  // namespace attn::app
