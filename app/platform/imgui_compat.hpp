#pragma once
/// The differences between Dear ImGui 1.86 and later versions that the platform meets, in one place.

#include <GLFW/glfw3.h>
#include <imgui.h>

#include <cstddef>
#include <cstdint>

#include "app/platform/mouse_buttons.hpp"

namespace attn::app::imgui_compat {

/// After the window backend's NewFrame: which mouse buttons are down in this frame; later versions queue what happens by themselves.
inline void use_mouse_buttons(const MouseButtons& buttons) {
    ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM < 18700
    for (std::size_t i = 0; i < buttons.down.size(); ++i) io.MouseDown[i] = buttons.down[i];
#endif
    // Which presses belong together is known from when they came, not from when they are drawn.
    io.MouseDoubleClickTime = buttons.again ? 1e6F : 0.F;
}

/// After the window backend's NewFrame: makes ImGui count in framebuffer pixels, also where the system counts in larger units.
inline void use_framebuffer_pixels(float width, float height) {
    ImGuiIO& io = ImGui::GetIO();
    const ImVec2 ratio = io.DisplayFramebufferScale;
    io.DisplaySize = {width, height};
    io.DisplayFramebufferScale = {1, 1};
    if (ratio.x == 1 && ratio.y == 1) return;
#if IMGUI_VERSION_NUM < 18700
    if (io.MousePos.x > -1e30F) io.MousePos = {io.MousePos.x * ratio.x, io.MousePos.y * ratio.y};
#else
    double x = 0, y = 0;
    glfwGetCursorPos(glfwGetCurrentContext(), &x, &y);
    io.AddMousePosEvent(static_cast<float>(x) * ratio.x, static_cast<float>(y) * ratio.y);
#endif
}

/// Up to version 1.91 all glyphs of an atlas are rasterised before the first is drawn; later ones when they are first used, and the
/// backend follows the atlas by itself.
#if IMGUI_VERSION_NUM < 19200
inline constexpr bool kAtlasIsRasterisedAtOnce = true;
#else
inline constexpr bool kAtlasIsRasterisedAtOnce = false;
#endif

/// The font added last has bytes that the atlas may not free.
inline void disown_last_font(ImFontAtlas& atlas) {
#if IMGUI_VERSION_NUM < 19200
    if (!atlas.ConfigData.empty()) atlas.ConfigData.back().FontDataOwnedByAtlas = false;
#else
    if (!atlas.Sources.empty()) atlas.Sources.back().FontDataOwnedByAtlas = false;
#endif
}

/// How much of each pixel a glyph covers, [height, width].
struct AtlasPixels {
    const unsigned char* coverage = nullptr;
    int width = 0, height = 0;
};

inline void rasterise(ImFontAtlas& atlas) {
#if IMGUI_VERSION_NUM < 19200
    atlas.Build();
#else
    (void)atlas;
#endif
}

inline AtlasPixels pixels_of(ImFontAtlas& atlas) {
    AtlasPixels pixels;
#if IMGUI_VERSION_NUM < 19200
    unsigned char* coverage = nullptr;
    atlas.GetTexDataAsAlpha8(&coverage, &pixels.width, &pixels.height);
    pixels.coverage = coverage;
#else
    (void)atlas;
#endif
    return pixels;
}

/// The atlas' texture from now on; its pixels are given back.
inline void use_texture(ImFontAtlas& atlas, unsigned name) {
#if IMGUI_VERSION_NUM < 19200
    atlas.SetTexID(reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(name)));
    atlas.ClearTexData();
#else
    (void)atlas;
    (void)name;
#endif
}

/// Makes a key (GLFW's number) count as down or up in the next frame; later versions queue events and lose none.
inline void hold_key(int key, bool down) {
#if IMGUI_VERSION_NUM < 18700
    if (key >= 0 && key < IM_ARRAYSIZE(ImGui::GetIO().KeysDown)) ImGui::GetIO().KeysDown[key] = down;
#else
    (void)key;
    (void)down;
#endif
}

/// Makes the modifiers that came with a key count in the next frame, also when they are up again; later versions lose none.
inline void hold_modifiers(bool ctrl, bool shift) {
#if IMGUI_VERSION_NUM < 18700
    ImGui::GetIO().KeyCtrl |= ctrl;
    ImGui::GetIO().KeyShift |= shift;
#else
    (void)ctrl;
    (void)shift;
#endif
}

/// As they are now.
inline void read_modifiers() {
#if IMGUI_VERSION_NUM < 18700
    ImGuiIO& io = ImGui::GetIO();
    io.KeyCtrl = io.KeysDown[GLFW_KEY_LEFT_CONTROL] || io.KeysDown[GLFW_KEY_RIGHT_CONTROL];
    io.KeyShift = io.KeysDown[GLFW_KEY_LEFT_SHIFT] || io.KeysDown[GLFW_KEY_RIGHT_SHIFT];
#endif
}

}  // namespace attn::app::imgui_compat
