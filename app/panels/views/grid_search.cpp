#include "app/panels/views/grid_search.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <tuple>
#include <utility>

#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

/// Enter selects the next match; if there is a single match and it is selected, opens it.
void go_to_next_found(PanelContext& context, const std::vector<GridTile>& tiles, const std::vector<std::uint8_t>& found) {
    const auto now = static_cast<std::size_t>(
        std::find_if(tiles.begin(), tiles.end(), [&](const GridTile& tile) { return is_chosen(context, tile); }) - tiles.begin());
    for (std::size_t step = 1; step <= tiles.size(); ++step) {
        const std::size_t i = (std::min(now, tiles.size() - 1) + step) % tiles.size();
        if (found[i] == 0) continue;
        if (i == now) return open_tile(context, tiles[i]);
        return choose_tile(context, tiles[i]);
    }
}

/// Enter opens the chosen head or, where that is not among the found ones, chooses the first of them.
void enter_chosen(PanelContext& context, const std::vector<GridTile>& tiles, const GridSearch& search) {
    const auto chosen = std::find_if(tiles.begin(), tiles.end(), [&](const GridTile& tile) { return is_chosen(context, tile); });
    const bool sought = search.on && (chosen == tiles.end() || search.found[static_cast<std::size_t>(chosen - tiles.begin())] == 0);
    if (sought) go_to_next_found(context, tiles, search.found);
    else if (chosen != tiles.end()) open_tile(context, *chosen);
}

/// A pattern and the number of heads that show it, "…" until it is known.
struct PatternChip {
    const PatternInfo* pattern = nullptr;
    std::string count{};
};

float width_of(const PanelContext& context, const PatternChip& chip) {
    const Fonts& fonts = context.theme.fonts;
    return context.px(18 + 13 + 6 + 6) + text_width(fonts.label, chip.pattern->short_name) + text_width(fonts.mono_small, chip.count);
}

/// A click searches for the pattern.
void draw_pattern_chip(PanelContext& context, const PatternChip& chip, ImVec2 at) {
    const auto& [colors, fonts, scale] = context.theme;
    const PatternInfo& pattern = *chip.pattern;
    const float icon = context.px(13), pad = context.px(9), high = context.px(28), width = width_of(context, chip);
    const Item item = item_at(context.ui(), pattern.name, at, {width, high}, {.tooltip = pattern.tooltip});
    const bool on = read_head_query(context.view.grid.find).pattern == pattern.name;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(item.min, item.max, on ? colors.chosen : item.hovered ? colors.raised : colors.pane, high / 2);
    list.AddRect(item.min, item.max, on ? colors.chosen : colors.line, high / 2);
    draw_focus_ring(context.ui(), item, high / 2);
    const Color ink = on ? ink_on(colors.chosen) : colors.text;
    draw_pattern_icon(list, {item.min.x + pad, item.min.y + (high - icon) / 2}, icon, pattern.name, on ? ink : colors.muted);
    draw_text_in(list, fonts.label, {item.min.x + pad + icon + context.px(6), item.min.y}, item.max, {0, 0.5F}, ink, pattern.short_name);
    draw_text_in(list, fonts.mono_small, item.min, {item.max.x - pad, item.max.y}, {1, 0.5F}, on ? ink : colors.muted, chip.count);
    if (item.pressed) context.view.grid.find = on ? "" : pattern.short_name;
}

/// Where no head shows any pattern: which comes nearest; "" if nothing was scored.
std::string nearest_pattern(const std::vector<GridTile>& tiles) {
    const GridTile* nearest = nullptr;
    const PatternInfo* shown = nullptr;
    double most = 0;
    for (const GridTile& tile : tiles)
        for (const PatternInfo& pattern : head_patterns())
            if (const double share = tile.head == kMeanHead ? 0 : pattern_share(tile.score, pattern.name); share > most)
                std::tie(most, nearest, shown) = std::tuple(share, &tile, &pattern);
    if (nearest == nullptr) return "";
    return fmt::format("no clear pattern; nearest: {}, {} in {}", shown->short_name, format_number(most, {.decimals = 2}),
                       attention_name(nearest->weights, nearest->head, true));
}

struct Across {
    float min = 0, max = 0;
};

/// Draws a chip per pattern, from `at` on in the line of the search field; those that do not fit go below it. Where chips give way to a
/// message up to `blocked` in the first line, they keep their places, so that the maps below stay. Returns where the next line begins.
float draw_pattern_chips(PanelContext& context, const std::vector<GridTile>& tiles, bool crosses, bool comes, ImVec2 at, Across across,
                         float blocked) {
    constexpr float kBetween = 6, kLine = 36;
    std::vector<PatternChip> chips;
    const bool known =
        context.structure().tokens.length < 2 ||  // no row to score
        std::all_of(tiles.begin(), tiles.end(), [](const GridTile& tile) { return tile.head == kMeanHead || tile.score.rows > 0; });
    for (const PatternInfo& pattern : head_patterns()) {
        if (!crosses && std::string_view(pattern.name) == "alignment") continue;
        const auto count = std::count_if(tiles.begin(), tiles.end(),
                                         [&](const GridTile& tile) { return pattern_share(tile.score, pattern.name) > kShowsPattern; });
        chips.push_back({&pattern, known ? std::to_string(count) : comes ? "…" : "–"});
    }
    const float first_line = at.y;
    const bool none = known && std::all_of(chips.begin(), chips.end(), [](const PatternChip& chip) { return chip.count == "0"; });
    for (const PatternChip& chip : chips) {
        const float width = width_of(context, chip) + context.px(kBetween);
        if (at.x + width > across.max && at.x > across.min) at = {across.min, at.y + context.px(kLine)};
        if (at.y > first_line || at.x >= blocked) draw_pattern_chip(context, chip, at);
        at.x += width;
    }
    if (none && (at.y > first_line || at.x >= blocked)) {
        const Fonts& fonts = context.theme.fonts;
        const float left = at.x + context.px(kBetween);
        draw_text_in(*ImGui::GetWindowDrawList(), fonts.label, {left, at.y}, {across.max, at.y + context.px(28)}, {0, 0.5F},
                     context.theme.colors.muted, elide(fonts.label, nearest_pattern(tiles), across.max - left - context.px(10)));
    }
    return at.y + context.px(kLine + 3);
}

void draw_sort_menu(PanelContext& context, bool crosses, float width) {
    std::vector<std::string_view> names{"by layer"};
    int chosen = 0;
    for (const PatternInfo& pattern : head_patterns()) {
        if (!crosses && std::string_view(pattern.name) == "alignment") continue;
        if (context.view.heads.sort_by == pattern.name) chosen = static_cast<int>(names.size());
        names.emplace_back(pattern.short_name);
    }
    if (!drop_down(context.ui(), "##sort", names, chosen, width,
                   {.tooltip = "The order of the heads: by layer, or by how strongly they show a pattern."}))
        return;
    context.view.heads.sort_by = chosen == 0 ? "" : head_patterns()[static_cast<std::size_t>(chosen - 1)].name;
}

/// Whether what is searched for has changed since the last frame.
bool is_new_search(const std::string& words) {
    ImGuiStorage& memory = *ImGui::GetStateStorage();
    const ImGuiID id = ImGui::GetID("searched"), now = ImGui::GetID(words.c_str());
    const bool is_new = memory.GetInt(id, static_cast<int>(now)) != static_cast<int>(now);
    memory.SetInt(id, static_cast<int>(now));
    return is_new;
}

}  // namespace

GridSearch draw_grid_search(PanelContext& context, const std::vector<GridTile>& tiles, float width, bool comes) {
    constexpr float kSort = 108, kRoomForAll = 700;
    const float field_width = width < context.px(kRoomForAll) ? 128 : 168;
    const Ui ui = context.ui();
    GridView& view = context.view.grid;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (std::exchange(view.focus, false)) focus_next_field();
    const bool entered = text_field(ui, "##find_head", view.find, "L5 H3, sink…", field_width,
                                    {.tooltip = "Finds heads by layer, number and pattern (Ctrl+F). Enter goes to the next one, and opens "
                                                "the only one."});
    const HeadQuery query = read_head_query(view.find);
    GridSearch search;
    search.on = !query.empty();
    search.is_new = is_new_search(view.find);
    std::vector<std::uint8_t>& found = search.found;
    for (const GridTile& tile : tiles) found.push_back(search.on && tile.head != kMeanHead && query.fits(tile.score) ? 1 : 0);
    if (std::exchange(view.enter, false)) enter_chosen(context, tiles, search);
    if (entered && !tiles.empty()) {
        go_to_next_found(context, tiles, found);
        view.focus = context.view.view == View::Grid;
    }
    const bool crosses = context.structure().config.architecture == Architecture::EncoderDecoder;
    const float x = at.x + context.px(field_width + 10);
    const float right = at.x + width - context.px(kSort);
    ImGui::SetCursorScreenPos({right, at.y});
    draw_sort_menu(context, crosses, kSort);
    const auto& fonts = context.theme.fonts;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto count = std::count(found.begin(), found.end(), 1);
    // In the field, so that chips and maps do not move while the user types.
    const std::string counted = fmt::format("{} head{}", count, count == 1 ? "" : "s");
    const bool has_room = text_width(fonts.mono_small, view.find) + text_width(fonts.mono_small, counted) < context.px(field_width - 30);
    if (!query.empty() && query.unknown.empty() && has_room)
        draw_text_in(list, fonts.mono_small, at, {at.x + context.px(field_width - 8), at.y + context.px(30)}, {1, 0.5F},
                     count == 0 ? context.theme.colors.chosen_text : context.theme.colors.muted, counted);
    float blocked = 0;
    if (!query.unknown.empty()) {
        const std::string shown = elide(fonts.label, fmt::format("“{}” is not a layer, head or pattern", query.unknown), right - x);
        draw_text_in(list, fonts.label, {x, at.y}, {right, at.y + context.px(30)}, {0, 0.5F}, context.theme.colors.chosen_text, shown);
        blocked = x + text_width(fonts.label, shown) + context.px(10);
    }
    search.bottom = draw_pattern_chips(context, tiles, crosses, comes, {x, at.y + context.px(1)}, {at.x, right}, blocked);
    return search;
}

}  // namespace attn::app
