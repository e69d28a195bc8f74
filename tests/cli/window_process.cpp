#include "tests/cli/window_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>

#include "tests/cli/process.hpp"

#ifdef ATTN_HAS_X11
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#endif

namespace attn::test {

#ifdef ATTN_HAS_X11
namespace {

/// A window may disappear while it is examined; that is a valid result and must not end the test.
int ignore_error(Display*, XErrorEvent*) { return 0; }

/// Everything is prepared before, because only async-signal-safe calls are allowed between fork and exec.
pid_t start(const std::vector<std::string>& arguments, const std::string& folder, const std::string& err) {
    std::vector<std::string> words{ATTNSCOPE_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    // Do not touch the user's settings.
    const std::string config = folder + "/config";
    ::setenv("XDG_CONFIG_HOME", config.c_str(), 1);
    ::setenv("XDG_STATE_HOME", config.c_str(), 1);
    const pid_t child = ::fork();
    if (child != 0) return child;
    const int said = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(said, STDERR_FILENO);
    ::dup2(said, STDOUT_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(pointers[0], pointers.data());
    ::_exit(127);
}

}  // namespace

struct WindowViewer::Screen {
    Screen() : x_display(XOpenDisplay(nullptr), &XCloseDisplay) { XSetErrorHandler(&ignore_error); }
    bool is_there() const { return x_display != nullptr; }

    /// The visible window of this process, 0 if none.
    Window window_of(pid_t process) const { return find(DefaultRootWindow(x_display.get()), process); }

    std::string title(Window window) const {
        Atom type = None;
        int format = 0;
        unsigned long count = 0, rest = 0;
        unsigned char* value = nullptr;
        const Atom name = XInternAtom(x_display.get(), "_NET_WM_NAME", False);
        XGetWindowProperty(x_display.get(), window, name, 0, 256, False, AnyPropertyType, &type, &format, &count, &rest, &value);
        std::string text = value != nullptr && format == 8 ? std::string(reinterpret_cast<char*>(value), count) : "";
        XFree(value);
        return text;
    }

    std::size_t colors(Window window) const {
        XWindowAttributes place{};
        if (XGetWindowAttributes(x_display.get(), window, &place) == 0) return 0;
        XImage* image = XGetImage(x_display.get(), window, 0, 0, static_cast<unsigned>(place.width), static_cast<unsigned>(place.height),
                                  AllPlanes, ZPixmap);
        if (image == nullptr) return 0;
        std::set<unsigned long> colors;
        for (int y = 0; y < image->height; y += 3)
            for (int x = 0; x < image->width; x += 3) colors.insert(XGetPixel(image, x, y));
        XDestroyImage(image);
        return colors.size();
    }

    Window find(Window from, pid_t process) const {
        if (is_of(from, process)) return from;
        Window root = 0, parent = 0, *children = nullptr;
        unsigned count = 0;
        if (XQueryTree(x_display.get(), from, &root, &parent, &children, &count) == 0) return 0;
        Window found = 0;
        for (unsigned i = 0; i < count && found == 0; ++i) found = find(children[i], process);
        XFree(children);
        return found;
    }

    bool is_of(Window window, pid_t process) const {
        Atom type = None;
        int format = 0;
        unsigned long count = 0, rest = 0;
        unsigned char* value = nullptr;
        const Atom pid = XInternAtom(x_display.get(), "_NET_WM_PID", False);
        XGetWindowProperty(x_display.get(), window, pid, 0, 1, False, XA_CARDINAL, &type, &format, &count, &rest, &value);
        // Xlib returns 32-bit values as longs.
        const bool same = value != nullptr && count == 1 && static_cast<pid_t>(*reinterpret_cast<unsigned long*>(value)) == process;
        XFree(value);
        XWindowAttributes state{};
        return same && XGetWindowAttributes(x_display.get(), window, &state) != 0 && state.map_state == IsViewable;
    }

    std::unique_ptr<Display, int (*)(Display*)> x_display;
};

WindowViewer::WindowViewer() : screen_(std::make_unique<Screen>()) {}
WindowViewer::~WindowViewer() = default;
bool WindowViewer::can_see() const { return screen_->is_there(); }

SeenWindow WindowViewer::open(const std::vector<std::string>& arguments, const std::string& folder, std::size_t least_colors) const {
    SeenWindow seen;
    const std::string err = folder + "/window-said.txt";
    const pid_t child = start(arguments, folder, err);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    bool ended = false;
    while (!ended && seen.colors <= least_colors && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ended = ::waitpid(child, nullptr, WNOHANG) == child;
        const Window window = ended ? 0 : screen_->window_of(child);
        if (window != 0) seen = {screen_->title(window), screen_->colors(window), ""};
    }
    if (!ended) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    seen.err = read_bytes(err);
    return seen;
}

#else

struct WindowViewer::Screen {};
WindowViewer::WindowViewer() = default;
WindowViewer::~WindowViewer() = default;
bool WindowViewer::can_see() const { return false; }
SeenWindow WindowViewer::open(const std::vector<std::string>&, const std::string&, std::size_t) const { return {}; }

#endif

}  // namespace attn::test
