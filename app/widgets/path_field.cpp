#include "app/widgets/path_field.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/widgets/field_text.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"

namespace attn::app {
namespace {

void replace_text(ImGuiInputTextCallbackData* data, const std::string& text) {
    data->DeleteChars(0, data->BufTextLen);
    data->InsertChars(0, text.c_str());
}

/// A full path pasted after a folder replaces it: "/a/b//c" becomes "/c", and "/a/~/c" becomes "~/c".
void start_anew(ImGuiInputTextCallbackData* data) {
    const std::string_view text(data->Buf, static_cast<std::size_t>(data->BufTextLen));
    const std::size_t root = text.rfind("//"), home = text.rfind("/~/");
    if (root != std::string_view::npos) data->DeleteChars(0, static_cast<int>(root) + 1);
    else if (home != std::string_view::npos) data->DeleteChars(0, static_cast<int>(home) + 1);
}

/// Backspace after a folder's slash removes the folder's name too.
void leave_folder(ImGuiInputTextCallbackData* data, const std::string& before) {
    const std::string_view text(data->Buf, static_cast<std::size_t>(data->BufTextLen));
    if (text.size() < 2 || text.size() + 1 != before.size() || !before.ends_with('/') || !before.starts_with(text)) return;
    const std::size_t slash = text.rfind('/');
    if (slash == std::string_view::npos) return;
    data->DeleteChars(static_cast<int>(slash) + 1, data->BufTextLen - static_cast<int>(slash) - 1);
}

bool has_chosen(const PathField& field) { return field.chosen >= 0 && field.chosen < static_cast<int>(field.completions.size()); }

int on_input(ImGuiInputTextCallbackData* data) {
    auto& field = *static_cast<PathField*>(data->UserData);
    switch (data->EventFlag) {
    case ImGuiInputTextFlags_CallbackCharFilter:
        return is_half(data->EventChar) ? 1 : 0;
    case ImGuiInputTextFlags_CallbackResize:
        field.text.resize(static_cast<std::size_t>(data->BufTextLen));
        data->Buf = field.text.data();
        break;
    case ImGuiInputTextFlags_CallbackCompletion: {
        const std::string typed(data->Buf, static_cast<std::size_t>(data->BufTextLen));
        const std::string longer =
            has_chosen(field) ? field.completions[static_cast<std::size_t>(field.chosen)] : common_beginning(field.completions);
        if (longer.size() > typed.size() || has_chosen(field)) replace_text(data, longer);
        field.chosen = -1;
        break;
    }
    case ImGuiInputTextFlags_CallbackHistory: {
        const int last = static_cast<int>(field.completions.size()) - 1;
        field.chosen = std::clamp(field.chosen + (data->EventKey == ImGuiKey_UpArrow ? -1 : 1), -1, last);
        break;
    }
    default:
        start_anew(data);
        leave_folder(data, field.shown);
        field.shown.assign(data->Buf, static_cast<std::size_t>(data->BufTextLen));
        if (field.caret_to_end) {
            data->ClearSelection();
            data->CursorPos = data->BufTextLen;
            if (std::exchange(field.select_name, false)) {
                const std::size_t slash = std::string_view(data->Buf, static_cast<std::size_t>(data->BufTextLen)).rfind('/');
                data->SelectionStart = slash == std::string_view::npos ? 0 : static_cast<int>(slash) + 1;
                data->SelectionEnd = data->BufTextLen;
            }
            field.caret_to_end = false;
        }
    }
    return 0;
}

}  // namespace

std::string common_beginning(const std::vector<std::string>& texts) {
    if (texts.empty()) return "";
    std::string common = texts.front();
    for (const std::string& text : texts) {
        const auto end = std::mismatch(common.begin(), common.end(), text.begin(), text.end()).first;
        common.erase(end, common.end());
    }
    return common;
}

PathFieldResult path_field(const Ui& ui, const char* id, PathField& field, const char* hint) {
    const Palette& c = ui.colors();
    PathFieldResult result;
    const std::string before = field.text;
    push_font(ui.fonts().mono);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(12), std::max(0.0F, (ui.px(36) - ImGui::GetFontSize()) / 2)));
    ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, ui.px(6));
    ImGui::PushStyleColor(ImGuiCol_FrameBg, c.window);
    ImGui::PushStyleColor(ImGuiCol_Text, c.text);
    ImGui::PushStyleColor(ImGuiCol_TextDisabled, c.faint);
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
    if (field.focus) {
        focus_next_field();
        field.caret_to_end = true;
    }
    const ImGuiInputTextFlags flags = ImGuiInputTextFlags_CallbackResize | ImGuiInputTextFlags_CallbackCompletion |
                                      ImGuiInputTextFlags_CallbackHistory | ImGuiInputTextFlags_CallbackAlways |
                                      ImGuiInputTextFlags_CallbackCharFilter | ImGuiInputTextFlags_EnterReturnsTrue;
    result.entered = ImGui::InputTextWithHint(id, hint, field.text.data(), field.text.capacity() + 1, flags, on_input, &field);
    if (ImGui::IsItemActive()) field.focus = false;
    if (result.entered && !enter_pressed_now()) {
        result.entered = false;
        field.focus = true;  // ImGui has deactivated the field
    }
    ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), ImGui::IsItemActive() ? c.accent : c.line,
                                        ui.px(6), 0, ui.px(1));
    ImGui::PopStyleColor(3);
    ImGui::PopStyleVar(2);
    ImGui::PopFont();
    if (result.entered && has_chosen(field)) field.text = field.completions[static_cast<std::size_t>(field.chosen)];
    result.changed = field.text != before;
    if (result.changed) field.chosen = -1;
    return result;
}

}  // namespace attn::app
