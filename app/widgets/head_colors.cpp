#include "app/widgets/head_colors.hpp"

#include <array>

namespace attn::app {
namespace {

constexpr Color rgb(std::uint32_t hex) { return 0xFF000000U | (hex & 0xFFU) << 16 | (hex & 0xFF00U) | hex >> 16; }

using Colors = std::array<Color, kHeadColors>;
/// Chosen by search: the largest least distance in OKLab under Machado's simulations (2009), neighbours in the list farthest apart.
constexpr Colors kDark = {rgb(0xF57F04), rgb(0xADE4FB), rgb(0x45BA97), rgb(0xDB81FF),
                          rgb(0xD71134), rgb(0xFBDA1A), rgb(0x1B7394), rgb(0x9E1DFE)};
constexpr Colors kLight = {rgb(0x156189), rgb(0xE96F0B), rgb(0x009E9B), rgb(0x830DE3),
                           rgb(0xBA1705), rgb(0xB86DFF), rgb(0x05199E), rgb(0x4E223F)};

}  // namespace

Color head_color(const Palette& colors, std::int64_t head) {
    const auto index = static_cast<std::size_t>(((head % kHeadColors) + kHeadColors) % kHeadColors);
    return (colors.dark ? kDark : kLight)[index];
}

}  // namespace attn::app
