#include "app/platform/screen.hpp"

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <utility>

#include "app/platform/font_sets.hpp"
#include "app/platform/imgui_compat.hpp"
#include "app/platform/platform_error.hpp"
#include "app/platform/svg_canvas.hpp"
#include "app/platform/svg_picture.hpp"
#include "app/platform/trim.hpp"
#include "app/render/gl_dialect.hpp"
#include "app/render/gl_objects.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/style.hpp"

namespace attn::app {

namespace {
constexpr float kSmallestScale = 0.5F, kLargestScale = 4;
/// Upload budget per window frame; the rest follows in later frames.
constexpr std::chrono::milliseconds kForUploads{12};

/// Hides mouse and keyboard input from ImGui during its lifetime.
class UntouchedInput {
public:
    UntouchedInput() : io_(ImGui::GetIO()), mouse_(io_.MousePos), wheel_(io_.MouseWheel) {
        std::copy(std::begin(io_.MouseDown), std::end(io_.MouseDown), std::begin(buttons_));
        io_.MousePos = {-FLT_MAX, -FLT_MAX};
        io_.MouseWheel = 0;
        std::fill(std::begin(io_.MouseDown), std::end(io_.MouseDown), false);
        io_.InputQueueCharacters.resize(0);
    }
    ~UntouchedInput() {
        io_.MousePos = mouse_;
        io_.MouseWheel = wheel_;
        std::copy(std::begin(buttons_), std::end(buttons_), std::begin(io_.MouseDown));
    }
    UntouchedInput(const UntouchedInput&) = delete;
    UntouchedInput& operator=(const UntouchedInput&) = delete;

private:
    ImGuiIO& io_;
    ImVec2 mouse_;
    float wheel_;
    bool buttons_[5] = {};
};
}  // namespace

void Screen::DestroyContext::operator()(ImGuiContext* context) const { ImGui::DestroyContext(context); }

Screen::Screen(GLFWwindow* window, const std::filesystem::path& shader_folder)
    : context_((IMGUI_CHECKVERSION(), ImGui::CreateContext())), has_window_(window != nullptr),
      renderer_(std::make_unique<HeatmapRenderer>(ShaderSource{shader_folder})), canvas_(std::make_unique<GlCanvas>(*renderer_)) {
    lacking_ = std::make_unique<LackingLetters>();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;  // our own Settings persist the layout
    io.LogFilename = nullptr;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    if (has_window_ && !ImGui_ImplGlfw_InitForOpenGL(window, true))
        throw PlatformError("the user interface could not be attached to the window");
    if (!ImGui_ImplOpenGL3_Init(gl_dialect::kVersion)) throw PlatformError("the user interface could not be attached to OpenGL");
    // Created now, with the context's small default font. Later this would upload our own atlas a second time, as RGBA.
    ImGui_ImplOpenGL3_CreateDeviceObjects();
    fonts_ = std::make_unique<FontSets>();
}

Screen::~Screen() {
    fonts_.reset();
    ImGui_ImplOpenGL3_Shutdown();
    if (has_window_) ImGui_ImplGlfw_Shutdown();
}

void Screen::apply_theme(bool dark, float scale) {
    const bool first = theme_.fonts.body == nullptr;
    if (!first && scale == theme_.scale && dark == theme_.colors.dark) return;
    if (first || scale != theme_.scale) {
        theme_.scale = scale;
        theme_.fonts = fonts_->use(scale);
    }
    theme_.colors = palette(dark);
    apply_style(theme_);
}

void Screen::follow_letters() {
    if (letters_ == shown_letters_) return;
    fonts_->want(letters_);
    if (has_window_ && !fonts_->at_hand(theme_.scale)) return;
    theme_.fonts = fonts_->use(theme_.scale);
    shown_letters_ = letters_;
    apply_style(theme_);
}

void Screen::begin_untouched_frame(int width, int height) {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
    io.DisplayFramebufferScale = {1, 1};
}

Screen::Requests Screen::draw_frame(const DrawUi& ui, Settings& settings, const Target& target, Canvas& canvas, bool for_picture,
                                    Arrivals arrivals) {
    Frame frame{theme_,
                canvas,
                settings,
                static_cast<float>(target.width),
                static_cast<float>(target.height),
                target.time,
                std::move(arrivals.dropped_files),
                arrivals.close_asked,
                for_picture};
    ui(frame);
    letters_ = letters_lacking({lacking_->noted().begin(), lacking_->noted().end()});
    return {frame.quit,
            ImGui::GetIO().WantTextInput,
            frame.redraw_after,
            seconds_until_tooltip(),
            std::move(frame.title),
            std::move(frame.picture),
            letters_ != shown_letters_,
            has_window_ && !frame.picture ? frame.hold : 0,
            std::move(frame.on_screen)};
}

void Screen::draw_pixels(const Target& target) {
    glViewport(0, 0, target.width, target.height);
    glDisable(GL_SCISSOR_TEST);
    const ImVec4 background = ImGui::ColorConvertU32ToFloat4(theme_.colors.window);
    glClearColor(background.x, background.y, background.z, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

Screen::Requests Screen::draw(const DrawUi& ui, Settings& settings, const Target& target, Arrivals arrivals) {
    const double zoomed = target.display_scale * settings.zoom;
    apply_theme(settings.dark, std::isfinite(zoomed) ? std::clamp(static_cast<float>(zoomed), kSmallestScale, kLargestScale) : 1);
    follow_letters();
    ImGui_ImplOpenGL3_NewFrame();
    if (has_window_) {
        ImGui_ImplGlfw_NewFrame();
        imgui_compat::use_mouse(arrivals.input.mouse);
        imgui_compat::use_framebuffer_pixels(static_cast<float>(target.width), static_cast<float>(target.height));
        imgui_compat::use_keys(arrivals.input.keys);
    } else {
        begin_untouched_frame(target.width, target.height);
        ImGui::GetIO().DeltaTime = static_cast<float>(target.seconds);
    }
    const Palette& colors = theme_.colors;
    // A picture is a single frame and must be complete.
    const auto for_uploads = has_window_ ? std::optional<std::chrono::steady_clock::duration>(kForUploads) : std::nullopt;
    canvas_->begin_frame({colors.dark, colors.pane, colors.line, colors.text, theme_.scale}, target.width, target.height, for_uploads);
    ImGui::NewFrame();
    Requests requests = draw_frame(ui, settings, target, *canvas_, false, std::move(arrivals));
    requests.maps_pending = renderer_->left_out();
    if (requests.hold > 0) {
        ImGui::EndFrame();
        return requests;
    }
    ImGui::Render();
    draw_pixels(target);
    return requests;
}

std::string Screen::draw_svg(const DrawUi& ui, Settings& settings, const Target& target, bool trim) {
    const PlainShapes plain;
    SvgCanvas canvas(*canvas_);
    begin_untouched_frame(target.width, target.height);
    ImGui::NewFrame();
    draw_frame(ui, settings, target, canvas, true, {});
    ImGui::Render();
    return svg_of(*ImGui::GetDrawData(), theme_, "attnscope", trim);
}

// Limits the scale, because glyphs at larger scales would take too much memory.
float Screen::picture_factor(const PictureOrder& order) const { return std::min(order.scale, kLargestScale / theme_.scale); }

bool Screen::ready_for(const PictureOrder& order) { return fonts_->at_hand(theme_.scale * picture_factor(order)); }

TakenPicture Screen::take_picture(const DrawUi& ui, const Settings& settings, const Target& target, const PictureOrder& order) {
    const UntouchedInput untouched;
    Settings copy = settings;
    Target enlarged = target;
    const float factor = picture_factor(order);
    enlarged.width = static_cast<int>(std::lround(static_cast<float>(target.width) * factor));
    enlarged.height = static_cast<int>(std::lround(static_cast<float>(target.height) * factor));
    if (enlarged.width > kMaxImageSide || enlarged.height > kMaxImageSide ||
        std::int64_t{enlarged.width} * enlarged.height > kMaxImagePixels)
        throw PlatformError("a picture of " + std::to_string(enlarged.width) + " x " + std::to_string(enlarged.height) +
                            " pixels is too large: choose a smaller scale");
    const float scale = theme_.scale;
    apply_theme(copy.dark, scale * factor);
    TakenPicture picture;
    try {
        const Framebuffer pixels(enlarged.width, enlarged.height);
        pixels.bind();
        // Some layouts depend on the previous frame, so draw one first.
        for (int frame = 0; frame < 2; ++frame) {
            ImGui_ImplOpenGL3_NewFrame();
            begin_untouched_frame(enlarged.width, enlarged.height);
            const Palette& colors = theme_.colors;
            canvas_->begin_frame({colors.dark, colors.pane, colors.line, colors.text, theme_.scale}, enlarged.width, enlarged.height);
            if (order.svg && frame == 1) {
                picture.svg = draw_svg(ui, copy, enlarged, order.trim);
                break;
            }
            ImGui::NewFrame();
            draw_frame(ui, copy, enlarged, *canvas_, true, {});
            ImGui::Render();
            draw_pixels(enlarged);
        }
        if (!order.svg) picture.image = {enlarged.width, enlarged.height, read_pixels(enlarged.width, enlarged.height)};
        if (!order.svg && order.trim) picture.image = trimmed(picture.image, kPictureMargin);
    } catch (...) {
        glBindFramebuffer(GL_FRAMEBUFFER, 0);
        apply_theme(settings.dark, scale);
        throw;
    }
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    apply_theme(settings.dark, scale);
    return picture;
}

}  // namespace attn::app
