/// The program in a page: one window, no commands, and no files but those that the visitor gives it.

#include <emscripten.h>
#include <fmt/format.h>
#include <imgui.h>
// Must follow it.
#include <GLFW/glfw3.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "app/application.hpp"
#include "app/platform/app_loop.hpp"
#include "app/web/browser.hpp"
#include "app/web/downloads.hpp"
#include "app/web/page_link.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "engine/tensor/arithmetic.hpp"

namespace attn::app {
namespace {

/// What page.js says in the arguments of main().
struct PageArguments {
    std::string query;     ///< of the address
    std::string document;  ///< path of the document that the link holds; "": none
    bool damaged = false;  ///< it held one that could not be unpacked
    bool keeps = false;    ///< the browser's storage is this page's
};

const char* cursor_name(ImGuiMouseCursor cursor) {
    switch (cursor) {
    case ImGuiMouseCursor_TextInput:
        return "text";
    case ImGuiMouseCursor_ResizeEW:
        return "ew-resize";
    case ImGuiMouseCursor_ResizeNS:
        return "ns-resize";
    case ImGuiMouseCursor_Hand:
        return "pointer";
    default:
        return "default";
    }
}

class Page {
public:
    explicit Page(const PageArguments& arguments) {
        if (arguments.keeps) options_.settings_file = settings_path();
        settings_ = load_settings(options_.settings_file).settings;
        settings_.window_placed = false;  // the window is as large as the page
        begin(arguments);
        if (arguments.keeps) application_->keep_unsaved_work_in(autosave_path());
        else application_->tell("attnscope is open in another tab of this browser, which keeps settings and unsaved work.");
        application_->lend_desktop_dialogs("");
        application_->live_with(
            {.lists_files = false, .writes_folders = false, .closes = false, .copies_links = true, .dialog = "browser's dialog"},
            [this](const std::string& document) { copy_link(document); });
        window_ = std::make_unique<HostedWindow>(options_, settings_, waker_);
        lend_clipboard();
        browser::on_drop([this](std::string_view path) { window_->drop(std::string(path)); });
    }

    void tick() {
        follow_size();
        if (!window_->tick([this](Frame& frame) { application_->draw(frame); })) return;
        downloads_.hand_over();
        if (!std::exchange(shown_, true)) browser::show();
        if (const ImGuiMouseCursor cursor = ImGui::GetMouseCursor(); std::exchange(cursor_, cursor) != cursor)
            browser::set_cursor(cursor_name(cursor));
        if (const bool types = ImGui::GetIO().WantTextInput; std::exchange(types_, types) != types) browser::type(types);
    }

private:
    /// A link that cannot be followed opens the first example and says why.
    void begin(const PageArguments& arguments) {
        std::string problem = arguments.damaged ? "This link holds a document that is not complete." : "";
        try {
            PageLink link = read_link(arguments.query);
            link.start.document.document = arguments.document;
            open(link, arguments.query.empty() && arguments.document.empty());
        } catch (const std::exception& error) {
            problem = fmt::format("This link cannot be followed: {}.", error.what());
            open({}, false);
        }
        if (!problem.empty()) application_->session().apply({command::TellFile{problem, true}, ""});
    }

    /// `as_left`: with what was open last.
    void open(PageLink link, bool as_left) {
        if (!link.view.theme.empty()) settings_.dark = link.view.theme == "dark";
        FirstDocument first = first_document(link.start, as_left ? settings_ : Settings());
        application_ = std::make_unique<Application>(
            std::move(first.document), [this] { waker_.wake(); }, memory_budget_mib(settings_));
        if (!first.notice.empty()) application_->tell(first.notice);
        if (link.start.lesson != nullptr) application_->open_lesson(link.start.lesson, link.start.lesson_step);
        if (!link.start.file.empty()) application_->open(link.start.file);
        look_there(link, *application_);
    }

    void copy_link(const std::string& document) {
        browser::copy_link(document, [this](std::string_view outcome) {
            application_->tell(std::string(outcome));
            waker_.wake();
        });
    }

    void follow_size() {
        const browser::Size size = browser::page_size();
        if (std::exchange(size_, size) != size) glfwSetWindowSize(glfwGetCurrentContext(), size.width, size.height);
    }

    /// GLFW has none here.
    void lend_clipboard() {
        ImGuiIO& io = ImGui::GetIO();
        io.ClipboardUserData = this;
        io.SetClipboardTextFn = [](void*, const char* text) { browser::copy(text); };
        io.GetClipboardTextFn = [](void* page) { return (static_cast<Page*>(page)->pasted_ = browser::pasted()).c_str(); };
    }

    Settings settings_;
    Waker waker_;
    LoopOptions options_;
    std::unique_ptr<Application> application_;
    std::unique_ptr<HostedWindow> window_;
    Downloads downloads_;
    browser::Size size_;
    std::string pasted_;
    ImGuiMouseCursor cursor_ = ImGuiMouseCursor_Arrow;
    bool shown_ = false, types_ = false;
};

/// Of the browser's loop, which lasts as long as the page.
void tick(void* page) {
    try {
        static_cast<Page*>(page)->tick();
    } catch (const std::exception& error) {
        emscripten_cancel_main_loop();
        browser::end_with(fmt::format("attnscope has ended: {}. Loading the page again may help.", error.what()));
    }
}

}  // namespace
}  // namespace attn::app

/// Whether what is below the mouse takes the wheel, as maps do, or it scrolls.
extern "C" EMSCRIPTEN_KEEPALIVE int attn_can_scroll() { return attn::app::mouse_presses_nothing_in_scrolled_pane() ? 1 : 0; }
extern "C" EMSCRIPTEN_KEEPALIVE int attn_owns_wheel() { return attn::app::mouse_wheel_is_owned() ? 1 : 0; }

int main(int argc, char** argv) {
    using namespace attn::app;
    const auto argument = [&](int i) { return i < argc ? std::string(argv[i]) : std::string(); };
    try {
        attn::require_ieee_arithmetic();
        auto page = std::make_unique<Page>(PageArguments{argument(1), argument(2), !argument(3).empty(), !argument(4).empty()});
        emscripten_set_main_loop_arg(tick, page.release(), 0, false);
    } catch (const std::exception& error) {
        browser::end_with(fmt::format("attnscope cannot start: {}.", error.what()));
    }
    return 0;
}
