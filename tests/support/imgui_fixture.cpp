#include "tests/support/imgui_fixture.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app::test {

namespace {

constexpr std::int64_t kSmallMap = 64;  // cells along each side

std::int64_t alarming_cells(const HeatmapData& data) {
    std::int64_t count = 0;
    if (data.empty() || data.level != 0 || data.rows > kSmallMap || data.cols > kSmallMap) return 0;
    for (std::int64_t row = 0; row < data.rows; ++row)
        for (std::int64_t col = 0; col < data.cols; ++col) count += !data.masked(row, col) && !std::isfinite(data.at(row, col)) ? 1 : 0;
    return count;
}

}  // namespace

void NullCanvas::heatmap(ImDrawList&, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) {
    calls.push_back({min, max, request, alarming_cells(request.data)});
}

std::uint32_t NullCanvas::color(const HeatmapStyle& style, float value) const {
    if (std::isnan(value)) return 0xFFFF00FFu;
    const float place = std::clamp((value - style.lo) / (style.hi - style.lo), 0.0f, 1.0f);
    const auto grey = static_cast<std::uint32_t>(place * 255.0f + 0.5f);
    return 0xFF000000u | grey << 16 | grey << 8 | grey;
}

ImGuiFixture::ImGuiFixture() : context_(ImGui::CreateContext()) {
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.DisplaySize = ImVec2(1600, 1000);
    io.DeltaTime = 1.0f / 60;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;  // as in the OpenGL backend
    io.MousePos = ImVec2(-1000, -1000);
#if IMGUI_VERSION_NUM < 18700
    // Any otherwise unused numbers below 512 will do for the keys that ImGui names.
    for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = 400 + key;
#endif
    ImFont* font = io.Fonts->AddFontDefault();
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    Fonts& f = theme.fonts;
    f.small = f.caption = f.label = f.body = f.strong = f.title = f.heading = f.lecture = font;
    f.mono_tiny = f.mono_small = f.mono = f.mono_body = f.formula = font;
    theme.colors = palette(true);
}

ImGuiFixture::~ImGuiFixture() { ImGui::DestroyContext(context_); }

void ImGuiFixture::frame(const std::function<void()>& contents) {
    canvas.calls.clear();
    ImGui::NewFrame();
    if (contents_have_windows) {
        contents();
    } else {
        in_window(contents);
    }
    ImGui::Render();
    vertices_ = ImGui::GetDrawData()->TotalVtxCount;
    ImGui::GetIO().MouseWheel = 0;
}

void ImGuiFixture::in_window(const std::function<void()>& contents) {
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    ImGui::Begin("test", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings);
    contents();
    ImGui::End();
    ImGui::PopStyleVar(2);
}

void ImGuiFixture::frames(int count, const std::function<void()>& contents) {
    for (int i = 0; i < count; ++i) frame(contents);
}

void ImGuiFixture::move_mouse(float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
    ImGui::GetIO().AddMousePosEvent(x, y);
#else
    ImGui::GetIO().MousePos = ImVec2(x, y);
#endif
}

void ImGuiFixture::mouse_button(int button, bool down) {
#if IMGUI_VERSION_NUM >= 18700
    ImGui::GetIO().AddMouseButtonEvent(button, down);
#else
    ImGui::GetIO().MouseDown[button] = down;
#endif
}

void ImGuiFixture::click(float x, float y, const std::function<void()>& contents, int button) {
    move_mouse(x, y);
    frame(contents);
    mouse_button(button, true);
    frame(contents);
    mouse_button(button, false);
    frame(contents);
}

void ImGuiFixture::drag(ImVec2 from, ImVec2 to, const std::function<void()>& contents, int steps) {
    move_mouse(from.x, from.y);
    frame(contents);
    mouse_button(0, true);
    frame(contents);
    for (int step = 1; step <= steps; ++step) {
        const float t = static_cast<float>(step) / static_cast<float>(steps);
        move_mouse(from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t);
        frame(contents);
    }
    mouse_button(0, false);
    frame(contents);
}

void ImGuiFixture::wheel(float turns, const std::function<void()>& contents) {
#if IMGUI_VERSION_NUM >= 18700
    ImGui::GetIO().AddMouseWheelEvent(0, turns);
#else
    ImGui::GetIO().MouseWheel = turns;
#endif
    frame(contents);
}

void ImGuiFixture::set_key(int index, bool down) {
    ASSERT_GE(index, 0);
#if IMGUI_VERSION_NUM >= 18700
    ImGui::GetIO().AddKeyEvent(static_cast<ImGuiKey>(index), down);
#else
    ImGui::GetIO().KeysDown[index] = down;
#endif
}

void ImGuiFixture::hold(Key key, bool down) { set_key(compat::imgui_key(key), down); }
void ImGuiFixture::hold(char letter_or_digit, bool down) { set_key(compat::imgui_key(letter_or_digit), down); }

void ImGuiFixture::hold_modifiers(bool ctrl, bool shift) {
#if IMGUI_VERSION_NUM >= 18700
    ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, ctrl);
    ImGui::GetIO().AddKeyEvent(ImGuiMod_Shift, shift);
#else
    ImGui::GetIO().KeyCtrl = ctrl;
    ImGui::GetIO().KeyShift = shift;
#endif
}

void ImGuiFixture::press(Key key, const std::function<void()>& contents) {
    hold(key, true);
    frame(contents);
    hold(key, false);
    frame(contents);
}

void ImGuiFixture::press(char letter_or_digit, const std::function<void()>& contents) {
    set_key(compat::imgui_key(letter_or_digit), true);
    frame(contents);
    set_key(compat::imgui_key(letter_or_digit), false);
    frame(contents);
}

void ImGuiFixture::type(std::string_view text, const std::function<void()>& contents) {
    for (const char c : text) {
        ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
        frame(contents);
    }
}

}  // namespace attn::app::test
