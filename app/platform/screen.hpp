#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "app/platform/frame.hpp"
#include "app/platform/gl_canvas.hpp"
#include "app/platform/input_queue.hpp"
#include "app/widgets/letters.hpp"

struct GLFWwindow;
struct ImGuiContext;

namespace attn::app {

class FontSets;

/// Turns a DrawUi into pixels: owns ImGui with its OpenGL backend, fonts, theme and canvas. Needs a current OpenGL 3.3 context throughout
/// its lifetime.
class Screen {
public:
    /// `window` provides mouse and keyboard input; nullptr for pictures.
    Screen(GLFWwindow* window, const std::filesystem::path& shader_folder);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    struct Target {
        int width = 0, height = 0;  ///< in pixels of the bound framebuffer
        float display_scale = 1;
        double time = 0;     ///< seconds since the start
        double seconds = 0;  ///< since the previous frame; only used without a window
    };
    /// Events since the last frame.
    struct Arrivals {
        std::vector<std::string> dropped_files{};
        bool close_asked = false;
        Input input{};
    };
    struct Requests {
        bool quit = false;
        bool typing = false;  ///< a text field has the focus; its caret blinks
        double redraw_after = 0;
        double tooltip_after = 0;  ///< seconds until a hover tooltip is due; infinite if there is none
        std::string title{};
        std::optional<PictureOrder> picture{};
        bool fonts_pending = false;  ///< fonts for new letters are being built; draw again soon
        double hold = 0;             ///< nonzero: nothing was drawn, see Frame::hold
        std::function<void()> on_screen{};
        bool maps_pending = false;  ///< maps were left out of this frame; draw again at once
    };
    /// Draws one frame with the theme and zoom of `settings` and returns the UI's requests.
    Requests draw(const DrawUi& ui, Settings& settings, const Target& target, Arrivals arrivals);

    /// Whether take_picture() has its fonts. If not, starts building them, which may take a second; call again later. Throws PlatformError
    /// if a font is damaged.
    bool ready_for(const PictureOrder& order);
    /// Renders the same UI as a picture, then restores the window's state. Throws PlatformError for a picture that is too large.
    TakenPicture take_picture(const DrawUi& ui, const Settings& settings, const Target& target, const PictureOrder& order);

    const std::string& shader_problem() const { return renderer_->shader_problem(); }
    HeatmapRenderer& renderer() { return *renderer_; }

private:
    struct DestroyContext {
        void operator()(ImGuiContext* context) const;
    };
    void apply_theme(bool dark, float scale);
    /// Pixels of the picture per pixel of the window.
    float picture_factor(const PictureOrder& order) const;
    /// Starts an ImGui frame without mouse and keyboard input.
    void begin_untouched_frame(int width, int height);
    /// Runs the UI between ImGui's NewFrame and Render.
    Requests draw_frame(const DrawUi& ui, Settings& settings, const Target& target, Canvas& canvas, bool for_picture, Arrivals arrivals);
    /// Switches to fonts with the letters noted up to the last frame once they are ready; without a window, waits for them.
    void follow_letters();
    void draw_pixels(const Target& target);
    std::string draw_svg(const DrawUi& ui, Settings& settings, const Target& target, bool trim);

    std::unique_ptr<ImGuiContext, DestroyContext> context_;
    bool has_window_;
    std::unique_ptr<FontSets> fonts_;
    Theme theme_;
    std::unique_ptr<LackingLetters> lacking_;
    std::u32string letters_, shown_letters_;  ///< letters to be taken from system fonts: up to the last frame, and in the fonts in use
    std::unique_ptr<HeatmapRenderer> renderer_;
    std::unique_ptr<GlCanvas> canvas_;
};

}  // namespace attn::app
