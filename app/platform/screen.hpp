#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "app/platform/frame.hpp"
#include "app/platform/gl_canvas.hpp"
#include "app/platform/mouse_buttons.hpp"

struct GLFWwindow;
struct ImGuiContext;

namespace attn::app {

class FontSets;

/// Everything that turns a DrawUi into pixels: ImGui with its OpenGL backend, fonts, theme and canvas.
/// Needs a current OpenGL 3.3 context during its whole life.
class Screen {
public:
    /// `window` gives mouse and keys; nullptr for a picture.
    Screen(GLFWwindow* window, const std::filesystem::path& shader_folder);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    struct Target {
        int width = 0, height = 0;  ///< pixels of the bound framebuffer
        float display_scale = 1;
        double time = 0;     ///< seconds since the start
        double seconds = 0;  ///< since the frame before; without a window only, which knows by itself
    };
    /// What has happened to the window since the last frame.
    struct Arrivals {
        std::vector<std::string> dropped_files{};
        bool close_asked = false;
        MouseButtons mouse{};
    };
    struct Requests {
        bool quit = false;
        bool typing = false;  ///< a text field has the keyboard: its caret blinks
        double redraw_after = 0;
        double tooltip_after = 0;  ///< seconds until the tooltip of what the mouse rests on is due; infinite where none waits
        std::string title{};
        std::optional<PictureOrder> picture{};
        bool fonts_pending = false;  ///< fonts for new letters are being made: draw again soon
        double hold = 0;             ///< not 0: nothing was drawn, see Frame::hold
        bool maps_pending = false;   ///< some had no time to be made in this frame: draw again at once
    };
    /// Draws one frame in the settings' theme and zoom, and returns what the drawing asked for.
    Requests draw(const DrawUi& ui, Settings& settings, const Target& target, Arrivals arrivals);

    /// Whether take_picture() has the fonts that it takes. If not, they are being made from now on, which may take a second: ask again.
    /// Throws PlatformError if a font is damaged.
    bool ready_for(const PictureOrder& order);
    /// Draws the same once more as the order says, into pixels of its own or as shapes; then everything is as before.
    /// Throws PlatformError for a picture that is too large.
    TakenPicture take_picture(const DrawUi& ui, const Settings& settings, const Target& target, const PictureOrder& order);

    const std::string& shader_problem() const { return renderer_->shader_problem(); }
    HeatmapRenderer& renderer() { return *renderer_; }

private:
    struct DestroyContext {
        void operator()(ImGuiContext* context) const;
    };
    void apply_theme(bool dark, float scale);
    /// Pixels of the picture for one of the window.
    float picture_factor(const PictureOrder& order) const;
    /// Lets ImGui begin a frame in which no mouse and no keyboard take part.
    void begin_untouched_frame(int width, int height);
    /// Between ImGui's NewFrame and Render.
    Requests draw_frame(const DrawUi& ui, Settings& settings, const Target& target, Canvas& canvas, bool for_picture, Arrivals arrivals);
    /// Fonts with the letters of the last frame, as soon as they are made; at once where there is no window that would wait.
    void follow_letters();
    void draw_pixels(const Target& target);
    std::string draw_svg(const DrawUi& ui, Settings& settings, const Target& target);

    std::unique_ptr<ImGuiContext, DestroyContext> context_;
    bool has_window_;
    std::unique_ptr<FontSets> fonts_;
    Theme theme_;
    std::u32string letters_, shown_letters_;  ///< that ours lack: of the last frame, of the fonts in use
    std::unique_ptr<HeatmapRenderer> renderer_;
    std::unique_ptr<GlCanvas> canvas_;
};

}  // namespace attn::app
