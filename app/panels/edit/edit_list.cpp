#include "app/panels/edit/edit_list.hpp"

#include <algorithm>

#include "app/panels/edit/edit_words.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"
#include "engine/explain/edit_list.hpp"

namespace attn::app {
namespace {

constexpr float kSwitch = 22, kDelete = 20;

void draw_switch(PanelContext& context, ImVec2 at, ForwardSettings& forward, std::size_t i) {
    const Ui ui = context.ui();
    const Palette& c = ui.colors();
    bool& on = forward.edits[i].on;
    const Item item =
        item_at(ui, "##on", at, {context.px(16), context.px(16)}, {.tooltip = on ? "Switch this edit off." : "Switch this edit on."});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRect(item.min, item.max, item.hovered ? c.accent : c.muted, context.px(4), 0, context.px(1));
    if (on) draw_icon(list, Icon::Check, {(item.min.x + item.max.x) / 2, (item.min.y + item.max.y) / 2}, context.px(9), c.accent);
    draw_focus_ring(ui, item, context.px(4));
    if (!item.pressed) return;
    on = !on;
    emit_forward(context, forward, "");
}

void draw_delete(PanelContext& context, ImVec2 at, ForwardSettings& forward, std::size_t i) {
    const Ui ui = context.ui();
    const Item item = item_at(ui, "##delete", at, {context.px(16), context.px(16)}, {.tooltip = "Delete this edit."});
    draw_icon(*ImGui::GetWindowDrawList(), Icon::Close, {(item.min.x + item.max.x) / 2, (item.min.y + item.max.y) / 2}, context.px(8),
              item.hovered ? ui.colors().bad : ui.colors().faint);
    draw_focus_ring(ui, item, context.px(4));
    if (!item.pressed) return;
    forward.edits.erase(forward.edits.begin() + static_cast<std::ptrdiff_t>(i));
    emit_forward(context, forward, "");
}

void go_to(PanelContext& context, const Edit& edit) {
    if (!context.has_stage(edit.at)) return;
    context.view.view = View::Step;
    follow_to(context.view, context.numbers().first_cell(edit));
}

/// Shows what the edit does, where, and why it has no effect, if so. A click goes to its cell.
void draw_line(PanelContext& context, const Edit& edit, std::size_t i) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    ForwardSettings forward = context.document.forward;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const float left = at.x + context.px(kSwitch), room = width - context.px(kSwitch + kDelete);
    const EditWords words = words_of(context, edit);
    const std::string problem = why_in_vain(context, edit);
    const std::string below = problem.empty() ? words.place : words.place + " · no effect (" + problem + ")";
    const float first = wrapped_height(fonts.label, room, words.what), second = wrapped_height(fonts.caption, room, below);
    const float height = first + second + context.px(8);

    ImGui::PushID(static_cast<int>(i));
    draw_switch(context, {at.x, at.y + context.px(1)}, forward, i);
    draw_delete(context, {at.x + width - context.px(16), at.y + context.px(1)}, forward, i);
    const Item item = item_at(ui, "##line", {left, at.y}, {room, height - context.px(4)}, {.tooltip = "Click to go there."});
    draw_focus_ring(ui, item, context.px(4));
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool works = edit.on && problem.empty();
    draw_text_wrapped(list, fonts.label, {left, at.y}, room, item.hovered ? colors.accent : works ? colors.text : colors.faint, words.what);
    draw_text_wrapped(list, fonts.caption, {left, at.y + first + context.px(1)}, room, problem.empty() ? colors.muted : colors.bad, below);
    if (item.hovered) context.view.edits.next = static_cast<std::uint32_t>(i + 1);
    if (item.pressed && context.ready()) go_to(context, edit);
    ImGui::SetCursorScreenPos({at.x, at.y + height});
    ImGui::Dummy({width, 0});
}

void draw_edits(PanelContext& context) {
    const Ui ui = context.ui();
    const std::vector<Edit>& edits = context.document.forward.edits;
    if (edits.empty()) {
        paragraph(ui, context.theme.fonts.label, context.theme.colors.faint,
                  "Double-click a number to change it. Right-click for its row and its head.");
        return;
    }
    for (std::size_t i = 0; i < edits.size(); ++i) draw_line(context, edits[i], i);
    Comparison& compare = context.view.compare;
    const bool comparing = compare.source == Compare::Plain;
    if (button(ui, "compare", {.width = 98, .active = comparing, .notes = {.tooltip = "Shows every stage with and without the edits."}}))
        compare.choose(comparing ? Compare::Off : Compare::Plain);
    ImGui::SameLine(0, context.px(4));
    if (!button(ui, "clear all", {.width = 98, .notes = {.tooltip = "Deletes every edit. Undo restores them."}})) return;
    ForwardSettings forward = context.document.forward;
    forward.edits.clear();
    emit_forward(context, std::move(forward), "");
}

}  // namespace

std::string why_in_vain(const PanelContext& context, const Edit& edit) {
    return context.ready() ? context.numbers().why_in_vain(edit, context.view.stage) : "";
}

void draw_edit_list(PanelContext& context) {
    const ImVec2 top = ImGui::GetCursorScreenPos();
    draw_edits(context);
    if (ImGui::IsRectVisible(top, {top.x + ImGui::GetContentRegionAvail().x, ImGui::GetCursorScreenPos().y}))
        context.view.edits.listed_at = ImGui::GetFrameCount();
}

}  // namespace attn::app
