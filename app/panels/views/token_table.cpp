#include "app/panels/views/token_table.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

/// The size of a row of the table of tokens, in pixels. Five digits fit beside a token's box.
struct TokenTable {
    float line, id_room, column;
    explicit TokenTable(const PanelContext& context) : line(context.px(34)), id_room(context.px(44)), column(context.px(234) + id_room) {}
};

void draw_token_headings(const PanelContext& context, const TokenTable& table, ImVec2 at) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.mono_small, at, colors.axis(Axis::T), "position");
    draw_text(list, fonts.mono_small, {at.x + context.px(76), at.y}, colors.faint, "token");
    draw_text_in(list, fonts.mono_small, at, {at.x + context.px(222) + table.id_room, at.y}, {1, 0}, colors.axis(Axis::V), "id");
}

void draw_token_row(PanelContext& context, const TokenTable& table, const Token& token, std::int64_t i, ImVec2 at) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(static_cast<int>(i));
    const Item item = begin_item(context.ui(), "##token", {context.px(228) + table.id_room, table.line - context.px(4)},
                                 {.tooltip = "Choose this token: its row lights up in every stage."});
    draw_focus_ring(context.ui(), item, context.px(4));
    if (item.pressed) {
        context.view.locked.set(Axis::T, i);
        context.view.token_path.selected = i;  // it stays where it was clicked
    }
    if (item.hovered) context.view.hovered.set(Axis::T, i);
    ImGui::PopID();
    const bool lit = context.view.selection().on(Axis::T) == i;
    const ImVec2 low{at.x + context.px(64), at.y}, high{at.x + context.px(184), at.y + table.line - context.px(6)};
    list.AddRectFilled(low, high, colors.raised, context.px(6));
    list.AddRect(low, high, lit ? colors.axis(Axis::T) : colors.line, context.px(6), 0, lit ? context.px(2) : 1.F);
    draw_text_in(list, fonts.mono, at, {at.x + context.px(40), high.y}, {1, 0.5F}, lit ? colors.axis(Axis::T) : colors.muted,
                 std::to_string(i));
    draw_text_in(list, fonts.mono_body, low, high, {0.5F, 0.5F},
                 token.padding   ? colors.faint
                 : token.unknown ? colors.bad
                                 : colors.text,
                 elide(fonts.mono_body, chip_text(token), high.x - low.x - context.px(12)));
    draw_text_in(list, fonts.mono, at, {at.x + context.px(222) + table.id_room, high.y}, {1, 0.5F}, colors.text, id_text(token));
}

/// Scrolls to a token that has just been selected elsewhere.
void follow_selected_token(PanelContext& context, const TokenTable& table, std::size_t rows) {
    const std::optional<std::int64_t> selected = context.view.locked.on(Axis::T);
    if (std::exchange(context.view.token_path.selected, selected) == selected || !selected) return;
    const float y = static_cast<float>(static_cast<std::size_t>(*selected) % rows) * table.line;
    const float from = ImGui::GetScrollY(), high = ImGui::GetWindowHeight();
    if (y < from || y + table.line > from + high) ImGui::SetScrollY(y - (high - table.line) / 2);
}

}  // namespace

void draw_token_table(PanelContext& context, const Box& area) {
    const auto& sequences = tokens_of(context, context.view.stage, Axis::T);
    if (sequences.empty()) return;
    const auto& tokens = sequences[static_cast<std::size_t>(std::min(context.view.batch, static_cast<std::int64_t>(sequences.size()) - 1))];
    const TokenTable table(context);
    const float head = context.px(24), high = area.height() - head;
    if (high < table.line) return;
    const auto columns = std::max<std::size_t>(static_cast<std::size_t>((area.width() - context.px(14)) / table.column), 1);
    const std::size_t fit = std::max<std::size_t>(static_cast<std::size_t>(high / table.line), 1),
                      rows = std::max(fit, (tokens.size() + columns - 1) / columns);
    const auto left = [&](std::size_t column) { return static_cast<float>(column) * table.column; };
    for (std::size_t c = 0; c * rows < tokens.size(); ++c) draw_token_headings(context, table, {area.min.x + left(c), area.min.y});
    ImGui::SetCursorScreenPos({area.min.x, area.min.y + head});
    const Scrolled scrolled(context.ui(), "##tokens", {area.width(), high});
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy({1, static_cast<float>(rows) * table.line});
    // Only what is in sight: a text may have thousands of tokens.
    const auto first = static_cast<std::size_t>(std::max(ImGui::GetScrollY(), 0.F) / table.line);
    for (std::size_t row = first; row < std::min(rows, first + fit + 2); ++row)
        for (std::size_t i = row; i < tokens.size(); i += rows)
            draw_token_row(context, table, tokens[i], static_cast<std::int64_t>(i),
                           {at.x + left(i / rows), at.y + static_cast<float>(row) * table.line});
    follow_selected_token(context, table, rows);
}

}  // namespace attn::app
