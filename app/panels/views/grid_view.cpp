#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/maps/head_captions.hpp"
#include "app/panels/maps/large_map.hpp"
#include "app/panels/maps/shown_maps.hpp"
#include "app/panels/navigation.hpp"
#include "app/panels/panels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// One map of the grid: which stage and head it shows.
struct Tile {
    StageId id;       ///< the shown stage
    StageId weights;  ///< the weights stage of the same attention, which captions and sorting speak of
    std::int64_t head = 0;
};

/// A last column has the means over the heads, of weights in the order of layers and where values are shown.
bool shows_mean(const PanelContext& context) {
    const Stage stage = context.view.heads_stage;
    return has_head_mean(stage) && context.trace().config.num_heads > 1 && context.view.sort_heads_by.empty() &&
           !shows_gradients(context) && !shows_moved(context, {stage, 0});
}

std::vector<Tile> tiles_of(const PanelContext& context) {
    const Stage shown = context.view.heads_stage;
    std::vector<Tile> tiles;
    for (const PlanNode& stage : context.trace().plan->nodes()) {
        if (to_self(stage.id.stage) != shown) continue;
        StageId weights = stage.id;
        weights.stage = is_cross(stage.id.stage) ? Stage::CrossWeights : Stage::Weights;
        const std::int64_t heads = context.trace().config.num_heads;
        for (std::int64_t head = 0; head < heads; ++head) tiles.push_back({stage.id, weights, head});
        if (shows_mean(context)) tiles.push_back({stage.id, weights, kMeanHead});
    }
    const std::string& pattern = context.view.sort_heads_by;
    if (!pattern.empty())
        std::stable_sort(tiles.begin(), tiles.end(), [&](const Tile& a, const Tile& b) {
            return head_pattern(context, a.weights, a.head, pattern) > head_pattern(context, b.weights, b.head, pattern);
        });
    return tiles;
}

struct GridLayout {
    std::int64_t columns = 1;
    float tile = 0, pitch_x = 0, pitch_y = 0, label = 0;
};

constexpr float kCaption = 20, kTileGap = 10, kMinTile = 34, kMaxTile = 320;

/// As many columns as heads, shrunk until the rows fit; below the smallest legible tile the grid scrolls instead.
GridLayout lay_out(const PanelContext& context, ImVec2 size, std::int64_t heads, std::int64_t count) {
    GridLayout grid;
    grid.columns = std::max<std::int64_t>(heads, 1);
    grid.label = context.px(34);
    const auto rows = static_cast<float>((count + grid.columns - 1) / grid.columns);
    const float gap = context.px(kTileGap), caption = context.px(kCaption);
    const float by_width = (size.x - grid.label) / static_cast<float>(grid.columns) - gap;
    const float by_height = size.y / std::max(rows, 1.F) - caption - gap;
    grid.tile = std::floor(std::clamp(std::min(by_width, by_height), std::min(context.px(kMinTile), std::max(by_width, context.px(20))),
                                      context.px(kMaxTile)));
    grid.pitch_x = std::min((size.x - grid.label) / static_cast<float>(grid.columns), grid.tile * 1.5F + context.px(60));
    grid.pitch_y = std::max(grid.tile + caption + gap, std::min(size.y / std::max(rows, 1.F), grid.tile + context.px(70)));
    return grid;
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

/// Another head than in the frame before: it is scrolled to, by keys or by its name.
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

void draw_tile(PanelContext& context, const Tile& tile, ImVec2 at, float size, float room, float reach) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{at.x + size, at.y + size};
    const Matrix matrix = shown_slice(context, tile.id, tile.head);
    if (!matrix.empty()) context.canvas.heatmap(list, at, end, {matrix.data, shown_style(context, matrix, tile.id, reach)});
    draw_edited_corner(context, matrix, at, end);
    const bool chosen = is_chosen(context, tile);
    const bool hovered = ImGui::IsItemHovered();
    list.AddRect(at, end, chosen ? colors.chosen : hovered ? colors.accent : colors.line, 0, 0, context.px(chosen || hovered ? 2 : 1));
    HeadCaption caption = head_caption(context, tile.weights, tile.head);
    if (tile.head == kMeanHead) caption = {"mean", colors.muted};
    const std::string place = context.view.sort_heads_by.empty() ? "" : fmt::format("L{} H{} ", tile.id.layer, tile.head);
    draw_text(list, fonts.mono_small, {at.x, end.y + context.px(3)}, colors.text, place);
    const float place_width = text_width(fonts.mono_small, place);
    draw_text(list, fonts.mono_small, {at.x + place_width, end.y + context.px(3)}, caption.color,
              caption_that_fits(caption, fonts.mono_small, room - place_width - context.px(4)));
    if (!hovered || matrix.empty()) return;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const std::int64_t row = std::clamp(static_cast<std::int64_t>((mouse.y - at.y) / size * static_cast<float>(matrix.data.rows)),
                                        std::int64_t{0}, matrix.data.rows - 1);
    const std::int64_t col = std::clamp(static_cast<std::int64_t>((mouse.x - at.x) / size * static_cast<float>(matrix.data.cols)),
                                        std::int64_t{0}, matrix.data.cols - 1);
    context.view.hovered.set(matrix.row_axis, row);
    context.view.hovered.set(matrix.col_axis, col);
    const Matrix pointed = with_row(context, matrix, row);
    const std::string number = !pointed.data.knows(row, col) ? "…"
                               : pointed.masked(row, col)    ? std::string(kMasked)
                                                             : format_number(pointed.at(row, col));
    begin_tooltip(context.ui());
    text_line(context.ui(), fonts.strong, colors.text, tile_name(tile));
    text_line(context.ui(), fonts.mono, colors.muted,
              fmt::format("{}query {} → key {}: {}",
                          matrix.is_gradient     ? "∂ loss ÷ ∂ "
                          : matrix.is_difference ? "difference, "
                                                 : "",
                          row, col, number));
    if (tile.head != kMeanHead && !caption.text.empty()) text_line(context.ui(), fonts.mono, caption.color, caption.text);
    text_line(context.ui(), fonts.label, colors.faint, "click to open");
    end_tooltip();
}

void open_tile(PanelContext& context, const Tile& tile) {
    context.view.stage = tile.id;
    if (tile.head != kMeanHead) context.view.head = tile.head;
    context.view.view = tile.head == kMeanHead ? View::Heads : View::Step;
}

void draw_heading(PanelContext& context, const Trace<float>& trace, std::size_t maps) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::string detail = fmt::format("{} · layers: {} · heads: {} · maps: {} · rows are queries, columns are keys",
                                           stage_name(context.view.heads_stage), trace.config.num_layers, trace.config.num_heads, maps);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string name = shown_title(context, context.view.stage);
    const float right = at.x + ImGui::GetContentRegionAvail().x, detail_x = at.x + text_width(fonts.heading, name) + context.px(12);
    draw_text(list, fonts.heading, at, colors.text, name);
    const std::string problem = shown_problem(context, context.view.stage);
    draw_text(list, fonts.label, {detail_x, at.y + context.px(9)}, problem.empty() ? colors.muted : colors.bad,
              elide(fonts.label, problem.empty() ? detail : problem, right - gradient_switch_width(context) - context.px(14) - detail_x));
    draw_gradient_switch(context, right, at.y);
}

}  // namespace

void draw_grid_view(PanelContext& context) {
    if (!context.ready()) return;
    // The cell at the right belongs to the maps that are shown.
    StageId& stage = context.view.stage;
    if (to_self(stage.stage) != context.view.heads_stage)
        stage = {is_cross(stage.stage) ? to_cross(context.view.heads_stage) : context.view.heads_stage, std::max(stage.layer, 0),
                 stage.stack};
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
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
    ImGui::BeginChild("##grid", ImGui::GetContentRegionAvail(), false, ImGuiWindowFlags_NoNav);
    ImGui::PopStyleColor();
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float header = context.px(18);
    ImVec2 room = ImGui::GetContentRegionAvail();
    room.y -= header + context.px(6);  // nothing may scroll that fits
    const GridLayout grid =
        lay_out(context, room, context.trace().config.num_heads + (shows_mean(context) ? 1 : 0), static_cast<std::int64_t>(tiles.size()));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float reach = shown_reach(context, context.view.heads_stage);
    const bool ordered = context.view.sort_heads_by.empty();
    for (std::int64_t c = 0; ordered && c < grid.columns; ++c)
        draw_text(list, fonts.mono_small, {origin.x + grid.label + static_cast<float>(c) * grid.pitch_x, origin.y}, colors.muted,
                  c < context.trace().config.num_heads ? fmt::format("H{}", c) : "mean");
    const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowHeight();
    const bool reveals = has_been_chosen(context);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i) / grid.columns, col = static_cast<std::int64_t>(i) % grid.columns;
        const ImVec2 at{origin.x + grid.label + static_cast<float>(col) * grid.pitch_x,
                        origin.y + header + static_cast<float>(row) * grid.pitch_y};
        if (reveals && is_chosen(context, tiles[i])) {
            if (at.y < ImGui::GetWindowPos().y || at.y + grid.tile > bottom) ImGui::SetScrollFromPosY(at.y - ImGui::GetWindowPos().y, 0.5F);
        }
        if (at.y > bottom || at.y + grid.pitch_y < ImGui::GetWindowPos().y) continue;
        if (col == 0 && ordered)
            draw_text_in(list, fonts.mono_small, {origin.x, at.y}, {at.x, at.y + grid.tile}, {0, 0.5F}, colors.muted,
                         fmt::format("{}{}", is_cross(tiles[i].id.stage) ? "X" : "L", tiles[i].id.layer));
        ImGui::SetCursorScreenPos(at);
        ImGui::PushID(static_cast<int>(i));
        // Its own tooltip shows the map larger, with the head's figures.
        const Item item = begin_item(context.ui(), "##tile", {grid.tile, grid.tile}, {.explains_itself = true});
        draw_tile(context, tiles[i], at, grid.tile, grid.pitch_x, reach);
        draw_focus_ring(context.ui(), item, 0);
        ImGui::PopID();
        if (item.pressed) open_tile(context, tiles[i]);
    }
    const auto rows = static_cast<float>((static_cast<std::int64_t>(tiles.size()) + grid.columns - 1) / grid.columns);
    ImGui::SetCursorScreenPos({origin.x, origin.y + header + rows * grid.pitch_y});
    ImGui::Dummy({1, 1});
    ImGui::EndChild();
}

}  // namespace attn::app
