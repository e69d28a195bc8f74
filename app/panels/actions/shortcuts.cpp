#include <algorithm>

#include "app/panels/actions/actions.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/panels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// One line of the sheet: the keys of all actions that share it.
struct SheetRow {
    std::string line;
    std::vector<std::string> keys;
};

std::vector<SheetRow> sheet_rows() {
    std::vector<SheetRow> rows;
    for (const Action& action : actions()) {
        if (action.sheet.empty() || action.chords.empty()) continue;
        auto row = std::find_if(rows.begin(), rows.end(), [&](const SheetRow& r) { return r.line == action.sheet; });
        if (row == rows.end()) row = rows.insert(rows.end(), {action.sheet, {}});
        row->keys.push_back(action.chords.front().text());
    }
    return rows;
}

/// Keys that a control with the keyboard (a slider stepped by arrows) needs itself.
bool belongs_to_controls(const KeyChord& chord) { return chord.key && *chord.key <= Key::Space && *chord.key != Key::Escape; }

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

/// Tab goes from control to control, also inside a menu; Enter and Space press the one it has come to.
void focus_keys(PanelContext& context) {
    KeyboardFocus& focus = context.view.focus;
    const ImGuiIO& io = ImGui::GetIO();
    const bool menu = any_popup_open();
    if (key_pressed(Key::Tab) && !io.KeyCtrl && !io.KeyAlt) {
        if (io.WantTextInput) stop_typing();
        focus.move(io.KeyShift ? -1 : +1, menu);
    }
    if (io.WantTextInput) return;
    if (menu && key_pressed(Key::Down)) focus.move(+1, true);
    if (menu && key_pressed(Key::Up)) focus.move(-1, true);
    if (focus.visible() && (key_pressed(Key::Enter, false) || key_pressed(Key::Space, false))) focus.press();
}

/// The actions whose keys are pressed. Of several with the same key the first one counts: the lesson's stand first.
std::vector<const Action*> pressed_actions(const PanelContext& context) {
    std::vector<const Action*> pressed;
    std::vector<KeyChord> taken;
    for (const Action& action : actions()) {
        if (!in_scope(action.scope, context.view)) continue;
        for (const KeyChord& chord : action.chords) {
            if (!chord.pressed() || std::find(taken.begin(), taken.end(), chord) != taken.end()) continue;
            if (ImGui::GetIO().WantCaptureKeyboard && belongs_to_controls(chord)) continue;
            if (context.view.focus.visible() && (chord.key == Key::Space || chord.key == Key::Enter)) continue;
            taken.push_back(chord);
            if (action.can_run(context)) pressed.push_back(&action);
            break;
        }
    }
    return pressed;
}

void draw_rows(const PanelContext& context, const std::vector<SheetRow>& rows, int columns, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const int each = (static_cast<int>(rows.size()) + columns - 1) / columns;
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
        const SheetRow& row = rows[static_cast<std::size_t>(i)];
        const float left = origin.x + width / static_cast<float>(columns) * static_cast<float>(i / each);
        const float y = origin.y + context.px(30) * static_cast<float>(i % each);
        float x = left;
        for (const std::string& key : row.keys) x += draw_key_cap(context.ui(), list, {x, y}, key) + context.px(4);
        const float words = std::max(left + context.px(116), x + context.px(6));
        const float room = left + width / static_cast<float>(columns) - words;
        draw_text(list, fonts.body, {words, y + context.px(3)}, colors.text, elide(fonts.body, row.line, room));
    }
    ImGui::SetCursorScreenPos({origin.x, origin.y + context.px(30) * static_cast<float>(each) + context.px(12)});
}

}  // namespace

void handle_shortcuts(PanelContext& context) {
    const ImGuiIO& io = ImGui::GetIO();
    context.view.compare.swapped = context.view.compare.on() && !io.WantTextInput && !io.KeyCtrl && key_down('X');
    const bool elsewhere = context.view.palette.open || file_sheet_is_open(context);
    if (!elsewhere) focus_keys(context);
    if (io.WantTextInput || ImGui::IsAnyItemActive() || elsewhere || io.KeyAlt) return;
    if (any_popup_open()) {
        if (key_pressed(Key::Escape, false)) close_popups();
        return;
    }
    for (const Action* action : pressed_actions(context)) action->run(context);
}

void draw_help_sheet(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::vector<SheetRow> rows = sheet_rows();
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float room = display.x - context.px(40);
    const int columns = room >= context.px(1120) ? 3 : room >= context.px(700) ? 2 : 1;
    const float width = std::min(context.px(380) * static_cast<float>(columns) + context.px(20), room);
    const float wanted = context.px(158) + context.px(30) * static_cast<float>((static_cast<int>(rows.size()) + columns - 1) / columns);
    // In a low window it scrolls.
    const bool scrolls = wanted > display.y;
    const float height = std::min(wanted, display.y);
    ImGui::SetNextWindowPos({(display.x - width) / 2, std::max((display.y - height) / 2, 0.F)});
    ImGui::SetNextWindowSize({width, height});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleColor(ImGuiCol_WindowBg, colors.pane);
    ImGui::PushStyleColor(ImGuiCol_Border, colors.accent);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, context.px(10));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(28), context.px(22)});
    const ImGuiWindowFlags frame = scrolls ? ImGuiWindowFlags_NoDecoration & ~ImGuiWindowFlags_NoScrollbar : ImGuiWindowFlags_NoDecoration;
    ImGui::Begin("##help_sheet", nullptr, frame | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
    text_line(context.ui(), fonts.heading, colors.text, "Keys and hints");
    gap(context.ui(), 10);
    draw_rows(context, rows, columns, width - context.px(56));
    paragraph(context.ui(), fonts.label, colors.muted,
              "Hover a cell to read it, click to lock it. The wheel zooms a map, dragging moves it. A double click changes a number, the "
              "right button also its row and its head. Click an operand at the right to walk back to where it came from. Tab goes from "
              "control to control, Enter presses. Ctrl + K finds everything else by its name.");
    const bool outside =
        ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing();
    if (outside) context.view.help = false;
    ImGui::End();
}

}  // namespace attn::app
