#include <algorithm>
#include <string_view>

#include "app/panels/actions/actions.hpp"
#include "app/panels/files/files.hpp"
#include "app/widgets/controls.hpp"

namespace attn::app {
namespace {

/// Keys that a focused control needs itself, such as arrows for a slider.
bool belongs_to_controls(const KeyChord& chord) { return chord.key && *chord.key <= Key::Space && *chord.key != Key::Escape; }

/// Keys of the window that mean the same while something is typed: the text has Ctrl with other keys.
bool works_while_typing(const KeyChord& chord) {
    return chord.ctrl && std::string_view("EKOQS+-0").find(chord.letter) != std::string_view::npos;
}

bool in_scope(KeyScope scope, const ViewState& view) {
    switch (scope) {
    case KeyScope::Lesson:
        return view.lesson.open();
    case KeyScope::Training:
        return view.view == View::Train;
    case KeyScope::Picture:
        return view.view != View::Train;
    case KeyScope::Everywhere:
        return true;
    }
    return false;
}

/// Beside those that move through any popup.
void menu_keys(KeyboardFocus& focus) {
    if (key_pressed(Key::Home, false)) focus.move_to_end_of_menu(false);
    if (key_pressed(Key::End, false)) focus.move_to_end_of_menu(true);
    for (const ImWchar letter : ImGui::GetIO().InputQueueCharacters)
        if (letter > ' ') focus.move_to_letter(letter, ImGui::GetTime());
}

/// Tab moves between controls, also within a menu; Enter and Space press the focused one.
void focus_keys(PanelContext& context) {
    KeyboardFocus& focus = context.view.focus;
    const ImGuiIO& io = ImGui::GetIO();
    const bool menu = any_popup_open();
    const bool in_list = io.WantTextInput && context.view.text_row.edit.list.open;
    if (key_pressed(Key::Tab) && !io.KeyCtrl && !io.KeyAlt && !in_list) {
        if (io.WantTextInput) stop_typing();
        focus.move(io.KeyShift ? -1 : +1, menu);
    }
    if (io.WantTextInput) return;
    if (menu && key_pressed(Key::Down)) focus.move(+1, true);
    if (menu && key_pressed(Key::Up)) focus.move(-1, true);
    if (focus.in_menu()) menu_keys(focus);
    if (focus.visible() && (key_pressed(Key::Enter, false) || key_pressed(Key::Space, false))) focus.press();
}

bool has_question(const LessonView& lesson) { return lesson.open() && lesson.current().question.has_value(); }

/// The actions whose keys are pressed. If several share a key, the first one wins; those of lessons come first.
std::vector<const Action*> pressed_actions(const PanelContext& context) {
    std::vector<const Action*> pressed;
    std::vector<KeyChord> taken;
    for (const Action& action : actions()) {
        if (!in_scope(action.scope, context.view)) continue;
        // Where it has no question, a lesson leaves the answer keys to the panes. A second press of an answer must not hide one of them.
        if (action.scope == KeyScope::Lesson && !action.can_run(context) && !has_question(context.view.lesson)) continue;
        for (const KeyChord& chord : action.chords) {
            if (!chord.pressed() || std::find(taken.begin(), taken.end(), chord) != taken.end()) continue;
            if ((ImGui::GetIO().WantTextInput || context.view.help) && !works_while_typing(chord)) continue;
            if (ImGui::GetIO().WantCaptureKeyboard && belongs_to_controls(chord)) continue;
            if (context.view.focus.takes_numbers() && is_of_number(static_cast<unsigned char>(chord.typed))) continue;
            if (context.view.focus.visible() && (chord.key == Key::Space || chord.key == Key::Enter)) continue;
            taken.push_back(chord);
            if (action.can_run(context)) pressed.push_back(&action);
            break;
        }
    }
    return pressed;
}

/// The keys that close the help sheet, though its search field has the keyboard.
bool closes_help(const PanelContext& context) {
    const bool asked_again = context.view.help_page.search.empty() && KeyChord{.typed = '?'}.pressed();
    return key_pressed(Key::Escape, false) || key_pressed(Key::F1, false) || asked_again;
}

}  // namespace

void handle_shortcuts(PanelContext& context) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool other = !io.WantTextInput && !io.KeyCtrl && key_down('X');
    context.view.compare.swapped = context.view.compare.on() && other != context.view.compare.first;
    context.view.focus.follow_menu(any_popup_open());
    const bool elsewhere = context.view.palette.open || context.view.text_row.sheet.open || file_sheet_is_open(context);
    if (!elsewhere && context.view.help && closes_help(context)) {
        context.view.help = false;
        return stop_typing();
    }
    if (!elsewhere) focus_keys(context);
    if ((!io.WantTextInput && ImGui::IsAnyItemActive()) || elsewhere) return;
    if (any_popup_open()) {
        if (!io.WantTextInput && key_pressed(Key::Escape, false)) return close_popups();
        // What only explains something does not keep the keys.
        if (!context.view.edits.explains || pressed_actions(context).empty()) return;
        close_popups();
    }
    for (const Action* action : pressed_actions(context)) {
        if (io.WantTextInput) stop_typing();
        action->run(context);
    }
}

}  // namespace attn::app
