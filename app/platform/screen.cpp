#include "app/platform/screen.hpp"

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/platform/fonts.hpp"
#include "app/platform/imgui_compat.hpp"
#include "app/platform/platform_error.hpp"
#include "app/widgets/style.hpp"

namespace attn::app {

namespace {
constexpr float kSmallestScale = 0.5F, kLargestScale = 4;
}  // namespace

void Screen::DestroyContext::operator()(ImGuiContext* context) const { ImGui::DestroyContext(context); }

Screen::Screen(GLFWwindow* window, const std::filesystem::path& shader_folder)
    : context_((IMGUI_CHECKVERSION(), ImGui::CreateContext())), has_window_(window != nullptr),
      renderer_(std::make_unique<HeatmapRenderer>(ShaderSource{shader_folder})), canvas_(std::make_unique<GlCanvas>(*renderer_)) {
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;  // Settings remember what there is to remember
    io.LogFilename = nullptr;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    io.MouseDoubleClickTime = 0.45F;  // unhurried hands, and frames drawn in software
    if (has_window_ && !ImGui_ImplGlfw_InitForOpenGL(window, true)) throw PlatformError("the window cannot be connected to the UI");
    if (!ImGui_ImplOpenGL3_Init("#version 330 core")) throw PlatformError("the UI cannot be connected to OpenGL");
}

Screen::~Screen() {
    ImGui_ImplOpenGL3_Shutdown();
    if (has_window_) ImGui_ImplGlfw_Shutdown();
}

void Screen::apply_theme(bool dark, float scale) {
    const bool first = theme_.fonts.body == nullptr;
    if (!first && scale == theme_.scale && dark == theme_.colors.dark) return;
    if (first || scale != theme_.scale) {
        theme_.scale = scale;
        theme_.fonts = load_fonts(scale);
        if (!first)  // the backend makes the first texture by itself
            imgui_compat::renew_font_texture(ImGui_ImplOpenGL3_DestroyFontsTexture, ImGui_ImplOpenGL3_CreateFontsTexture);
    }
    theme_.colors = palette(dark);
    apply_style(theme_);
}

Screen::Wishes Screen::draw(const DrawUi& ui, Settings& settings, const Target& target, std::vector<std::string> dropped_files) {
    const double zoomed = target.display_scale * settings.zoom;
    apply_theme(settings.dark, std::isfinite(zoomed) ? std::clamp(static_cast<float>(zoomed), kSmallestScale, kLargestScale) : 1);
    const auto w = static_cast<float>(target.width), h = static_cast<float>(target.height);
    ImGui_ImplOpenGL3_NewFrame();
    if (has_window_) {
        ImGui_ImplGlfw_NewFrame();
        imgui_compat::use_framebuffer_pixels(w, h);
    } else {
        ImGuiIO& io = ImGui::GetIO();
        io.DisplaySize = {w, h};
        io.DeltaTime = static_cast<float>(target.seconds);
    }
    const Palette& colors = theme_.colors;
    canvas_->begin_frame({colors.dark, colors.pane, colors.line, colors.text, theme_.scale}, target.width, target.height);
    ImGui::NewFrame();
    Frame frame{theme_, *canvas_, settings, w, h, target.time, std::move(dropped_files)};
    ui(frame);
    ImGui::Render();

    glViewport(0, 0, target.width, target.height);
    glDisable(GL_SCISSOR_TEST);
    const ImVec4 background = ImGui::ColorConvertU32ToFloat4(theme_.colors.window);
    glClearColor(background.x, background.y, background.z, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    return {frame.quit, ImGui::GetIO().WantTextInput, frame.redraw_after};
}

}  // namespace attn::app
