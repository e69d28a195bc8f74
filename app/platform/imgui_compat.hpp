#pragma once
/// Differences between Dear ImGui 1.86 and later versions that affect the platform layer.

#include <GLFW/glfw3.h>
#include <imgui.h>

#include <cstddef>
#include <cstdint>

#include "app/platform/input_queue.hpp"

namespace attn::app::imgui_compat {

/// To be called after the window backend's NewFrame and before use_framebuffer_pixels(): sets the mouse's state in this frame. Later
/// versions queue its events themselves.
inline void use_mouse(const Mouse& mouse) {
    ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM < 18700
    for (std::size_t i = 0; i < mouse.down.size(); ++i) io.MouseDown[i] = mouse.down[i];
    if (mouse.at) io.MousePos = {static_cast<float>(mouse.at->x), static_cast<float>(mouse.at->y)};
    io.MouseWheelH += static_cast<float>(mouse.wheel_x);
    io.MouseWheel += static_cast<float>(mouse.wheel_y);
#endif
    // Double-clicks are detected by event times in InputQueue, not by frame times, so ImGui is told the result.
    io.MouseDoubleClickTime = mouse.again ? 1e6F : 0.F;
}

/// To be called after the window backend's NewFrame: makes ImGui use framebuffer pixels, even if the window system uses larger units.
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

/// Up to version 1.91 all glyphs of an atlas are rasterised in advance; later versions do so on first use, and the backend updates the
/// texture.
#if IMGUI_VERSION_NUM < 19200
inline constexpr bool kAtlasIsRasterisedAtOnce = true;
#else
inline constexpr bool kAtlasIsRasterisedAtOnce = false;
#endif

/// Keeps the atlas from freeing the bytes of the last font added.
inline void disown_last_font(ImFontAtlas& atlas) {
#if IMGUI_VERSION_NUM < 19200
    if (!atlas.ConfigData.empty()) atlas.ConfigData.back().FontDataOwnedByAtlas = false;
#else
    if (!atlas.Sources.empty()) atlas.Sources.back().FontDataOwnedByAtlas = false;
#endif
}

/// Coverage of every pixel, [height, width].
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

/// Sets the atlas's texture and frees its pixels in memory.
inline void use_texture(ImFontAtlas& atlas, unsigned name) {
#if IMGUI_VERSION_NUM < 19200
    atlas.SetTexID(reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(name)));
    atlas.ClearTexData();
#else
    (void)atlas;
    (void)name;
#endif
}

/// Adds a typed character. One beyond 16 bits, which ImGui would replace, arrives at text fields as the halves of its UTF-16 form.
inline void add_character(unsigned code) {
    ImGuiIO& io = ImGui::GetIO();
    if (sizeof(ImWchar) > 2 || code < 0x10000) return io.AddInputCharacter(code);
    io.AddInputCharacter(0xD800 + ((code - 0x10000) >> 10));
    io.AddInputCharacter(0xDC00 + ((code - 0x10000) & 0x3FF));
}

/// To be called after the window backend's NewFrame: sets which keys are down in this frame, and adds the characters typed. Later versions
/// queue key events themselves.
inline void use_keys(const Keys& keys) {
#if IMGUI_VERSION_NUM < 18700
    ImGuiIO& io = ImGui::GetIO();
    for (std::size_t i = 0; i < keys.down.size(); ++i) io.KeysDown[i] = keys.down[i];
    // Ctrl + K must not become a plain K because Ctrl was released before the frame.
    io.KeyCtrl = keys.down[GLFW_KEY_LEFT_CONTROL] || keys.down[GLFW_KEY_RIGHT_CONTROL] || (keys.modifiers & GLFW_MOD_CONTROL) != 0;
    io.KeyAlt = keys.down[GLFW_KEY_LEFT_ALT] || keys.down[GLFW_KEY_RIGHT_ALT] || (keys.modifiers & GLFW_MOD_ALT) != 0;
    io.KeyShift = keys.down[GLFW_KEY_LEFT_SHIFT] || keys.down[GLFW_KEY_RIGHT_SHIFT] || (keys.modifiers & GLFW_MOD_SHIFT) != 0;
#endif
    for (const unsigned code : keys.characters) add_character(code);
}

}  // namespace attn::app::imgui_compat
