#include "app/panels/actions/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "app/panels/actions/matching.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kWidth = 660, kLine = 32, kPadding = 14;
constexpr int kMostLines = 12;
constexpr std::size_t kMostRecent = 8, kNearest = 3;
constexpr int kMostOfKind = 3;

/// How lines of equal rank are ordered.
int kind_of(const Action& action) {
    const auto is = [&](std::string_view group) { return action.group == group; };
    if (is("Stage") || is("Head") || is("Layer") || is("Text")) return 1;
    if (action.name.starts_with("Settings: ")) return 2;
    if (is("Example")) return 3;
    if (is("Lesson")) return 4;
    return is("Break") ? 5 : 0;
}

/// Whether only the first few of them are listed, unless their kind is asked for.
bool is_one_of_many(const Action& action) {
    return action.name.starts_with("Open the example") || action.name.starts_with("Lesson: ") || action.group == "Break";
}

int place_among_recent(const PaletteState& palette, const std::string& name) {
    const auto found = std::find(palette.recent.begin(), palette.recent.end(), name);
    return found == palette.recent.end() ? -1 : static_cast<int>(found - palette.recent.begin());
}

void remember(PaletteState& palette, const std::string& name) {
    std::erase(palette.recent, name);
    palette.recent.insert(palette.recent.begin(), name);
    if (palette.recent.size() > kMostRecent) palette.recent.pop_back();
}

constexpr float kNameAt = 96;

float key_width(const PanelContext& context, const Action& action) {
    return action.chords.empty() ? 0 : text_width(context.theme.fonts.mono_small, action.chords.front().text()) + context.px(24);
}

/// The room for an action's name in a line of this width.
float name_room(const PanelContext& context, const Action& action, float width) {
    return width - key_width(context, action) - context.px(kNameAt + 8);
}

/// What the line does not say; "" if nothing.
std::string_view unsaid(const PanelContext& context, const Action& action, float width) {
    const bool cut = text_width(context.theme.fonts.body, action.name) > name_room(context, action, width);
    return !action.detail.empty() || !cut ? action.detail : action.name;
}

/// A line with group, name and key.
Item draw_line(const PanelContext& context, const Action& action, int index, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    ImGui::PushID(index);
    const Item item = begin_item(context.ui(), "line", {width, context.px(kLine)}, {.explains_itself = true});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool chosen = context.view.palette.chosen == index;
    if (chosen || item.hovered)
        list.AddRectFilled(item.min, item.max, chosen ? with_alpha(colors.accent, 0.18F) : with_alpha(colors.text, 0.06F), context.px(6));
    if (chosen) list.AddRectFilled(item.min, {item.min.x + context.px(3), item.max.y}, colors.accent, context.px(1.5F));
    draw_text_in(list, fonts.label, {item.min.x + context.px(12), item.min.y}, item.max, {0, 0.5F}, colors.faint, action.group);
    draw_text_in(list, fonts.body, {item.min.x + context.px(kNameAt), item.min.y}, item.max, {0, 0.5F}, colors.text,
                 elide(fonts.body, action.name, name_room(context, action, width)));
    if (!action.chords.empty())
        draw_key_cap(context.ui(), list, {item.max.x - key_width(context, action) + context.px(4), item.min.y + context.px(5)},
                     action.chords.front().text());
    draw_focus_ring(context.ui(), item, context.px(6));
    return item;
}

void choose_by_keys(PaletteState& palette, int count) {
    const auto move = [&](Key key, int by) {
        if (!key_pressed(key)) return;
        palette.chosen = std::clamp(palette.chosen + by, 0, std::max(count - 1, 0));
        palette.moved = palette.reveal = true;
    };
    move(Key::Down, 1);
    move(Key::Up, -1);
    move(Key::PageDown, kMostLines - 1);
    move(Key::PageUp, -(kMostLines - 1));
    palette.chosen = std::clamp(palette.chosen, 0, std::max(count - 1, 0));
}

/// Draws the lines that fit, scrolled to the selected one, and below them what the one under the mouse, or else the selected one, does not
/// say. Returns the action to run, nullptr for none.
const Action* draw_lines(PanelContext& context, const std::vector<PaletteLine>& lines) {
    PaletteState& palette = context.view.palette;
    const float high = context.px(kLine) * static_cast<float>(std::clamp<int>(static_cast<int>(lines.size()), 1, kMostLines));
    const Action *run = nullptr, *explained = lines.empty() ? nullptr : lines[static_cast<std::size_t>(palette.chosen)].action;
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::BeginChild("##palette_lines", {0, high}, false, ImGuiWindowFlags_NoNav);
    if (lines.empty()) text_line(context.ui(), context.theme.fonts.body, context.theme.colors.muted, "Nothing has that name. The nearest:");
    const float width = ImGui::GetContentRegionAvail().x;
    for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
        const Action* const action = lines[static_cast<std::size_t>(i)].action;
        const Item line = draw_line(context, *action, i, width);
        if (line.pressed) run = action;
        if (line.hovered) explained = action;
        if (palette.reveal && palette.chosen == i && !ImGui::IsItemVisible()) ImGui::SetScrollHereY(0.5F);
    }
    palette.reveal = false;
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
    ImGui::PopStyleVar(2);
    const std::string_view more = explained == nullptr ? std::string_view() : unsaid(context, *explained, width);
    if (!more.empty()) {
        gap(context.ui(), 8);
        paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.muted, more);
    }
    return run;
}

/// Where nothing was found: what comes nearest, and the search of the help.
void draw_nearest(PanelContext& context, std::span<const Action> all) {
    PaletteState& palette = context.view.palette;
    for (const std::string& name : nearest_names(palette.query, all))
        if (link(context.ui(), name.c_str())) palette.query = name;
    if (link(context.ui(), fmt::format("search the help for “{}”", palette.query).c_str())) {
        context.view.help = true;
        context.view.help_page.search = palette.query;
        palette.open = false;
    }
}

/// Begins the palette's window near the top.
void begin_window(const PanelContext& context) {
    const Palette& colors = context.theme.colors;
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float width = std::min(context.px(kWidth), display.x - context.px(24));
    ImGui::SetNextWindowPos({(display.x - width) / 2, std::min(context.px(84), display.y * 0.1F)});
    ImGui::SetNextWindowSize({width, 0});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleColor(ImGuiCol_WindowBg, colors.pane);
    ImGui::PushStyleColor(ImGuiCol_Border, colors.accent);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, context.px(10));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(kPadding), context.px(kPadding)});
    ImGui::Begin("##palette", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_AlwaysAutoResize);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
}

}  // namespace

void open_palette(PaletteState& palette) {
    palette.open = palette.focus = palette.reveal = true;
    palette.query.clear();
    palette.chosen = 0;
}

std::vector<PaletteLine> palette_lines(const PanelContext& context, std::span<const Action> actions) {
    const PaletteState& palette = context.view.palette;
    struct FoundLine {
        PaletteLine line;
        int rank, kind;
    };
    std::vector<FoundLine> found;
    for (const Action& action : actions) {
        if (!action.can_run(context)) continue;
        const std::optional<Match> matched = match(action, palette.query);
        if (!matched) continue;
        const int recent = place_among_recent(palette, action.name);
        const int rank = palette.query.empty() && recent >= 0 ? recent - 1000 : matched->rank;
        found.push_back({{&action, !action.careful || matched->in_full}, rank, recent >= 0 ? 0 : kind_of(action)});
    }
    std::stable_sort(found.begin(), found.end(), [](const FoundLine& a, const FoundLine& b) {
        return std::tuple(!a.line.sure, a.rank, a.kind) < std::tuple(!b.line.sure, b.rank, b.kind);
    });
    std::vector<PaletteLine> lines;
    std::array<int, 6> of_kind{};
    for (const FoundLine& one : found) {
        const bool asked_for = one.rank < 0 || palette.query.empty() || match({.name = one.line.action->group}, palette.query);
        if (is_one_of_many(*one.line.action) && !asked_for && ++of_kind.at(static_cast<std::size_t>(one.kind)) > kMostOfKind) continue;
        lines.push_back(one.line);
    }
    return lines;
}

std::vector<std::string> nearest_names(std::string_view typed, std::span<const Action> actions) {
    std::vector<std::pair<int, const Action*>> all;
    for (const Action& action : actions)
        all.emplace_back(slips_between(typed, std::string_view(action.name).substr(0, typed.size() + 2)), &action);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(kNearest, all.size()));
    std::partial_sort(all.begin(), end, all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (auto one = all.begin(); one != end; ++one) names.push_back(one->second->name);
    return names;
}

void draw_palette(PanelContext& context) {
    PaletteState& palette = context.view.palette;
    if (!palette.open) return;
    begin_window(context);
    if (std::exchange(palette.focus, false)) focus_next_field();
    const std::string before = palette.query;
    bool enter = text_field(context.ui(), "##palette_query", palette.query, "What would you like to do?", -1,
                            {.tooltip = "Type a few letters of its name. Arrows choose, Enter runs it, Esc closes."});
    if (palette.query != before) {
        palette.chosen = 0;
        palette.moved = false;
        palette.reveal = true;
    }
    gap(context.ui(), 10);
    const std::vector<Action> all = all_actions(context);
    const std::vector<PaletteLine> lines = palette_lines(context, all);
    choose_by_keys(palette, static_cast<int>(lines.size()));
    const Action* run = draw_lines(context, lines);
    if (lines.empty()) draw_nearest(context, all);
    if (enter && !lines.empty()) {
        const PaletteLine& line = lines[static_cast<std::size_t>(palette.chosen)];
        if (line.sure || palette.moved) run = line.action;
        else enter = false;
    }
    const bool outside =
        ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing();
    ImGui::End();
    if (run == nullptr) {
        if (outside || enter || key_pressed(Key::Escape, false)) palette.open = false;
        return;
    }
    palette.open = false;
    remember(palette, run->name);
    run->run(context);
}

}  // namespace attn::app
