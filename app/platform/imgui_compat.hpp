#pragma once
/// The differences between Dear ImGui 1.86 and later versions that the platform meets, in one place.

#include <GLFW/glfw3.h>
#include <imgui.h>

namespace attn::app::imgui_compat {

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

/// Builds the atlas now instead of in the middle of the first frame. Later versions rasterise glyphs when they are first used.
inline void build_fonts() {
#if IMGUI_VERSION_NUM < 19200
    ImGui::GetIO().Fonts->Build();
#endif
}

/// Makes the OpenGL backend take a changed atlas; later versions follow the atlas by themselves.
template <class Destroy, class Create>
void renew_font_texture(Destroy destroy, Create create) {
#if IMGUI_VERSION_NUM < 19200
    destroy();
    create();
#else
    (void)destroy;
    (void)create;
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
