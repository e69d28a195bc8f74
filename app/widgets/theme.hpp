#pragma once
/// Colours, measures and fonts of the look; both themes.

#include <cstdint>

#include "engine/tensor/shape.hpp"

struct ImFont;

namespace attn::app {

/// 0xAABBGGRR, ready for draw lists.
using Color = std::uint32_t;

struct Palette {
    bool dark = true;
    Color window, pane, raised, line;
    Color text, muted, faint;
    Color accent, on_accent;
    Color chosen;       ///< frames and fills of what is chosen
    Color chosen_text;  ///< the same as ink
    Color good, bad;
    Color axis_b, axis_h, axis_t, axis_s, axis_c, axis_d, axis_v, axis_f;
    Color axis(Axis axis) const;
};

const Palette& palette(bool dark);

/// Fonts at their sizes; loaded once a display scale. Sizes in logical pixels are in the names of look.md's measures.
struct Fonts {
    ImFont* small = nullptr;       ///< Inter 11 semi-bold: section headings (upper case)
    ImFont* caption = nullptr;     ///< Inter 11: captions in faint ink
    ImFont* label = nullptr;       ///< Inter 13
    ImFont* body = nullptr;        ///< Inter 14
    ImFont* strong = nullptr;      ///< Inter 14 semi-bold
    ImFont* title = nullptr;       ///< Inter 18 semi-bold
    ImFont* heading = nullptr;     ///< Inter 22 semi-bold
    ImFont* lecture = nullptr;     ///< Inter 20: what a class reads from the wall
    ImFont* mono_tiny = nullptr;   ///< JetBrains Mono 10
    ImFont* mono_small = nullptr;  ///< JetBrains Mono 11.5
    ImFont* mono = nullptr;        ///< JetBrains Mono 13
    ImFont* mono_body = nullptr;   ///< JetBrains Mono 14
    ImFont* formula = nullptr;     ///< JetBrains Mono 20
};

struct Theme {
    Palette colors;
    Fonts fonts;
    float scale = 1;  ///< display scale: multiply logical pixels by it
    float px(float logical) const { return logical * scale; }
};

}  // namespace attn::app
