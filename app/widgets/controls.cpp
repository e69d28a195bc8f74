#include "app/widgets/controls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kPillHeight = 26, kPillGap = 4, kPillPadding = 10, kPillMin = 34;

struct Skin {
    Color fill, line, ink;
};

Skin button_skin(const Ui& ui, const ButtonOptions& options, const Item& item) {
    const Palette& c = ui.colors();
    const bool accent = options.look == ButtonLook::Accent;
    Skin skin{accent ? c.accent : c.raised, accent ? 0 : c.line, accent ? c.on_accent : c.text};
    if (options.look == ButtonLook::Flat) skin = {0, 0, c.muted};
    // What is chosen is amber, as everywhere; blue is the one thing to do.
    if (options.active) skin = {mix(c.raised, c.chosen, 0.24f), c.chosen, c.text};
    if (item.disabled) return {options.look == ButtonLook::Flat ? 0 : c.raised, 0, c.faint};
    const Color ground = accent || options.active ? skin.fill : c.raised;
    if (item.held) {
        skin.fill = mix(ground, c.pane, 0.35f);
    } else if (item.hovered) {
        skin.fill = mix(ground, c.text, accent ? 0.14f : 0.08f);
        if (options.look == ButtonLook::Flat) skin.ink = c.text;
    }
    return skin;
}

float pill_width(const Ui& ui, std::string_view name) {
    return std::max(ui.px(kPillMin), text_width(ui.fonts().label, name) + 2 * ui.px(kPillPadding));
}

/// A single pill of segmented(), at the cursor.
bool pill(const Ui& ui, int index, std::string_view name, bool chosen, float width, const ControlNotes& notes) {
    ImGui::PushID(index);
    const Item item = begin_item(ui, "pill", ImVec2(width, ui.px(kPillHeight)), notes);
    ImGui::PopID();
    const Skin skin = button_skin(ui, {.active = chosen}, item);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(item.min, item.max, skin.fill, ui.px(6));
    if (skin.line != 0) list.AddRect(item.min, item.max, skin.line, ui.px(6), 0, ui.px(1));
    draw_text_in(list, ui.fonts().label, item.min, item.max, ImVec2(0.5f, 0.5f), skin.ink, elide(ui.fonts().label, name, width - ui.px(8)));
    draw_focus_ring(ui, item, ui.px(6));
    return item.pressed;
}

}  // namespace

bool button(const Ui& ui, const char* label, const ButtonOptions& options) {
    if (ui.without_controls) return false;
    ImFont* font = ui.fonts().label;
    const std::string_view text = shown_label(label);
    const float icon = options.icon == Icon::None ? 0 : ui.px(12), between = options.icon == Icon::None || text.empty() ? 0 : ui.px(8);
    const float content = text_width(font, text) + icon + between;
    const float height = ui.px(options.height);
    const float width = resolve_width(ui, options.width, text.empty() ? height : content + 2 * ui.px(14));
    const Item item = begin_item(ui, label, ImVec2(width, height), options.notes);
    const Skin skin = button_skin(ui, options, item);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (skin.fill != 0) list.AddRectFilled(item.min, item.max, skin.fill, ui.px(6));
    if (skin.line != 0) list.AddRect(item.min, item.max, skin.line, ui.px(6), 0, ui.px(1));
    const float middle = (item.min.y + item.max.y) / 2;
    const float left = std::max(item.min.x + ui.px(6), (item.min.x + item.max.x - content) / 2);
    draw_icon(list, options.icon, ImVec2(left + icon / 2, middle), icon, skin.ink);
    const ImVec2 text_min(left + icon + between, item.min.y);
    draw_text_in(list, font, text_min, item.max, ImVec2(0, 0.5f), skin.ink, elide(font, text, item.max.x - ui.px(4) - text_min.x));
    draw_focus_ring(ui, item, ui.px(6));
    error_line(ui, options.notes);
    return item.pressed;
}

bool toggle_row(const Ui& ui, const char* label, bool& on, std::string_view caption, const ControlNotes& notes) {
    const Palette& c = ui.colors();
    ImFont* font = ui.fonts().label;
    const float width = ImGui::GetContentRegionAvail().x, line = ui.px(20), pill_w = ui.px(34);
    const float caption_width = width - pill_w - ui.px(10);
    const float caption_height = caption.empty() ? 0 : wrapped_height(ui.fonts().caption, caption_width, caption) + ui.px(3);
    const Item item = begin_item(ui, label, ImVec2(width, line + caption_height), notes);
    if (item.pressed) on = !on;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, font, item.min, ImVec2(item.max.x, item.min.y + line), ImVec2(0, 0.5f), item.disabled ? c.faint : c.text,
                 shown_label(label));
    draw_text_wrapped(list, ui.fonts().caption, ImVec2(item.min.x, item.min.y + line + ui.px(1)), caption_width, c.faint, caption);
    const ImVec2 min(item.max.x - pill_w, item.min.y + ui.px(1)), max(item.max.x, item.min.y + ui.px(19));
    const float radius = (max.y - min.y) / 2;
    Color track = on ? c.accent : mix(c.raised, c.line, item.hovered ? 1.0f : 0.6f);
    if (on && item.hovered) track = mix(c.accent, c.text, 0.14f);
    if (item.disabled) track = mix(track, c.pane, 0.6f);
    list.AddRectFilled(min, max, track, radius);
    if (!on) list.AddRect(min, max, c.line, radius, 0, ui.px(1));
    const ImVec2 knob(on ? max.x - radius : min.x + radius, (min.y + max.y) / 2);
    list.AddCircleFilled(knob, radius - ui.px(3), on ? c.on_accent : c.muted, 24);
    draw_focus_ring(ui, item, ui.px(4));
    error_line(ui, notes);
    return item.pressed;
}

bool segmented(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float width, const ControlNotes& notes) {
    if (ui.without_controls) return false;
    const float available = width > 0 ? ui.px(width) : ImGui::GetContentRegionAvail().x;
    const float left = ImGui::GetCursorScreenPos().x, between = ui.px(kPillGap);
    bool changed = false;
    float x = 0;
    ControlNotes of_pill = notes;
    ImGui::PushID(id);
    ImGui::BeginGroup();
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(between, between));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string words = fmt::format("{} {}", shown_label(id), names[i]);
        of_pill.words = words;
        const float pill_w = std::min(pill_width(ui, names[i]), available);
        if (i > 0 && x + between + pill_w <= available + 0.5f) {
            ImGui::SameLine(0, between);
            x += between + pill_w;
        } else {
            ImGui::SetCursorScreenPos(ImVec2(left, ImGui::GetCursorScreenPos().y));
            x = pill_w;
        }
        if (pill(ui, static_cast<int>(i), names[i], chosen == static_cast<int>(i), pill_w, of_pill) && chosen != static_cast<int>(i)) {
            chosen = static_cast<int>(i);
            changed = true;
        }
    }
    ImGui::PopStyleVar();
    ImGui::EndGroup();
    ImGui::PopID();
    error_line(ui, notes);
    return changed;
}

float segmented_width(const Ui& ui, std::span<const std::string_view> names) {
    float width = 0;
    for (const std::string_view name : names) width += pill_width(ui, name) + ui.px(kPillGap);
    return std::max(0.0f, width - ui.px(kPillGap));
}

bool segmented_row(const Ui& ui, const char* label, std::span<const std::string_view> names, int& chosen, float column,
                   const ControlNotes& notes) {
    if (ui.without_controls) return false;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text_in(*ImGui::GetWindowDrawList(), ui.fonts().label, at, ImVec2(at.x + ui.px(column), at.y + ui.px(kPillHeight)),
                 ImVec2(0, 0.5f), ui.colors().muted, shown_label(label));
    ImGui::SetCursorScreenPos(ImVec2(at.x + ui.px(column), at.y));
    return segmented(ui, label, names, chosen, 0, notes);
}

}  // namespace attn::app
