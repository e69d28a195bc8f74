#pragma once
/// Colours, fonts and scale of both themes.

#include <cstdint>

#include "engine/tensor/shape.hpp"

struct ImFont;

namespace attn::app {

/// 0xAABBGGRR, as draw lists expect it.
using Color = std::uint32_t;

struct Palette {
    bool dark = true;
    Color window, pane, raised, line;
    Color text, muted, faint;
    Color accent, on_accent;
    Color chosen;       ///< frames and fills of the selection
    Color chosen_text;  ///< the same for text
    Color good, bad;
    Color axis_b, axis_h, axis_t, axis_s, axis_c, axis_d, axis_v, axis_f;
    Color axis(Axis axis) const;
};

const Palette& palette(bool dark);

/// Fonts at their logical sizes; loaded once per display scale.
struct Fonts {
    ImFont* small = nullptr;       ///< Inter 11 semi-bold: section headings (upper case)
    ImFont* caption = nullptr;     ///< Inter 11: captions in faint ink
    ImFont* label = nullptr;       ///< Inter 13
    ImFont* body = nullptr;        ///< Inter 14
    ImFont* strong = nullptr;      ///< Inter 14 semi-bold
    ImFont* title = nullptr;       ///< Inter 18 semi-bold
    ImFont* heading = nullptr;     ///< Inter 22 semi-bold
    ImFont* lecture = nullptr;     ///< Inter 20: lesson captions, readable from a distance
    ImFont* mono_tiny = nullptr;   ///< JetBrains Mono 10
    ImFont* mono_small = nullptr;  ///< JetBrains Mono 11.5
    ImFont* mono = nullptr;        ///< JetBrains Mono 13
    ImFont* mono_body = nullptr;   ///< JetBrains Mono 14
    ImFont* formula = nullptr;     ///< JetBrains Mono 20
};

struct Theme {
    Palette colors;
    Fonts fonts;
    float scale = 1;  ///< display scale: pixels per logical pixel
    float px(float logical) const { return logical * scale; }
};

}  // namespace attn::app
