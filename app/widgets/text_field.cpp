#include "app/widgets/text_field.hpp"

#include <algorithm>

#include "app/widgets/field_text.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/keyboard_focus.hpp"

namespace attn::app {
namespace {

/// Resizes the std::string that ImGui writes into.
int grow(ImGuiInputTextCallbackData* data) {
    if (data->EventFlag == ImGuiInputTextFlags_CallbackCharFilter && is_half(data->EventChar)) return 1;  // not taken
    if (data->EventFlag != ImGuiInputTextFlags_CallbackResize) return 0;
    auto& text = *static_cast<std::string*>(data->UserData);
    text.resize(static_cast<std::size_t>(data->BufTextLen));
    data->Buf = text.data();
    return 0;
}

}  // namespace

bool text_field(const Ui& ui, const char* id, std::string& text, const char* hint, float width, const ControlNotes& notes) {
    if (ui.without_controls) return false;
    const Palette& c = ui.colors();
    push_font(ui.fonts().mono_small);
    const float padding = std::max(0.0F, (ui.px(30) - ImGui::GetFontSize()) / 2);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(10), padding));
    ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, ui.px(6));
    ImGui::PushStyleColor(ImGuiCol_FrameBg, c.window);
    ImGui::PushStyleColor(ImGuiCol_Text, c.text);
    ImGui::PushStyleColor(ImGuiCol_TextDisabled, c.faint);
    if (ui.focus != nullptr && ui.focus->on(ImGui::GetID(id)) && ui.focus->hand_over()) focus_next_field();
    ImGui::SetNextItemWidth(resolve_width(ui, width, ui.px(160)));
    const ImGuiInputTextFlags flags =
        ImGuiInputTextFlags_CallbackResize | ImGuiInputTextFlags_CallbackCharFilter | ImGuiInputTextFlags_EnterReturnsTrue;
    const bool confirmed = ImGui::InputTextWithHint(id, hint, text.data(), text.capacity() + 1, flags, grow, &text);
    const bool entered = confirmed && enter_pressed_now();
    if (confirmed && !entered) ImGui::SetKeyboardFocusHere(-1);  // ImGui has deactivated the field
    const Color line = !notes.error.empty() ? c.bad : ImGui::IsItemActive() ? c.accent : c.line;
    ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), line, ui.px(6), 0, ui.px(1));
    ImGui::PopStyleColor(3);
    ImGui::PopStyleVar(2);
    ImGui::PopFont();
    Item item{.min = ImGui::GetItemRectMin(), .max = ImGui::GetItemRectMax()};
    join_keyboard(ui, id, notes, item);
    if (!ImGui::IsItemActive()) tooltip_for_last(ui, notes.tooltip);
    error_line(ui, notes);
    return entered;
}

}  // namespace attn::app
