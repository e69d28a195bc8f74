#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/maps/head_captions.hpp"
#include "app/panels/maps/head_search.hpp"
#include "app/panels/maps/labels.hpp"
#include "app/panels/maps/large_map.hpp"
#include "app/panels/maps/matrix_view.hpp"
#include "app/panels/maps/shown_maps.hpp"
#include "app/panels/maps/stage_words.hpp"
#include "app/panels/navigation.hpp"
#include "app/panels/panels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

/// A map of the grid.
struct Tile {
    StageId id;       ///< the shown stage
    StageId weights;  ///< the weights stage of the same attention, for captions and sorting
    std::int64_t head = 0;
    HeadScore score{};  ///< without rows if not known yet; for a mean only its position
    double share = 0;   ///< of the pattern by which heads are sorted
};

/// Whether there is a last column with means over the heads: for weights in layer order, if values are shown.
bool shows_mean(const PanelContext& context) {
    const Stage stage = context.view.heads_stage;
    return has_head_mean(stage) && context.trace().config.num_heads > 1 && context.view.sort_heads_by.empty() &&
           !shows_gradients(context) && !shows_moved(context, {stage, 0});
}

/// Adds a tile for each head of an attention.
void add_tiles(const PanelContext& context, const StageId& id, const StageId& weights, std::vector<Tile>& tiles) {
    const std::vector<HeadScore> scores = scores_of_heads(context, weights);
    for (std::int64_t head = 0; head < context.trace().config.num_heads; ++head)
        tiles.push_back({id, weights, head, scores[static_cast<std::size_t>(head)]});
    if (shows_mean(context)) tiles.push_back({id, weights, kMeanHead, {.id = weights, .head = kMeanHead}});
}

std::vector<Tile> tiles_of(const PanelContext& context) {
    const Stage shown = context.view.heads_stage;
    std::vector<Tile> tiles;
    for (const PlanNode& stage : context.trace().plan->nodes()) {
        if (to_self(stage.id.stage) != shown) continue;
        add_tiles(context, stage.id, weights_of(stage.id), tiles);
    }
    const std::string& pattern = context.view.sort_heads_by;
    if (pattern.empty()) return tiles;
    for (Tile& tile : tiles) tile.share = pattern_share(tile.score, pattern);
    std::stable_sort(tiles.begin(), tiles.end(), [](const Tile& a, const Tile& b) { return a.share > b.share; });
    return tiles;
}

/// The number of lines needed for `count` items.
std::int64_t lines_needed(std::int64_t count, std::int64_t columns) { return (count + columns - 1) / columns; }

struct GridLayout {
    std::int64_t columns = 1, lines = 1;  ///< lines per layer; each layer starts on a new line, and each line names its heads
    bool captions = true;
    float tile = 0, pitch_x = 0, pitch_y = 0, label = 0;
};

constexpr float kCaption = 20, kTileGap = 10, kDenseGap = 4, kMinTile = 34, kDenseTile = 20, kCaptionedTile = 56, kMaxTile = 320,
                kSortedPitch = 92, kLabel = 34, kLabelOfHeads = 54;

/// Shrinks tiles until all lines fit; below the smallest legible size the grid scrolls instead.
GridLayout lay_out_tiles(const PanelContext& context, ImVec2 size, std::int64_t columns, std::int64_t lines, bool captions, float legible,
                         float label = kLabel) {
    GridLayout grid;
    grid.columns = columns;
    grid.captions = captions;
    grid.label = context.px(label);
    const auto rows = static_cast<float>(std::max<std::int64_t>(lines, 1));
    const float gap = context.px(captions ? kTileGap : kDenseGap), caption = captions ? context.px(kCaption) : 0;
    const float least = context.px(legible);
    const float by_width = (size.x - grid.label) / static_cast<float>(grid.columns) - gap;
    const float by_height = size.y / rows - caption - gap;
    grid.tile =
        std::floor(std::clamp(std::min(by_width, by_height), std::min(least, std::max(by_width, context.px(12))), context.px(kMaxTile)));
    const float apart = captions ? grid.tile * 1.5F + context.px(60) : grid.tile * 1.25F + gap;
    grid.pitch_x = std::min((size.x - grid.label) / static_cast<float>(grid.columns), apart);
    grid.pitch_y = std::max(grid.tile + caption + gap, std::min(size.y / rows, grid.tile + caption + context.px(50)));
    return grid;
}

/// One column per head. Small maps are packed without captions (tooltips have them); if even smaller, a layer takes several lines. Sorted
/// maps have captions that tell their position.
GridLayout lay_out(const PanelContext& context, ImVec2 size, std::int64_t heads, std::int64_t count) {
    if (!context.view.sort_heads_by.empty()) {
        const auto room = static_cast<std::int64_t>(size.x / context.px(kSortedPitch));
        const std::int64_t columns = std::clamp<std::int64_t>(heads, 1, std::max<std::int64_t>(room, 1));
        return lay_out_tiles(context, size, columns, lines_needed(count, columns), true, kMinTile);
    }
    const std::int64_t layers = count / heads;
    GridLayout grid = lay_out_tiles(context, size, heads, layers, true, kMinTile);
    if (grid.tile >= context.px(kCaptionedTile)) return grid;
    grid = lay_out_tiles(context, size, heads, layers, false, kDenseTile);
    for (std::int64_t lines = 2; grid.tile < context.px(kDenseTile) && lines <= heads; ++lines) {
        const std::int64_t columns = lines_needed(heads, lines);
        grid = lay_out_tiles(context, size, columns, layers * lines, false, kMinTile, kLabelOfHeads);
        grid.lines = lines_needed(heads, columns);
    }
    return grid;
}

constexpr float kGridBar = 118, kGridBarHeight = 320;

/// Whether the bar of colours fits beside the maps without making them much smaller.
bool has_room_for_bar(const PanelContext& context, ImVec2 size, std::int64_t heads, std::int64_t count) {
    const GridLayout without = lay_out(context, size, heads, count),
                     with = lay_out(context, {size.x - context.px(kGridBar), size.y}, heads, count);
    return with.captions == without.captions && with.lines == without.lines && with.tile >= 0.9F * without.tile;
}

/// Whether all layers have the same range. Scores, for example, have one for each.
bool has_one_range(const PanelContext& context, const Matrix& matrix, float reach) {
    if (matrix.empty()) return has_probabilities(context.view.stage.stage) || context.view.compare.on();  // it is being computed
    if (matrix.is_gradient) return reach > 0;
    return matrix.content == Content::Probability || matrix.is_difference || matrix.is_moved;
}

void draw_bar(PanelContext& context, const Matrix& matrix, float reach, ImVec2 at, float height) {
    const float above = context.px(50), top = at.y + above;  // the menu of colours goes there
    const float bottom = top + std::min(context.px(kGridBarHeight), height - above - context.px(10));
    draw_color_scale(context, matrix, {{at.x + context.px(14), top}, {at.x + context.px(kGridBar), bottom}}, false, reach);
}

struct GridPlace {
    std::int64_t row = 0, col = 0;
};

/// The position of a tile, where every group of `group` tiles starts on a new line.
GridPlace place_of(std::int64_t tile, std::int64_t group, const GridLayout& grid) {
    const std::int64_t within = tile % group;
    return {tile / group * grid.lines + within / grid.columns, within % grid.columns};
}

std::string tile_name(const Tile& tile) {
    const char* stack = tile.id.stack == Stack::Encoder ? "encoder " : tile.id.stack == Stack::Decoder ? "decoder " : "";
    if (tile.head == kMeanHead)
        return fmt::format("{}{}layer {} · mean of the heads", stack, is_cross(tile.id.stage) ? "cross " : "", tile.id.layer);
    return fmt::format("{}{}layer {} · head {}", stack, is_cross(tile.id.stage) ? "cross " : "", tile.id.layer, tile.head);
}

bool is_chosen(const PanelContext& context, const Tile& tile) {
    const StageId& stage = context.view.stage;
    return tile.head == context.view.head && tile.id.layer == stage.layer && tile.id.stack == stage.stack &&
           is_cross(tile.id.stage) == is_cross(stage.stage);
}

/// Whether the selected head has changed since the last frame (by key or search) and must be scrolled to.
bool has_been_chosen(const PanelContext& context) {
    const StageId& stage = context.view.stage;
    const int now = (stage.layer * 4096 + static_cast<int>(context.view.head)) * 8 + static_cast<int>(stage.stack) * 2 +
                    (is_cross(stage.stage) ? 1 : 0);
    ImGuiStorage& memory = *ImGui::GetStateStorage();
    const ImGuiID id = ImGui::GetID("chosen");
    const bool other = memory.GetInt(id, -1) != now;
    memory.SetInt(id, now);
    return other;
}

/// How to draw a tile.
struct TileLook {
    float size = 0, room = 0;  ///< size of the map; width for the caption below
    float reach = 0;           ///< colour range, see shown_reach()
    bool captions = true;
    bool found = false, sought = false;  ///< it matches the search; a search is active
    bool comes = true;                   ///< a map that is not there yet is being computed
};

/// A difference has no entropy.
void draw_caption(PanelContext& context, const Tile& tile, bool is_difference, ImVec2 at, float room) {
    if (tile.head == kMeanHead) return;  // named above its column
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string& sorted_by = context.view.sort_heads_by;
    const HeadCaption caption = is_difference       ? HeadCaption()
                                : sorted_by.empty() ? head_caption(context, tile.weights, tile.head)
                                                    : pattern_caption(context, tile.weights, tile.head, sorted_by);
    const std::string place = sorted_by.empty() ? "" : fmt::format("{}{} H{} ", attention_letter(tile.weights), tile.id.layer, tile.head);
    draw_text(list, fonts.mono_small, at, colors.text, place);
    const float place_width = text_width(fonts.mono_small, place);
    draw_text(list, fonts.mono_small, {at.x + place_width, at.y}, caption.color,
              caption_that_fits(caption, fonts.mono_small, room - place_width - context.px(4)));
}

/// Shows the hovered query and key, the head's scores, and a small map enlarged.
void tile_tooltip(PanelContext& context, const Tile& tile, const Matrix& matrix, ImVec2 at, const TileLook& look) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto index = [&](float place, std::int64_t count) {
        return std::clamp(static_cast<std::int64_t>(place / look.size * static_cast<float>(count)), std::int64_t{0}, count - 1);
    };
    const std::int64_t row = index(mouse.y - at.y, matrix.data.rows), col = index(mouse.x - at.x, matrix.data.cols);
    // The cell pane is about the selected head.
    if (is_chosen(context, tile)) {
        context.view.hovered.set(matrix.row_axis, row);
        context.view.hovered.set(matrix.col_axis, col);
    }
    const auto place = [&](Axis axis, std::int64_t i) {
        return fmt::format("{} {}", i, index_label(context, tile.id, axis, i, matrix.labelled_by));
    };
    const Matrix pointed = with_row(context, matrix, row);
    const std::string number = !pointed.data.knows(row, col) ? "…"
                               : pointed.masked(row, col)    ? std::string(kMasked)
                                                             : format_number(pointed.at(row, col));
    begin_tooltip(context.ui());
    text_line(context.ui(), fonts.strong, colors.text, tile_name(tile));
    if (!look.captions) {
        const float large = context.px(176);
        const ImVec2 from = ImGui::GetCursorScreenPos();
        ImGui::Dummy({large, large});
        context.canvas.heatmap(*ImGui::GetWindowDrawList(), from, {from.x + large, from.y + large},
                               {matrix.data, shown_style(context, matrix, tile.id, look.reach)});
    }
    text_line(context.ui(), fonts.mono, colors.muted, fmt::format("{} → {}", place(Axis::T, row), place(Axis::S, col)));
    // On a line of its own: the number may come a frame later and be wider than the tooltip is then.
    text_line(context.ui(), fonts.mono, colors.text,
              (matrix.is_gradient     ? "∂ loss ÷ ∂ "
               : matrix.is_difference ? "difference "
                                      : "") +
                  number);
    if (const HeadCaption caption = matrix.is_difference ? HeadCaption() : head_caption(context, tile.weights, tile.head);
        tile.head != kMeanHead && !caption.text.empty())
        text_line(context.ui(), fonts.mono, caption.color, caption.text);
    text_line(context.ui(), fonts.label, colors.faint, "click to open");
    end_tooltip();
}

void draw_tile(PanelContext& context, const Tile& tile, ImVec2 at, const TileLook& look) {
    constexpr float kFaded = 0.45F;  // maps that the search does not find
    const Palette& colors = context.theme.colors;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{at.x + look.size, at.y + look.size};
    const Matrix matrix = shown_slice(context, tile.id, tile.head);
    const bool hovered = ImGui::IsItemHovered(), chosen = is_chosen(context, tile), faded = look.sought && !look.found;
    if (matrix.empty() && look.comes) draw_awaited(context, at, end);
    else if (!matrix.empty())
        context.canvas.heatmap(
            list, at, end,
            {.data = matrix.data, .style = shown_style(context, matrix, tile.id, look.reach), .opacity = faded && !hovered ? kFaded : 1.F});
    draw_edited_corner(context, matrix, at, end);
    const bool framed = look.sought && look.found;
    list.AddRect(at, end,
                 chosen              ? colors.chosen
                 : hovered || framed ? colors.accent
                                     : colors.line,
                 0, 0, context.px(chosen || hovered || framed ? 2 : 1));
    if (look.captions) draw_caption(context, tile, matrix.is_difference, {at.x, end.y + context.px(3)}, look.room);
    if (hovered && !matrix.empty()) tile_tooltip(context, tile, matrix, at, look);
}

void open_tile(PanelContext& context, const Tile& tile) {
    context.view.stage = tile.id;
    if (tile.head != kMeanHead) context.view.head = tile.head;
    context.view.view = tile.head == kMeanHead ? View::Heads : View::Step;
}

/// Why maps cannot be computed, as when the model's file has changed; "" if they can.
std::string problem_of_maps(const PanelContext& context, const std::vector<Tile>& tiles) {
    const StageId* last = nullptr;
    for (const Tile& tile : tiles) {
        if (last != nullptr && *last == tile.weights) continue;
        last = &tile.weights;
        if (std::string missing = context.missing(tile.weights); !missing.empty() && !missing.starts_with("Computing …")) return missing;
    }
    return "";
}

void draw_heading(PanelContext& context, const Trace<float>& trace, std::size_t maps) {
    const auto& [colors, fonts, scale] = context.theme;
    std::string layers = std::to_string(trace.config.num_layers);
    if (trace.config.architecture == Architecture::EncoderDecoder)
        layers = fmt::format("{} + {}", trace.config.layers_of(Stack::Encoder), trace.config.layers_of(Stack::Decoder));
    const std::string detail = fmt::format("{}layers: {} · heads: {} · maps: {} · rows are queries, columns are keys",
                                           name_beside_title(context.view.heads_stage), layers, trace.config.num_heads, maps);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float right = at.x + ImGui::GetContentRegionAvail().x;
    const float room_end = right - gradient_switch_width(context) - context.px(14);
    const float detail_x = draw_shown_title(context, context.view.stage, at, room_end) + context.px(12);
    const auto [problem, ink] = shown_remark(context, context.view.stage);
    const float room = room_end - detail_x;
    draw_text(list, fonts.label, {detail_x, at.y + context.px(9)}, problem.empty() ? colors.muted : ink,
              problem.empty() ? elide_parts(fonts.label, detail, room) : elide(fonts.label, problem, room));
    draw_gradient_switch(context, right, at.y);
}

/// Selects a tile, which views of many heads frame and scroll to.
void choose_tile(PanelContext& context, const Tile& tile) {
    context.view.stage = tile.id;
    context.view.head = std::max<std::int64_t>(tile.head, 0);
}

/// Enter selects the next match; if there is a single match and it is selected, opens it.
void go_to_next_found(PanelContext& context, const std::vector<Tile>& tiles, const std::vector<std::uint8_t>& found) {
    const auto now = static_cast<std::size_t>(
        std::find_if(tiles.begin(), tiles.end(), [&](const Tile& tile) { return is_chosen(context, tile); }) - tiles.begin());
    for (std::size_t step = 1; step <= tiles.size(); ++step) {
        const std::size_t i = (std::min(now, tiles.size() - 1) + step) % tiles.size();
        if (found[i] == 0) continue;
        if (i == now) return open_tile(context, tiles[i]);
        return choose_tile(context, tiles[i]);
    }
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
    list.AddRectFilled(item.min, item.max, on ? colors.accent : item.hovered ? colors.raised : colors.pane, high / 2);
    list.AddRect(item.min, item.max, on ? colors.accent : colors.line, high / 2);
    draw_focus_ring(context.ui(), item, high / 2);
    const Color ink = on ? ink_on(colors.accent) : colors.text;
    draw_pattern_icon(list, {item.min.x + pad, item.min.y + (high - icon) / 2}, icon, pattern.name, on ? ink : colors.muted);
    draw_text_in(list, fonts.label, {item.min.x + pad + icon + context.px(6), item.min.y}, item.max, {0, 0.5F}, ink, pattern.short_name);
    draw_text_in(list, fonts.mono_small, item.min, {item.max.x - pad, item.max.y}, {1, 0.5F}, on ? ink : colors.muted, chip.count);
    if (item.pressed) context.view.grid.find = on ? "" : pattern.short_name;
}

struct Across {
    float min = 0, max = 0;
};

/// Draws a chip per pattern, from `at` on in the line of the search field; those that do not fit go below it. Where chips give way to a
/// message up to `blocked` in the first line, they keep their places, so that the maps below stay. Returns where the next line begins.
float draw_pattern_chips(PanelContext& context, const std::vector<Tile>& tiles, bool crosses, bool comes, ImVec2 at, Across across,
                         float blocked) {
    constexpr float kBetween = 6, kLine = 36;
    std::vector<PatternChip> chips;
    const bool known =
        context.snapshot.trace->tokens.length < 2 ||  // no row to score
        std::all_of(tiles.begin(), tiles.end(), [](const Tile& tile) { return tile.head == kMeanHead || tile.score.rows > 0; });
    for (const PatternInfo& pattern : head_patterns()) {
        if (!crosses && std::string_view(pattern.name) == "alignment") continue;
        const auto count = std::count_if(tiles.begin(), tiles.end(),
                                         [&](const Tile& tile) { return pattern_share(tile.score, pattern.name) > kShowsPattern; });
        chips.push_back({&pattern, known ? std::to_string(count) : comes ? "…" : "–"});
    }
    const float first_line = at.y;
    for (const PatternChip& chip : chips) {
        const float width = width_of(context, chip) + context.px(kBetween);
        if (at.x + width > across.max && at.x > across.min) at = {across.min, at.y + context.px(kLine)};
        if (at.y > first_line || at.x >= blocked) draw_pattern_chip(context, chip, at);
        at.x += width;
    }
    return at.y + context.px(kLine + 3);
}

void draw_sort_menu(PanelContext& context, bool crosses, float width) {
    std::vector<std::string_view> names{"by layer"};
    int chosen = 0;
    for (const PatternInfo& pattern : head_patterns()) {
        if (!crosses && std::string_view(pattern.name) == "alignment") continue;
        if (context.view.sort_heads_by == pattern.name) chosen = static_cast<int>(names.size());
        names.emplace_back(pattern.short_name);
    }
    if (!drop_down(context.ui(), "##sort", names, chosen, width,
                   {.tooltip = "The order of the heads: by layer, or by how strongly they show a pattern."}))
        return;
    context.view.sort_heads_by = chosen == 0 ? "" : head_patterns()[static_cast<std::size_t>(chosen - 1)].name;
}

struct Search {
    std::vector<std::uint8_t> found;  ///< 1 for each tile that matches
    bool on = false, is_new = false;  ///< there is one; it differs from that of the last frame
    float bottom = 0;                 ///< where the maps begin
};

/// Whether what is searched for has changed since the last frame.
bool is_new_search(const std::string& words) {
    ImGuiStorage& memory = *ImGui::GetStateStorage();
    const ImGuiID id = ImGui::GetID("searched"), now = ImGui::GetID(words.c_str());
    const bool is_new = memory.GetInt(id, static_cast<int>(now)) != static_cast<int>(now);
    memory.SetInt(id, static_cast<int>(now));
    return is_new;
}

/// Draws the search field, the pattern chips and the sort order.
/// `comes`: scores that are not known yet will be.
Search draw_search(PanelContext& context, const std::vector<Tile>& tiles, float width, bool comes) {
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
    Search search;
    search.on = !query.empty();
    search.is_new = is_new_search(view.find);
    std::vector<std::uint8_t>& found = search.found;
    for (const Tile& tile : tiles) found.push_back(search.on && tile.head != kMeanHead && query.fits(tile.score) ? 1 : 0);
    if (entered && !tiles.empty()) {
        go_to_next_found(context, tiles, found);
        view.focus = context.view.view == View::Grid;
    }
    const bool crosses = context.trace().config.architecture == Architecture::EncoderDecoder;
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

/// Names a line: its layer and, where a layer takes several lines, its heads.
void draw_line_name(const PanelContext& context, const Tile& first, const GridLayout& grid, ImVec2 at) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{at.x + grid.label, at.y + grid.tile}, middle{at.x, (at.y + end.y) / 2};
    const std::string layer = first.head == 0 ? fmt::format("{}{}", attention_letter(first.weights), first.id.layer) : "";
    if (grid.lines == 1) return draw_text_in(list, fonts.mono_small, at, end, {0, 0.5F}, colors.text, layer);
    const std::int64_t last = std::min(first.head + grid.columns, context.trace().config.num_heads) - 1;
    draw_text_in(list, fonts.mono_small, at, {end.x, middle.y}, {0, 1}, colors.text, layer);
    draw_text_in(list, fonts.mono_small, middle, end, {0, 0}, colors.muted, fmt::format("H{}–{}", first.head, last));
}

}  // namespace

void draw_grid_view(PanelContext& context) {
    if (!context.ready()) return;
    // The cell pane must refer to the shown maps.
    StageId& stage = context.view.stage;
    if (to_self(stage.stage) != context.view.heads_stage) {
        stage = of_same_attention(stage, context.view.heads_stage);
        stage.layer = std::max(stage.layer, 0);
    }
    keep_view_valid(context.view, context.trace());
    const std::vector<Tile> tiles = tiles_of(context);
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 top = ImGui::GetCursorScreenPos();
    draw_heading(context, context.trace(), tiles.size());
    ImGui::SetCursorScreenPos({top.x, top.y + context.px(40)});
    if (tiles.empty()) {
        text_line(context.ui(), fonts.body, colors.muted, "This model has no such maps.");
        return;
    }
    const std::string problem = problem_of_maps(context, tiles);
    if (!problem.empty()) {
        paragraph(context.ui(), fonts.label, colors.bad, problem);
        gap(context.ui(), 8);
    }
    const Search search = draw_search(context, tiles, ImGui::GetContentRegionAvail().x, problem.empty());
    ImGui::SetCursorScreenPos({top.x, search.bottom});
    ImVec2 room = ImGui::GetContentRegionAvail();
    const float header = context.px(18), spared = header + context.px(8);  // exact height, so that no scrollbar appears unnecessarily
    const std::int64_t of_layer = context.trace().config.num_heads + (shows_mean(context) ? 1 : 0);
    const float reach = shown_reach(context, context.view.heads_stage);
    const Matrix first = shown_slice(context, stage, context.view.head);
    if (has_one_range(context, first, reach) &&
        has_room_for_bar(context, {room.x, room.y - spared}, of_layer, static_cast<std::int64_t>(tiles.size()))) {
        room.x -= context.px(kGridBar);
        draw_bar(context, first, reach, {top.x + room.x, search.bottom}, room.y);
        ImGui::SetCursorScreenPos({top.x, search.bottom});
    }
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
    ImGui::BeginChild("##grid", room, false, ImGuiWindowFlags_NoNav);
    ImGui::PopStyleColor();
    ImVec2 origin = ImGui::GetCursorScreenPos();
    room = ImGui::GetContentRegionAvail();
    room.y -= spared;
    const GridLayout grid = lay_out(context, room, of_layer, static_cast<std::int64_t>(tiles.size()));
    // Centre the grid.
    origin.x += std::floor(std::max(room.x - grid.label - grid.pitch_x * static_cast<float>(grid.columns), 0.F) / 2);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool ordered = context.view.sort_heads_by.empty();
    const auto every = static_cast<std::int64_t>(std::ceil((text_width(fonts.mono_small, "H00") + context.px(4)) / grid.pitch_x));
    const float edge = ImGui::GetWindowPos().x + ImGui::GetWindowWidth();
    for (std::int64_t c = 0; ordered && grid.lines == 1 && c < grid.columns; c += every) {
        const std::string name = c < context.trace().config.num_heads ? fmt::format("H{}", c) : "mean";
        const float x = origin.x + grid.label + static_cast<float>(c) * grid.pitch_x;
        draw_text(list, fonts.mono_small, {std::min(x, edge - text_width(fonts.mono_small, name)), origin.y}, colors.muted, name);
    }
    const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowHeight();
    const bool reveals = has_been_chosen(context);
    const auto first_found = std::find(search.found.begin(), search.found.end(), 1) - search.found.begin();
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const GridPlace place = place_of(static_cast<std::int64_t>(i), ordered ? of_layer : static_cast<std::int64_t>(tiles.size()), grid);
        const ImVec2 at{origin.x + grid.label + static_cast<float>(place.col) * grid.pitch_x,
                        origin.y + header + static_cast<float>(place.row) * grid.pitch_y};
        if ((reveals && is_chosen(context, tiles[i])) || (search.is_new && static_cast<std::ptrdiff_t>(i) == first_found)) {
            if (at.y < ImGui::GetWindowPos().y || at.y + grid.tile > bottom) ImGui::SetScrollFromPosY(at.y - ImGui::GetWindowPos().y, 0.5F);
        }
        if (at.y > bottom || at.y + grid.pitch_y < ImGui::GetWindowPos().y) continue;
        if (place.col == 0 && ordered) draw_line_name(context, tiles[i], grid, {origin.x, at.y});
        ImGui::SetCursorScreenPos(at);
        ImGui::PushID(static_cast<int>(i));
        // It has its own tooltip with an enlarged map.
        const Item item = begin_item(context.ui(), "##tile", {grid.tile, grid.tile}, {.explains_itself = true});
        draw_tile(context, tiles[i], at, {grid.tile, grid.pitch_x, reach, grid.captions, search.found[i] != 0, search.on, problem.empty()});
        draw_focus_ring(context.ui(), item, 0);
        ImGui::PopID();
        if (item.pressed) open_tile(context, tiles[i]);
    }
    const auto all = static_cast<std::int64_t>(tiles.size());
    const auto rows = static_cast<float>(place_of(all - 1, ordered ? of_layer : all, grid).row + 1);
    ImGui::SetCursorScreenPos({origin.x, origin.y + header + rows * grid.pitch_y});
    ImGui::Dummy({1, 1});
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
}

}  // namespace attn::app
