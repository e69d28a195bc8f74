#include "app/panels/shortcuts.hpp"

#include <algorithm>
#include <array>

#include "app/panels/edits.hpp"
#include "app/panels/lesson_player.hpp"
#include "app/panels/navigation.hpp"
#include "app/panels/panels.hpp"
#include "app/panels/train_transport.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr std::array<Shortcut, 26> kShortcuts = {{
    {"← →", "previous and next stage"},
    {"Home End", "first and last stage"},
    {"Space", "play the stages, pause"},
    {"↑ ↓", "layer above and below"},
    {"[ ]", "previous and next head"},
    {", .", "previous and next sequence"},
    {"Esc", "unlock the chosen cell; close"},
    {"Shift + arrows", "move the chosen cell"},
    {"S H G R", "step, heads, grid view; training run"},
    {"C", "causal mask on or off"},
    {"P", "padding mask on or off"},
    {"B  hold X", "compare; change A and B about"},
    {"D", "values or gradients"},
    {"T", "edit the text"},
    {"Train: Space +", "start, pause; one step"},
    {"Train: ← →", "moment of the run before, after"},
    {"Train: Home End", "first moment; follow the newest"},
    {"Train: M", "play through the moments"},
    {"Train: A B", "pin what is shown as A, as B"},
    {"F", "fit the picture again"},
    {"Ctrl + Z", "undo"},
    {"Ctrl + Y", "redo"},
    {"1 2 3", "settings, cell, stages: hide or show"},
    {"F11", "the picture alone"},
    {"L", "light or dark"},
    {"?", "this sheet"},
}};

void step(PanelContext& context, int direction) {
    context.view.playing = false;
    step_stage(context.view, context.trace(), direction);
}

void change_layer(PanelContext& context, int direction) {
    const int last = static_cast<int>(context.trace().config.num_layers) - 1;
    go_to_layer(context.view, context.trace(), std::clamp(std::max(context.view.stage.layer, 0) + direction, 0, last));
}

void toggle_mask(PanelContext& context, bool MaskSettings::*mask) {
    ForwardSettings forward = context.document.forward;
    forward.masks.*mask = !(forward.masks.*mask);
    emit_forward(context, std::move(forward), "");
}

/// Moves the chosen cell of the current stage by one row or column.
void move_cell(PanelContext& context, int rows, int cols) {
    const RecordedStage<float>* stage = context.trace().find(context.view.stage);
    if (stage == nullptr) return;
    const Shape& shape = stage->value.shape();
    const auto move = [&](const Dim& dim, int by) {
        const std::int64_t index = context.view.locked.on(dim.axis).value_or(0) + by;
        context.view.locked.set(dim.axis, std::clamp<std::int64_t>(index, 0, dim.size - 1));
    };
    move(shape[shape.rank() - 1], cols);
    if (shape.rank() > 2) move(shape[shape.rank() - 2], rows);
}

/// Keys of the Train view, where time is the run's and not the stages'.
void training_keys(PanelContext& context) {
    const auto moment = [&](Key key, int direction) {
        if (!key_pressed(key)) return;
        step_moment(context, direction);
        ++context.view.gesture;
    };
    moment(Key::Left, -1);
    moment(Key::Right, +1);
    if (key_pressed(Key::Home, false)) show_first_moment(context);
    if (key_pressed(Key::End, false)) follow_newest(context);
    if (key_pressed(Key::Space, false)) toggle_training(context);
    for (const ImWchar typed : ImGui::GetIO().InputQueueCharacters) {
        if (typed == '+') context.commands.push_back({command::StepTraining{}, ""});
        if (typed == 'm') toggle_replay(context);
        if (typed == 'a') pin_a(context);
        if (typed == 'b') pin_b(context);
    }
}

void navigation_keys(PanelContext& context) {
    ViewState& view = context.view;
    const bool shift = ImGui::GetIO().KeyShift;
    if (key_pressed(Key::Left)) shift ? move_cell(context, 0, -1) : step(context, -1);
    if (key_pressed(Key::Right)) shift ? move_cell(context, 0, +1) : step(context, +1);
    if (key_pressed(Key::Up)) shift ? move_cell(context, -1, 0) : change_layer(context, -1);
    if (key_pressed(Key::Down)) shift ? move_cell(context, +1, 0) : change_layer(context, +1);
    if (key_pressed(Key::Home, false)) go_to_first_stage(view, context.trace());
    if (key_pressed(Key::End, false)) go_to_last_stage(view, context.trace());
    if (key_pressed(Key::Space, false)) {
        view.playing = !view.playing;
        view.next_step_at = context.now;
        view.view = View::Step;
    }
}

/// Keys known by the character they type, so that they sit where the keyboard's layout puts them.
void character_keys(PanelContext& context) {
    ViewState& view = context.view;
    for (const ImWchar typed : ImGui::GetIO().InputQueueCharacters) {
        for (const ViewInfo& info : views())
            if (typed == static_cast<ImWchar>(info.key)) view.view = info.view;
        switch (typed) {
        case '[':
            view.head = std::max<std::int64_t>(view.head - 1, 0);
            break;
        case ']':
            view.head = std::min(view.head + 1, head_count(context.trace()) - 1);
            break;
        case ',':
            view.batch = std::max<std::int64_t>(view.batch - 1, 0);
            break;
        case '.':
            view.batch = std::min(view.batch + 1, batch_size(context.trace()) - 1);
            break;
        case 'c':
            toggle_mask(context, &MaskSettings::causal);
            break;
        case 'p':
            toggle_mask(context, &MaskSettings::padding);
            break;
        case 'b':
            if (view.view != View::Train) view.compare.choose(view.compare.on() ? Compare::Off : view.compare.last);
            break;
        case 'd':
            view.gradients = !view.gradients;
            break;
        case 't':
            start_text_edit(context);
            break;
        case 'f':
            view.zooms.clear();
            break;
        case 'l':
            view.dark = !view.dark;
            break;
        case '1':
            view.panes.left = !view.panes.left;
            break;
        case '2':
            view.panes.right = !view.panes.right;
            break;
        case '3':
            view.panes.strip = !view.panes.strip;
            break;
        case '?':
            view.help = !view.help;
            break;
        default:
            break;
        }
    }
}

void undo_keys(PanelContext& context) {
    const ImGuiIO& io = ImGui::GetIO();
    if (!io.KeyCtrl) return;
    if (key_pressed('Z', true))
        context.commands.push_back({io.KeyShift ? decltype(Command::what){command::Redo{}} : decltype(Command::what){command::Undo{}}, ""});
    if (key_pressed('Y', true)) context.commands.push_back({command::Redo{}, ""});
}

/// Arrows and the keys of a presenter's remote, which a lesson takes before anything else does. True when one was pressed.
bool lesson_keys(PanelContext& context) {
    ViewState& view = context.view;
    if (ImGui::GetIO().KeyShift) return false;  // moves the chosen cell
    if (key_pressed(Key::Right) || key_pressed(Key::PageDown)) return next_lesson_step(view), true;
    if (key_pressed(Key::Left) || key_pressed(Key::PageUp)) return previous_lesson_step(view), true;
    if (key_pressed(Key::Home, false)) return go_to_lesson_step(view, 0), true;
    if (key_pressed(Key::End, false)) return go_to_lesson_step(view, view.lesson.lesson->steps.size() - 1), true;
    if (key_pressed(Key::Backspace, false)) return reset_lesson_step(context), true;
    return false;
}

void escape(PanelContext& context) {
    ViewState& view = context.view;
    if (view.help) view.help = false;
    else if (view.panes.only_centre) view.panes.only_centre = false;
    else if (view.painting) view.painting = false;
    else if (view.lesson.open()) close_lesson(context);
    else {
        view.locked.clear();
        view.playing = false;
    }
}

}  // namespace

std::span<const Shortcut> shortcuts() { return kShortcuts; }

void handle_shortcuts(PanelContext& context) {
    const ImGuiIO& io = ImGui::GetIO();
    context.view.compare.swapped = context.view.compare.on() && !io.WantTextInput && !io.KeyCtrl && key_down('X');
    if (io.WantTextInput || ImGui::IsAnyItemActive()) return;
    if (any_popup_open()) {
        if (key_pressed(Key::Escape, false)) close_popups();
        return;
    }
    undo_keys(context);
    if (key_pressed(Key::Escape, false)) escape(context);
    if (key_pressed(Key::F11, false)) context.view.panes.only_centre = !context.view.panes.only_centre;
    if (key_pressed(Key::F1, false)) context.view.help = !context.view.help;
    if (!context.ready() || io.KeyCtrl || io.KeyAlt) return;
    if (context.view.lesson.open() && !io.WantCaptureKeyboard && lesson_keys(context)) return;
    const bool training = context.view.view == View::Train;
    // A control that holds the keyboard (a slider stepped by arrows) keeps its keys.
    if (!io.WantCaptureKeyboard) training ? training_keys(context) : navigation_keys(context);
    character_keys(context);
}

void draw_help_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float width = std::min(context.px(760), display.x - context.px(40));
    const float line = context.px(30);
    const int rows = static_cast<int>(kShortcuts.size() + 1) / 2;
    const float height = context.px(150) + line * static_cast<float>(rows);
    ImGui::SetNextWindowPos({(display.x - width) / 2, std::max((display.y - height) / 2, 0.F)});
    ImGui::SetNextWindowSize({width, height});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleColor(ImGuiCol_WindowBg, colors.pane);
    ImGui::PushStyleColor(ImGuiCol_Border, colors.accent);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, context.px(10));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(28), context.px(22)});
    ImGui::Begin("##help_sheet", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
    text_line(ui, fonts.heading, colors.text, "Keys and hints");
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float column = (width - context.px(56)) / 2;
    for (std::size_t i = 0; i < kShortcuts.size(); ++i) {
        const auto row = static_cast<float>(static_cast<int>(i) % rows);
        const float x = origin.x + (static_cast<int>(i) / rows) * column, y = origin.y + context.px(10) + row * line;
        draw_key_cap(ui, list, {x, y}, kShortcuts[i].keys);
        draw_text(list, fonts.body, {x + context.px(128), y + context.px(3)}, colors.text, kShortcuts[i].what);
    }
    ImGui::SetCursorScreenPos({origin.x, origin.y + context.px(22) + line * static_cast<float>(rows)});
    paragraph(ui, fonts.label, colors.muted,
              "Hover a cell to read it, click to lock it. The wheel zooms a map, dragging moves it, a double click fits it again. Click an "
              "operand at the right to walk back to where it came from.");
    const bool outside =
        ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing();
    if (outside) context.view.help = false;
    ImGui::End();
}

}  // namespace attn::app
