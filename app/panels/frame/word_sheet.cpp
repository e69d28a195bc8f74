#include <algorithm>

#include "app/panels/files/files.hpp"
#include "app/panels/frame/completion_list.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kWordSheet = 720, kWordLine = 30, kWordPadding = 8, kWordGap = 4;

/// Lays the words out in lines, once for each width.
void lay_out_words(PanelContext& context, const std::shared_ptr<const KnownWords>& words, float width) {
    WordSheetState& sheet = context.view.text_row.sheet;
    if (sheet.words == words && sheet.width == width) return;
    sheet.words = words;
    sheet.width = width;
    sheet.lines.clear();
    for (const KnownWords::Kind& kind : words->kinds) {
        if (!kind.name.empty()) sheet.lines.push_back({kind.name, {}});
        float x = width;
        for (const std::string& word : kind.words) {
            const float wide = text_width(context.theme.fonts.mono_body, word) + context.px(2 * kWordPadding);
            if (x + wide > width) {
                sheet.lines.emplace_back();
                x = 0;
            }
            sheet.lines.back().words.emplace_back(x, word);
            x += wide + context.px(kWordGap);
        }
    }
}

void put_word(PanelContext& context, const std::string& word) {
    TextRowState& row = context.view.text_row;
    row.sheet.open = false;
    start_text_edit(context);
    TextEdit& edit = row.edit;
    const std::string in_field = edit.stand_ins.to_field(word);
    const bool same = row.sheet.place && row.sheet.place->text == edit.text;
    if (same) edit.change = FieldChange{row.sheet.place->from, row.sheet.place->to, in_field};
    else
        edit.change =
            FieldChange{edit.field.size(), edit.field.size(), edit.field.empty() || edit.field.ends_with(' ') ? in_field : " " + in_field};
}

/// Returns whether a word of the line was chosen.
bool draw_word_line(PanelContext& context, const WordSheetState::Line& line) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float high = context.px(kWordLine);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (!line.heading.empty())
        draw_text_in(list, fonts.strong, at, {at.x + context.px(400), at.y + high}, {0, 0.6F}, colors.muted, line.heading);
    for (const auto& [x, word] : line.words) {
        const float wide = text_width(fonts.mono_body, word) + context.px(2 * kWordPadding);
        const Item item =
            item_at(context.ui(), word.c_str(), {at.x + x, at.y + context.px(2)}, {wide, high - context.px(4)}, {.explains_itself = true});
        if (item.hovered) list.AddRectFilled(item.min, item.max, with_alpha(colors.accent, 0.18F), context.px(4));
        draw_text_in(list, fonts.mono_body, item.min, item.max, {0.5F, 0.5F}, item.hovered ? colors.accent : colors.text, word);
        draw_focus_ring(context.ui(), item, context.px(4));
        if (!item.pressed) continue;
        put_word(context, std::string(word));
        return true;
    }
    ImGui::Dummy({1, high});
    return false;
}

void draw_word_lines(PanelContext& context) {
    const WordSheetState& sheet = context.view.text_row.sheet;
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(sheet.lines.size()), context.px(kWordLine));
    bool chosen = false;
    while (!chosen && clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd && !chosen; ++i)
            chosen = draw_word_line(context, sheet.lines[static_cast<std::size_t>(i)]);
    clipper.End();
    ImGui::PopStyleVar();
}

}  // namespace

void draw_word_sheet(PanelContext& context) {
    WordSheetState& sheet = context.view.text_row.sheet;
    sheet.open = sheet.open && knows_words(context);
    if (!sheet.open) return;
    const auto words = context.ask(facet::KnownWords{});
    const bool inside = begin_sheet(context, "##word_sheet", kWordSheet);
    const float width = ImGui::GetContentRegionAvail().x;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    text_line(context.ui(), context.theme.fonts.title, context.theme.colors.text, "All words that the model knows");
    ImGui::SetCursorScreenPos({at.x + width - context.px(32), at.y - context.px(4)});
    if (button(context.ui(), "##close_words",
               {.look = ButtonLook::Flat, .width = 32, .icon = Icon::Close, .notes = {.tooltip = "Closes the list (Esc)."}}))
        sheet.open = false;
    text_line(context.ui(), context.theme.fonts.label, context.theme.colors.muted, "Click one to put it into the text.");
    gap(context.ui(), 6);
    if (words) {
        lay_out_words(context, words.value, width);
        const float most = ImGui::GetIO().DisplaySize.y * 0.66F;
        const Scrolled scrolled(context.ui(), "##all_words",
                                {width, std::min(most, context.px(kWordLine) * static_cast<float>(sheet.lines.size()))}, {.padded = false});
        draw_word_lines(context);
    }
    end_sheet(context);
    if (!inside || key_pressed(Key::Escape, false)) sheet.open = false;
}

}  // namespace attn::app
