#include <cctype>

#include "app/panels/actions/actions.hpp"

namespace attn::app {
namespace {

std::string key_text(Key key) {
    switch (key) {
    case Key::Left:
        return "←";
    case Key::Right:
        return "→";
    case Key::Up:
        return "↑";
    case Key::Down:
        return "↓";
    case Key::PageUp:
        return "Page Up";
    case Key::PageDown:
        return "Page Down";
    case Key::Home:
        return "Home";
    case Key::End:
        return "End";
    case Key::Enter:
        return "Enter";
    case Key::Escape:
        return "Esc";
    case Key::Space:
        return "Space";
    case Key::Tab:
        return "Tab";
    case Key::Backspace:
        return "Backspace";
    case Key::Delete:
        return "Delete";
    case Key::F1:
        return "F1";
    case Key::F6:
        return "F6";
    case Key::F11:
        return "F11";
    case Key::KeypadAdd:
        return "Keypad +";
    case Key::KeypadSubtract:
        return "Keypad -";
    case Key::Keypad0:
        return "Keypad 0";
    }
    return "";
}

}  // namespace

std::string KeyChord::text() const {
    std::string text = ctrl ? "Ctrl + " : alt ? "Alt + " : "";
    if (shift) text += "Shift + ";
    if (key) text += key_text(*key);
    if (letter != 0) text += letter;
    if (typed != 0) text += static_cast<char>(std::toupper(static_cast<unsigned char>(typed)));
    return text;
}

bool KeyChord::pressed() const {
    const ImGuiIO& io = ImGui::GetIO();
    if (typed != 0) {
        if (io.KeyCtrl || io.KeyAlt) return false;
        for (const ImWchar character : io.InputQueueCharacters)
            if (character == static_cast<ImWchar>(typed)) return true;
        return false;
    }
    if (io.KeyCtrl != ctrl || io.KeyShift != shift || io.KeyAlt != alt) return false;
    return key ? key_pressed(*key, repeats) : letter != 0 && key_pressed(letter, repeats);
}

}  // namespace attn::app
