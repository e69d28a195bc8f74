#pragma once
/// The only place in the widgets that depends on the version of Dear ImGui: 1.86 (Debian 12) up to current ones.

#include <imgui.h>
#include <imgui_internal.h>

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace attn::app {

/// The keys the program uses, independent of ImGui's version. Letters and digits are given as 'F', '1'.
enum class Key : int {
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Space,
    Tab,
    Backspace,
    Delete,
    F1,
    F6,
    F11,
    KeypadAdd,
    KeypadSubtract,
    Keypad0
};

namespace compat {

#if IMGUI_VERSION_NUM >= 18700
inline ImGuiKey imgui_key(Key key) {
    switch (key) {
    case Key::Left:
        return ImGuiKey_LeftArrow;
    case Key::Right:
        return ImGuiKey_RightArrow;
    case Key::Up:
        return ImGuiKey_UpArrow;
    case Key::Down:
        return ImGuiKey_DownArrow;
    case Key::PageUp:
        return ImGuiKey_PageUp;
    case Key::PageDown:
        return ImGuiKey_PageDown;
    case Key::Home:
        return ImGuiKey_Home;
    case Key::End:
        return ImGuiKey_End;
    case Key::Enter:
        return ImGuiKey_Enter;
    case Key::Escape:
        return ImGuiKey_Escape;
    case Key::Space:
        return ImGuiKey_Space;
    case Key::Tab:
        return ImGuiKey_Tab;
    case Key::Backspace:
        return ImGuiKey_Backspace;
    case Key::Delete:
        return ImGuiKey_Delete;
    case Key::F1:
        return ImGuiKey_F1;
    case Key::F6:
        return ImGuiKey_F6;
    case Key::F11:
        return ImGuiKey_F11;
    case Key::KeypadAdd:
        return ImGuiKey_KeypadAdd;
    case Key::KeypadSubtract:
        return ImGuiKey_KeypadSubtract;
    case Key::Keypad0:
        return ImGuiKey_Keypad0;
    }
    return ImGuiKey_None;
}
inline ImGuiKey imgui_key(char symbol) {
    if (symbol == '+') return ImGuiKey_Equal;
    if (symbol == '-') return ImGuiKey_Minus;
    return static_cast<ImGuiKey>(symbol >= '0' && symbol <= '9' ? ImGuiKey_0 + (symbol - '0') : ImGuiKey_A + (symbol - 'A'));
}
#else
/// Index into io.KeysDown. ImGui 1.86 leaves letters and function keys to the backend, so these are GLFW's codes and ASCII.
inline int imgui_key(Key key) {
    switch (key) {
    case Key::Left:
        return ImGui::GetKeyIndex(ImGuiKey_LeftArrow);
    case Key::Right:
        return ImGui::GetKeyIndex(ImGuiKey_RightArrow);
    case Key::Up:
        return ImGui::GetKeyIndex(ImGuiKey_UpArrow);
    case Key::Down:
        return ImGui::GetKeyIndex(ImGuiKey_DownArrow);
    case Key::PageUp:
        return ImGui::GetKeyIndex(ImGuiKey_PageUp);
    case Key::PageDown:
        return ImGui::GetKeyIndex(ImGuiKey_PageDown);
    case Key::Home:
        return ImGui::GetKeyIndex(ImGuiKey_Home);
    case Key::End:
        return ImGui::GetKeyIndex(ImGuiKey_End);
    case Key::Enter:
        return ImGui::GetKeyIndex(ImGuiKey_Enter);
    case Key::Escape:
        return ImGui::GetKeyIndex(ImGuiKey_Escape);
    case Key::Space:
        return ImGui::GetKeyIndex(ImGuiKey_Space);
    case Key::Tab:
        return ImGui::GetKeyIndex(ImGuiKey_Tab);
    case Key::Backspace:
        return ImGui::GetKeyIndex(ImGuiKey_Backspace);
    case Key::Delete:
        return ImGui::GetKeyIndex(ImGuiKey_Delete);
    case Key::F1:
        return 290;
    case Key::F6:
        return 295;
    case Key::F11:
        return 300;
    case Key::KeypadAdd:
        return 334;
    case Key::KeypadSubtract:
        return 333;
    case Key::Keypad0:
        return 320;
    }
    return -1;
}
inline int imgui_key(char symbol) { return symbol == '+' ? '=' : symbol; }
#endif

}  // namespace compat

/// True in the frame in which the key is pressed and, with `repeat`, in those in which it repeats.
inline bool key_pressed(Key key, bool repeat = true) { return ImGui::IsKeyPressed(compat::imgui_key(key), repeat); }
/// The same for an upper-case letter, a digit, + (which shares its key with =) or -.
inline bool key_pressed(char symbol, bool repeat = false) { return ImGui::IsKeyPressed(compat::imgui_key(symbol), repeat); }

/// True in the frame in which Enter is pressed. Unlike an ImGui field, this ignores a key still held from before that repeats.
inline bool enter_pressed_now() {
#if IMGUI_VERSION_NUM >= 18700
    return ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false);
#else
    return ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter), false) ||
           ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_KeyPadEnter), false);
#endif
}

/// True while an upper-case letter or a digit is held down.
inline bool key_down(char symbol) { return ImGui::IsKeyDown(compat::imgui_key(symbol)); }

/// Claims the keyboard: io.WantCaptureKeyboard is true in the next frame, which suppresses shortcuts.
inline void capture_keyboard() {
#if IMGUI_VERSION_NUM >= 18900
    ImGui::SetNextFrameWantCaptureKeyboard(true);
#else
    ImGui::CaptureKeyboardFromApp(true);
#endif
}

/// Makes the last item receive the mouse wheel instead of the scrolling window.
inline void own_mouse_wheel() {
#if IMGUI_VERSION_NUM >= 18950
    ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
#else
    ImGui::SetItemUsingMouseWheel();
#endif
}

/// Whether the item below the mouse has received the wheel by own_mouse_wheel() in the last frame.
inline bool mouse_wheel_is_owned() {
#if IMGUI_VERSION_NUM >= 18950
    return ImGui::GetKeyOwner(ImGuiKey_MouseWheelY) != static_cast<ImGuiID>(-1);  // "no owner" is called otherwise in each version
#else
    return ImGui::GetCurrentContext()->HoveredIdUsingMouseWheel;
#endif
}

/// Whether the mouse is over something that can be scrolled, and has pressed no control there.
inline bool mouse_presses_nothing_in_scrolled_pane() {
    const ImGuiContext& context = *ImGui::GetCurrentContext();
    if (context.ActiveId != 0 && (context.ActiveIdWindow == nullptr || context.ActiveId != context.ActiveIdWindow->MoveId)) return false;
    for (const ImGuiWindow* window = context.HoveredWindow; window != nullptr; window = window->ParentWindow)
        if (window->ScrollMax.y > 0) return true;
    return false;
}

/// An invisible button that lets later items lie on top of it.
inline bool invisible_button_below(const char* id, ImVec2 size, ImGuiButtonFlags flags = 0) {
#if IMGUI_VERSION_NUM >= 18970
    ImGui::SetNextItemAllowOverlap();
    return ImGui::InvisibleButton(id, size, flags);
#else
    const bool pressed = ImGui::InvisibleButton(id, size, flags | static_cast<ImGuiButtonFlags>(ImGuiButtonFlags_AllowItemOverlap));
    ImGui::SetItemAllowOverlap();
    return pressed;
#endif
}

/// How long the mouse has rested on the hovered item, in seconds.
inline float hovered_seconds() { return ImGui::GetCurrentContext()->HoveredIdTimer; }

/// Whether the last item has been clicked since the mouse came to it.
inline bool clicked_while_hovered() {
    const ImGuiContext& imgui = *ImGui::GetCurrentContext();
    return imgui.LastActiveId == ImGui::GetItemID() && imgui.LastActiveIdTimer <= imgui.HoveredIdTimer;
}

/// Whether the mouse was on an item in the last frame.
inline bool something_is_hovered() { return ImGui::GetCurrentContext()->HoveredId != 0; }

/// Whether the current window, drawn to its end, gets or loses its scroll bar in the next frame.
inline bool scroll_bar_is_to_change() {
    const ImGuiWindow* window = ImGui::GetCurrentWindow();
    const float needed = std::floor(window->DC.CursorMaxPos.y - window->DC.CursorStartPos.y) + 2 * window->WindowPadding.y;
    return (window->Flags & ImGuiWindowFlags_NoScrollbar) == 0 && window->ScrollbarY != (needed > window->SizeFull.y);
}

/// How high a window was drawn last; 0 if it never was.
inline float last_height(const char* window) {
    const ImGuiWindow* found = ImGui::FindWindowByName(window);
    return found == nullptr ? 0 : found->Size.y;
}

inline bool any_popup_open() { return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel); }
/// Whether the current window belongs to a popup.
inline bool in_popup() { return (ImGui::GetCurrentWindow()->RootWindow->Flags & ImGuiWindowFlags_Popup) != 0; }
/// Whether the current window belongs to the frame while a sheet in front of it has the keyboard.
inline bool behind_sheet() {
    const ImGuiWindow *focused = ImGui::GetCurrentContext()->NavWindow, *current = ImGui::GetCurrentWindow()->RootWindow;
    const bool of_frame = (current->Flags & ImGuiWindowFlags_NoBringToFrontOnFocus) != 0;
    return of_frame && focused != nullptr && focused->WasActive && focused->RootWindow != current;
}
/// The top-level child window that contains the current window; the window itself for a menu or a sheet.
inline ImGuiWindow* current_pane() {
    ImGuiWindow* window = ImGui::GetCurrentWindow();
    while (window->ParentWindow != nullptr && window->ParentWindow != window->RootWindow && window != window->RootWindow)
        window = window->ParentWindow;
    return window;
}
/// Draws nothing of the current window in this frame.
inline void hide_current_window() {
    ImGuiWindow* const window = ImGui::GetCurrentWindow();
    window->Hidden = true;
    window->HiddenFramesCanSkipItems = 1;
    window->SkipItems = true;
}
inline void close_popups() { ImGui::ClosePopupsOverWindow(nullptr, false); }

/// The item that was clicked last and has the focus; 0 for none.
inline ImGuiID focused_item() { return ImGui::GetFocusID(); }

/// Announces that a field is about to open and receive typed text: io.WantTextInput is true in the next frame, before the field is active.
inline void expect_typing() { ImGui::GetCurrentContext()->WantTextInputNextFrame = 1; }
/// Gives the next field the focus.
inline void focus_next_field() {
    ImGui::SetKeyboardFocusHere();
    expect_typing();
}

/// Ends text input in the active field.
inline void stop_typing() { ImGui::ClearActiveID(); }

/// Takes the focus from the item that has it.
inline void release_keyboard_focus() {
    // Taking it from all windows would close the popup.
    if (any_popup_open()) ImGui::GetCurrentContext()->NavId = 0;
    else ImGui::SetWindowFocus(nullptr);
}

/// Height of a font in pixels.
inline float font_size(const ImFont* font) {
#if IMGUI_VERSION_NUM >= 19200
    return font->LegacySize;
#else
    return font->FontSize;
#endif
}

/// Distance from the top of a line to the baseline, in pixels.
inline float font_ascent(const ImFont* font) {
#if IMGUI_VERSION_NUM >= 19200
    return const_cast<ImFont*>(font)->GetFontBaked(font->LegacySize)->Ascent;
#else
    return font->Ascent;
#endif
}

/// Whether the fonts, which all have the same letters, contain this character. True if there are no fonts yet.
inline bool has_glyph(char32_t character) {
    if (ImGui::GetCurrentContext() == nullptr || ImGui::GetIO().Fonts->Fonts.empty()) return true;
    if (character > IM_UNICODE_CODEPOINT_MAX) return false;
    ImFont* font = ImGui::GetIO().Fonts->Fonts[0];
#if IMGUI_VERSION_NUM >= 19200
    return font->IsGlyphInFont(static_cast<ImWchar>(character));
#else
    return font->FindGlyphNoFallback(static_cast<ImWchar>(character)) != nullptr;
#endif
}

/// Transforms text that is pasted into or copied from a field, during its lifetime.
class ClipboardFilter {
public:
    using Change = std::function<std::string(std::string_view)>;
    ClipboardFilter(Change pasted, Change copied)
        : pasted_(std::move(pasted)), copied_(std::move(copied)), get_(get()), set_(set()), data_(data()) {
        data() = this;
        if (get_ != nullptr) get() = [](Owner) { return self()->paste(); };
        if (set_ != nullptr) set() = [](Owner owner, const char* text) { self()->copy(owner, text); };
    }
    ~ClipboardFilter() {
        get() = get_;
        set() = set_;
        data() = data_;
    }
    ClipboardFilter(const ClipboardFilter&) = delete;
    ClipboardFilter& operator=(const ClipboardFilter&) = delete;

private:
#if IMGUI_VERSION_NUM >= 19110
    using Owner = ImGuiContext*;
#else
    using Owner = void*;
#endif
    using Get = const char* (*)(Owner);
    using Set = void (*)(Owner, const char*);
#if IMGUI_VERSION_NUM >= 19110
    static Get& get() { return ImGui::GetPlatformIO().Platform_GetClipboardTextFn; }
    static Set& set() { return ImGui::GetPlatformIO().Platform_SetClipboardTextFn; }
    static void*& data() { return ImGui::GetPlatformIO().Platform_ClipboardUserData; }
    Owner owner() const { return ImGui::GetCurrentContext(); }
#else
    static Get& get() { return ImGui::GetIO().GetClipboardTextFn; }
    static Set& set() { return ImGui::GetIO().SetClipboardTextFn; }
    static void*& data() { return ImGui::GetIO().ClipboardUserData; }
    Owner owner() const { return data_; }
#endif
    static ClipboardFilter* self() { return static_cast<ClipboardFilter*>(data()); }
    const char* paste() {
        data() = data_;
        const char* text = get_(owner());
        data() = this;
        if (text == nullptr) return nullptr;
        text_ = pasted_(text);
        return text_.c_str();
    }
    void copy(Owner, const char* text) {
        data() = data_;
        set_(owner(), copied_(text).c_str());
        data() = this;
    }

    Change pasted_, copied_;
    Get get_;
    Set set_;
    void* data_;
    std::string text_;  ///< the last pasted text
};

inline void push_font(ImFont* font) {
#if IMGUI_VERSION_NUM >= 19200
    ImGui::PushFont(font, font->LegacySize);
#else
    ImGui::PushFont(font);
#endif
}

}  // namespace attn::app
