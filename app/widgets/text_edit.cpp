#include <algorithm>
#include <utility>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

/// Truncates the text to `most_bytes` at a character boundary.
void cut_to(std::size_t most_bytes, ImGuiInputTextCallbackData& data) {
    if (static_cast<std::size_t>(data.BufTextLen) <= most_bytes) return;
    int end = static_cast<int>(most_bytes);
    while (end > 0 && (static_cast<unsigned char>(data.Buf[end]) & 0xC0U) == 0x80U) --end;
    data.DeleteChars(end, data.BufTextLen - end);
}

/// What a field's callback works on.
struct EditedField {
    TextEdit& edit;
    TextEditResult& result;
};

void make_change(const FieldChange& change, ImGuiInputTextCallbackData& data) {
    const int end = static_cast<int>(std::min<std::size_t>(change.to, static_cast<std::size_t>(data.BufTextLen)));
    const int from = std::min(static_cast<int>(change.from), end);
    data.DeleteChars(from, end - from);
    data.InsertChars(from, change.with.data(), change.with.data() + change.with.size());
    data.CursorPos = data.SelectionStart = data.SelectionEnd = from + static_cast<int>(change.with.size());
}

/// Takes typed characters beyond 16 bits and the keys of the list, resizes the std::string that ImGui writes into and, once, places the
/// caret. ImGui would otherwise select everything, and the first letter typed would replace it.
int on_text_input(ImGuiInputTextCallbackData* data) {
    auto& [edit, result] = *static_cast<EditedField*>(data->UserData);
    if (data->EventFlag == ImGuiInputTextFlags_CallbackResize) {
        edit.field.resize(static_cast<std::size_t>(data->BufTextLen));
        data->Buf = edit.field.data();
        return 0;
    }
    if (data->EventFlag == ImGuiInputTextFlags_CallbackCharFilter) {
        data->EventChar = static_cast<ImWchar>(edit.stand_ins.typed(data->EventChar));
        return 0;
    }
    if (data->EventFlag == ImGuiInputTextFlags_CallbackCompletion) {
        result.tab = true;
        return 0;
    }
    if (data->EventFlag == ImGuiInputTextFlags_CallbackHistory) {
        result.moved = data->EventKey == ImGuiKey_DownArrow ? 1 : -1;
        return 0;
    }
    if (edit.place_caret) {
        data->ClearSelection();
        data->CursorPos = edit.returns_to ? std::min(*edit.returns_to, data->BufTextLen) : edit.fits ? data->BufTextLen : 0;
        if (std::exchange(edit.select_all, false)) data->SelectAll();
        edit.returns_to.reset();
        edit.place_caret = false;
    }
    if (const std::optional<FieldChange> change = std::exchange(edit.change, {})) make_change(*change, *data);
    cut_to(edit.most_bytes, *data);
    edit.caret = static_cast<std::size_t>(data->CursorPos);
    return 0;
}

/// Goes on editing where the key or click that ended it was for the list.
void go_on(TextEdit& edit) {
    edit.focus = edit.place_caret = true;
    edit.returns_to = static_cast<int>(edit.caret);
    expect_typing();
}

}  // namespace

void begin_text_edit(TextEdit& edit, std::string text) {
    edit.editing = true;
    edit.focus = true;
    edit.place_caret = true;
    edit.select_all = false;
    edit.returns_to.reset();
    edit.change.reset();
    edit.list = {};
    edit.original = text;
    edit.stand_ins = {};
    edit.field = edit.stand_ins.to_field(text);
    edit.text = std::move(text);
}

TextEditResult text_edit(const Ui& ui, const char* id, TextEdit& edit, float width, const char* hint) {
    TextEditResult result;
    const std::string before = edit.text, field_before = edit.field;
    // Checked before ImGui sees the text, because it would lay out every letter.
    const auto paste = [&](std::string_view pasted) {
        result.too_long = pasted.size() > edit.most_bytes - std::min(edit.most_bytes, edit.text.size());
        return result.too_long ? std::string() : edit.stand_ins.to_field(pasted);
    };
    const ClipboardFilter filter(paste, [&edit](std::string_view copied) { return edit.stand_ins.from_field(copied); });
    ImGui::PushID(id);
    push_font(ui.fonts().mono_body);
    const float padding = (ui.px(42) - ImGui::GetFontSize()) / 2;
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(12), std::max(0.0f, padding)));
    ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, ui.px(6));
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui.colors().pane);
    ImGui::PushStyleColor(ImGuiCol_TextDisabled, ui.colors().faint);
    ImGui::SetNextItemWidth(width);
    const bool first = edit.focus;
    if (edit.place_caret) edit.fits = text_width(ui.fonts().mono_body, edit.field) <= width - 2 * ui.px(12);
    if (edit.focus) focus_next_field();
    const ImGuiInputTextFlags of_list =
        edit.list.open ? ImGuiInputTextFlags_CallbackCompletion | ImGuiInputTextFlags_CallbackHistory : ImGuiInputTextFlags_None;
    const ImGuiInputTextFlags flags = ImGuiInputTextFlags_CallbackResize | ImGuiInputTextFlags_CallbackAlways |
                                      ImGuiInputTextFlags_CallbackCharFilter | ImGuiInputTextFlags_EnterReturnsTrue | of_list;
    EditedField edited{edit, result};
    const bool entered =
        ImGui::InputTextWithHint("##text", hint, edit.field.data(), edit.field.capacity() + 1, flags, on_text_input, &edited);
    result.too_long = result.too_long || (edit.field != field_before && edit.field.size() >= edit.most_bytes);
    if (edit.field != field_before) edit.text = edit.stand_ins.from_field(edit.field);
    // ImGui draws the field, without visible_text().
    if (first || edit.field != field_before) visible_text(edit.text);
    const ImGuiID item = ImGui::GetItemID();
    const bool left = ImGui::IsItemDeactivated(), active = ImGui::IsItemActive();
    ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), ui.colors().accent, ui.px(6), 0, ui.px(1.5f));
    ImGui::PopStyleColor(2);
    ImGui::PopStyleVar(2);
    ImGui::PopFont();
    ImGui::PopID();
    if (active) edit.focus = false;
    if (const ImGuiInputTextState* state = ImGui::GetInputTextState(item)) edit.scrolled = state->ScrollX;
    const bool escaped = left && key_pressed(Key::Escape, false);
    result.closes_list = escaped && edit.list.open;
    result.takes = entered && edit.list.open && edit.list.chosen;
    if (result.closes_list) {
        edit.text = before;
        edit.field = field_before;
    }
    if (result.closes_list || result.takes || (left && edit.list.open && edit.list.pointed)) {
        go_on(edit);
    } else if (escaped) {
        edit.text = edit.original;
        result.cancelled = true;
    } else if (entered || (left && !first)) {
        result.committed = true;
    }
    if (result.cancelled || result.committed) edit.editing = false;
    result.changed = edit.text != before;
    return result;
}

}  // namespace attn::app
