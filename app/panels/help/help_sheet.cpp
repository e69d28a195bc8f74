#include <algorithm>

#include "app/panels/actions/actions.hpp"
#include "app/panels/help/help_pages.hpp"
#include "app/panels/panels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kSheetWidth = 1180, kSheetHeight = 760;

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

void draw_keys(PanelContext& context) {
    const float width = ImGui::GetContentRegionAvail().x;
    const int columns = width >= context.px(1050) ? 3 : width >= context.px(640) ? 2 : 1;
    draw_rows(context, sheet_rows(), columns, width);
    paragraph(
        context.ui(), context.theme.fonts.label, context.theme.colors.muted,
        "Point at a cell to read it, click to select it. The wheel zooms a map, dragging moves it. A double click changes a number, the "
        "right button also its row and its head. Click an operand at the right to go back to where it came from. Tab goes from "
        "control to control, Enter presses. Ctrl + K finds everything else by name.");
}

void draw_pills(PanelContext& context) {
    HelpState& help = context.view.help_page;
    std::vector<std::string_view> titles{"Keys"};
    for (const HelpPage& page : help_pages()) titles.emplace_back(page.title);
    if (segmented(context.ui(), "##help_pages", titles, help.page)) help.search.clear();
    gap(context.ui(), 8);
    text_field(context.ui(), "##help_search", help.search, "Search these pages");
}

void draw_page(PanelContext& context) {
    const HelpState& help = context.view.help_page;
    if (!help.search.empty()) {
        const std::vector<MarkdownBlock> found = find_in_help(help.search);
        if (found.empty()) text_line(context.ui(), context.theme.fonts.body, context.theme.colors.muted, "No page mentions that.");
        draw_markdown(context.ui(), found);
    } else if (help.page == 0) {
        draw_keys(context);
    } else {
        draw_markdown(context.ui(), help_pages()[static_cast<std::size_t>(help.page - 1)].blocks);
    }
}

}  // namespace

void draw_help_sheet(PanelContext& context) {
    const Palette& colors = context.theme.colors;
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float width = std::min(context.px(kSheetWidth), display.x - context.px(40));
    const float height = std::min(context.px(kSheetHeight), display.y - context.px(40));
    ImGui::SetNextWindowPos({(display.x - width) / 2, (display.y - height) / 2});
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
    draw_pills(context);
    gap(context.ui(), 14);
    // A page of its own scrolls from its own beginning.
    const std::string id = "##help_page" + std::to_string(context.view.help_page.page) + context.view.help_page.search;
    ImGui::BeginChild(id.c_str(), {0, 0}, false, ImGuiWindowFlags_NoNav);
    draw_page(context);
    ImGui::EndChild();
    // A press that a control of the sheet has taken is inside, too.
    constexpr ImGuiHoveredFlags kInside = ImGuiHoveredFlags_RootAndChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
    const bool outside = ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(kInside) && !ImGui::IsWindowAppearing();
    if (outside) context.view.help = false;
    ImGui::End();
}

}  // namespace attn::app
