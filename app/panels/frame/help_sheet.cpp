#include "app/panels/frame/help_sheet.hpp"

#include <algorithm>
#include <array>

#include "app/panels/actions/actions.hpp"
#include "app/panels/kit/help_pages.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kSheetWidth = 1180, kSheetHeight = 820, kRow = 30, kGroupHeading = 36, kWordsAt = 116, kLeastWords = 130;

/// A line of the sheet of keys, with the keys of all actions that share it.
struct SheetRow {
    std::string line;
    std::vector<std::string> keys;
};

/// The lines of a group.
struct SheetGroup {
    std::string name;
    std::vector<SheetRow> rows;
};

/// Where a row's text goes: beside its keys, or below them if there is too little room.
struct RowPlace {
    float words_x = 0, words_y = 0;  ///< relative to the row's corner
    float words_width = 0, height = 0;
};

RowPlace place_of(const PanelContext& context, const SheetRow& row, float width) {
    ImFont* font = context.theme.fonts.body;
    float keys = 0;
    for (const std::string& key : row.keys) keys += key_cap_width(context.ui(), key) + context.px(4);
    RowPlace place{std::max(context.px(kWordsAt), keys + context.px(6)), context.px(3), 0, 0};
    if (width - place.words_x < std::min(text_width(font, row.line), context.px(kLeastWords)))
        place = {context.px(kWordsAt), context.px(kRow - 3), 0, 0};
    place.words_width = width - place.words_x + 1;
    place.height = std::max(context.px(kRow), place.words_y + wrapped_height(font, place.words_width, row.line) + context.px(8));
    return place;
}

float height_of(const PanelContext& context, const SheetGroup& group, float width) {
    float height = context.px(kGroupHeading);
    for (const SheetRow& row : group.rows) height += place_of(context, row, width).height;
    return height;
}

/// The order of groups: the most basic first. Others, such as a lesson's, come last.
constexpr std::array<std::string_view, 11> kGroups = {"Go to", "View",     "Cell",  "Masks", "Compare", "Text",
                                                      "Edit",  "Training", "Panes", "File",  "Help"};

std::vector<SheetGroup> sheet_groups() {
    std::vector<SheetGroup> groups;
    const auto group_of = [&groups](const std::string& name) -> SheetGroup& {
        const auto found = std::find_if(groups.begin(), groups.end(), [&](const SheetGroup& g) { return g.name == name; });
        return found != groups.end() ? *found : groups.emplace_back(SheetGroup{name, {}});
    };
    for (const std::string_view name : kGroups) group_of(std::string(name));
    for (const Action& action : actions()) {
        if (action.sheet.empty() || action.chords.empty()) continue;
        // Actions in several groups may share a line, which is listed in the first of them.
        std::vector<SheetRow>& rows = group_of(action.group).rows;
        auto row = std::find_if(rows.begin(), rows.end(), [&](const SheetRow& r) { return r.line == action.sheet; });
        if (row == rows.end()) row = rows.insert(rows.end(), {action.sheet, {}});
        row->keys.push_back(action.chords.front().text());
    }
    std::erase_if(groups, [](const SheetGroup& group) { return group.rows.empty(); });
    return groups;
}

void draw_group(const PanelContext& context, const SheetGroup& group, ImVec2 at, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.strong, {at.x, at.y + context.px(8)}, colors.text, group.name);
    float y = at.y + context.px(kGroupHeading);
    for (const SheetRow& row : group.rows) {
        float x = at.x;
        for (const std::string& key : row.keys) x += draw_key_cap(context.ui(), list, {x, y}, key) + context.px(4);
        const RowPlace place = place_of(context, row, width);
        draw_text_wrapped(list, fonts.body, {at.x + place.words_x, y + place.words_y}, place.words_width, colors.text, row.line);
        y += place.height;
    }
}

/// Draws the groups in columns of similar height; groups are not split.
void draw_groups(const PanelContext& context, const std::vector<SheetGroup>& groups, int columns, float width) {
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float gap = context.px(24), each = (width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
    float all = 0;
    for (const SheetGroup& group : groups) all += height_of(context, group, each);
    float x = origin.x, y = origin.y, lowest = origin.y, done = 0;
    int column = 1;
    for (const SheetGroup& group : groups) {
        const float high = height_of(context, group, each);
        // Start the next column if most of the group would exceed this column's share.
        if (column < columns && done + high / 2 > all * static_cast<float>(column) / static_cast<float>(columns)) {
            x += each + gap;
            y = origin.y;
            ++column;
        }
        draw_group(context, group, {x, y}, each);
        y += high;
        done += high;
        lowest = std::max(lowest, y);
    }
    ImGui::Dummy({width, lowest - origin.y + context.px(12)});
}

void draw_keys(PanelContext& context) {
    const float width = ImGui::GetContentRegionAvail().x;
    const int columns = width >= context.px(1050) ? 3 : width >= context.px(640) ? 2 : 1;
    draw_groups(context, sheet_groups(), columns, width);
    paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.muted,
              "Point at a cell to read it, click to select it. The wheel zooms a map, dragging moves it. Double-click a number to change "
              "it, right-click for its row and head. Click an operand on the right to go back to where it came from. Tab moves between "
              "controls, Enter presses one. Ctrl + K finds everything else by name.");
    gap(context.ui(), 12);  // the last line is not cut
}

void draw_pills(PanelContext& context) {
    HelpState& help = context.view.help_page;
    std::vector<std::string_view> titles{"Keys"};
    for (const HelpPage& page : help_pages()) titles.emplace_back(page.title);
    // The close button stands at the right.
    const float room = ImGui::GetContentRegionAvail().x / context.theme.scale - 44;
    if (segmented(context.ui(), "##help_pages", titles, help.page, room)) help.search.clear();
    gap(context.ui(), 8);
    // Whatever is typed over the sheet is a search; the keys of the window behind it do not act.
    if (!context.view.focus.visible() && !ImGui::IsAnyItemActive() && !ImGui::IsMouseDown(0)) focus_next_field();
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
    const ImVec2 corner = ImGui::GetWindowPos();
    ImGui::SetCursorScreenPos({corner.x + width - context.px(44), corner.y + context.px(12)});
    if (button(context.ui(), "##close_help",
               {.look = ButtonLook::Flat, .width = 32, .icon = Icon::Close, .notes = {.tooltip = "Closes the help (Esc)."}}))
        context.view.help = false;
    ImGui::SetCursorScreenPos({corner.x + context.px(28), corner.y + context.px(22)});
    draw_pills(context);
    gap(context.ui(), 14);
    // A separate child window per page, so that each has its own scroll position.
    const std::string id = "##help_page" + std::to_string(context.view.help_page.page) + context.view.help_page.search;
    ImGui::BeginChild(id.c_str(), {0, 0}, false, ImGuiWindowFlags_NoNav);
    draw_page(context);
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
    // A click on one of the sheet's controls counts as inside.
    constexpr ImGuiHoveredFlags kInside = ImGuiHoveredFlags_RootAndChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
    const bool outside = ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(kInside) && !ImGui::IsWindowAppearing();
    if (outside) context.view.help = false;
    ImGui::End();
}

}  // namespace attn::app
