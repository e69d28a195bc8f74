#include "app/panels/views/drawn_views.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "app/panels/compare/matrix_view.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/notice_place.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/views/grid_layout.hpp"
#include "app/panels/views/grid_search.hpp"
#include "app/panels/views/grid_tiles.hpp"
#include "app/panels/views/heads_switch.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kGridBarHeight = 320, kGridColorLine = 260;

/// Whether all layers have the same range. Scores, for example, have one for each.
bool has_one_range(const PanelContext& context, const Matrix& matrix, float reach) {
    if (matrix.empty()) return has_probabilities(context.view.stage.stage) || context.view.compare.on();  // it is being computed
    if (matrix.is_gradient) return reach > 0;
    return matrix.content == Content::Probability || matrix.is_difference || matrix.is_norm_weighted;
}

void draw_bar(PanelContext& context, const Matrix& matrix, float reach, ImVec2 at, float height) {
    const float above = context.px(50), top = at.y + above;  // the menu of colours goes there
    const float bottom = top + std::min(context.px(kGridBarHeight), height - above - context.px(10));
    draw_color_scale(context, matrix, {{at.x + context.px(14), top}, {at.x + context.px(kGridBar), bottom}}, false, reach);
}

/// Whether the selected head has changed since the last frame (by key or search) and must be scrolled to.
bool has_been_chosen(const PanelContext& context) {
    const StageId& stage = context.view.stage;
    const int now = (stage.layer * 4096 + static_cast<int>(context.view.head)) * 8 + static_cast<int>(stage.stack) * 2 + stage.attention;
    ImGuiStorage& memory = *ImGui::GetStateStorage();
    const ImGuiID id = ImGui::GetID("chosen");
    const bool other = memory.GetInt(id, -1) != now;
    memory.SetInt(id, now);
    return other;
}

/// Which maps are there.
struct ComputedMaps {
    std::size_t done = 0, all = 0;  ///< counted by layers
    std::string problem;            ///< why others cannot be computed, as when the model's file has changed; "" if they can
};

ComputedMaps computed_maps(const PanelContext& context, const std::vector<GridTile>& tiles) {
    ComputedMaps maps;
    const StageId* last = nullptr;
    for (const GridTile& tile : tiles) {
        if (last != nullptr && *last == tile.id) continue;
        last = &tile.id;
        const Reason missing = context.missing(tile.id);
        ++maps.all;
        if (missing.empty()) ++maps.done;
        else if (maps.problem.empty() && !missing.waits) maps.problem = missing.words;
    }
    return maps;
}

/// Draws the title and what the maps are, from `at` to `right`.
void draw_heading(PanelContext& context, const Structure& structure, std::size_t maps, const ComputedMaps& computed, ImVec2 at,
                  float right) {
    const auto& [colors, fonts, scale] = context.theme;
    std::string layers = std::to_string(structure.config.num_layers);
    if (structure.config.architecture == Architecture::EncoderDecoder)
        layers = fmt::format("{} + {}", structure.config.layers_of(Stack::Encoder), structure.config.layers_of(Stack::Decoder));
    const std::string waiting =
        computed.done < computed.all ? fmt::format("computing … {} % · ", 100 * computed.done / computed.all) : std::string();
    const std::string detail = fmt::format("{}{}{} layers · {} heads · {} maps{}", name_beside_title({context.view.heads.stage}), waiting,
                                           layers, structure.config.num_heads, maps,
                                           context.view.heads.stage == Stage::Other ? "" : " · rows are queries, columns are keys");
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float detail_x = draw_shown_title(context, context.view.stage, at, right) + context.px(12);
    const auto [problem, ink] = shown_remark(context, context.view.stage);
    const float room = right - detail_x;
    if (problem.empty() && leaves_to_notice(context, {{detail_x, at.y}, {right, at.y + context.px(kNoticeLine)}})) return;
    draw_text(list, fonts.label, {detail_x, at.y + context.px(9)}, problem.empty() ? colors.muted : ink,
              problem.empty() ? elide_parts(fonts.label, detail, room) : elide(fonts.label, problem, room));
}

/// Names a line: its layer and, where a layer takes several lines, its heads.
void draw_line_name(const PanelContext& context, const GridTile& first, const GridLayout& grid, ImVec2 at) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{at.x + grid.label, at.y + grid.tile}, middle{at.x, (at.y + end.y) / 2};
    const std::string layer = first.head == 0 ? fmt::format("{}{}", attention_letter(first.weights), first.id.layer) : "";
    if (grid.lines == 1) return draw_text_in(list, fonts.mono_small, at, end, {0, 0.5F}, colors.text, layer);
    const std::int64_t last = std::min(first.head + grid.columns, context.structure().config.num_heads) - 1;
    draw_text_in(list, fonts.mono_small, at, {end.x, middle.y}, {0, 1}, colors.text, layer);
    draw_text_in(list, fonts.mono_small, middle, end, {0, 0}, colors.muted, fmt::format("H{}–{}", first.head, last));
}

/// What the tiles of a grid have in common.
struct TilesLook {
    std::int64_t of_layer = 0;  ///< tiles
    float reach = 0;            ///< see shown_reach()
    float header = 0;           ///< height of the column names
    bool comes = true;          ///< a map that is not there yet is being computed
};

/// "H0", "H1" and so on above the columns, as many as there is room for.
void draw_column_names(const PanelContext& context, const GridLayout& grid, ImVec2 origin) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto every = static_cast<std::int64_t>(std::ceil((text_width(fonts.mono_small, "H00") + context.px(4)) / grid.pitch_x));
    const float edge = ImGui::GetWindowPos().x + ImGui::GetWindowWidth();
    for (std::int64_t c = 0; c < grid.columns; c += every) {
        const std::string name = c < context.structure().config.num_heads ? fmt::format("H{}", c) : "mean";
        const float x = origin.x + grid.label + static_cast<float>(c) * grid.pitch_x;
        draw_text(list, fonts.mono_small, {std::min(x, edge - text_width(fonts.mono_small, name)), origin.y}, colors.muted, name);
    }
}

/// What of the tiles is on screen, in the scrolled area from `origin` on.
void draw_tiles(PanelContext& context, const std::vector<GridTile>& tiles, const GridSearch& search, const GridLayout& grid, ImVec2 origin,
                const TilesLook& look) {
    const bool ordered = context.view.heads.sort_by.empty();
    if (ordered && grid.lines == 1) draw_column_names(context, grid, origin);
    const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowHeight();
    const bool reveals = has_been_chosen(context);
    const auto first_found = std::find(search.found.begin(), search.found.end(), 1) - search.found.begin();
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const GridPlace place =
            place_in_grid(static_cast<std::int64_t>(i), ordered ? look.of_layer : static_cast<std::int64_t>(tiles.size()), grid);
        const ImVec2 at{origin.x + grid.label + static_cast<float>(place.col) * grid.pitch_x,
                        origin.y + look.header + static_cast<float>(place.row) * grid.pitch_y};
        if ((reveals && is_chosen(context, tiles[i])) || (search.is_new && static_cast<std::ptrdiff_t>(i) == first_found)) {
            if (at.y < ImGui::GetWindowPos().y || at.y + grid.tile > bottom) ImGui::SetScrollFromPosY(at.y - ImGui::GetWindowPos().y, 0.5F);
        }
        if (at.y > bottom || at.y + grid.pitch_y < ImGui::GetWindowPos().y) continue;
        if (place.col == 0 && ordered) draw_line_name(context, tiles[i], grid, {origin.x, at.y});
        ImGui::SetCursorScreenPos(at);
        ImGui::PushID(static_cast<int>(i));
        // It has its own tooltip with an enlarged map.
        const Item item = begin_item(context.ui(), "##tile", {grid.tile, grid.tile}, {.explains_itself = true});
        draw_tile(context, tiles[i], at, {grid.tile, grid.pitch_x, look.reach, grid.captions, search.found[i] != 0, search.on, look.comes});
        draw_focus_ring(context.ui(), item, 0);
        ImGui::PopID();
        if (item.pressed) open_tile(context, tiles[i]);
    }
    const auto all = static_cast<std::int64_t>(tiles.size());
    const auto rows = static_cast<float>(place_in_grid(all - 1, ordered ? look.of_layer : all, grid).row + 1);
    ImGui::SetCursorScreenPos({origin.x, origin.y + look.header + rows * grid.pitch_y});
}

}  // namespace

void draw_grid_view(PanelContext& context) {
    if (!context.ready()) return;
    // The cell pane must refer to the shown maps.
    StageId& stage = context.view.stage;
    if (stage.stage != context.view.heads.stage) {
        stage = of_same_attention(stage, context.view.heads.stage);
        stage.layer = std::max(stage.layer, 0);
    }
    keep_view_valid(context.view, context.structure());
    const std::vector<GridTile> tiles = grid_tiles(context);
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 top = ImGui::GetCursorScreenPos();
    const float right = top.x + ImGui::GetContentRegionAvail().x;
    float title_end = right - draw_heads_pages(context, right, top.y) - context.px(14);
    title_end -= draw_gradient_chip(context, title_end, top.y);
    const ComputedMaps computed = computed_maps(context, tiles);
    ImGui::SetCursorScreenPos({top.x, top.y + context.px(40)});
    if (tiles.empty()) {
        draw_heading(context, context.structure(), 0, computed, top, title_end);
        text_line(context.ui(), fonts.body, colors.muted, "This model has no such maps.");
        return;
    }
    const std::string& problem = computed.problem;
    if (!problem.empty()) {
        paragraph(context.ui(), fonts.label, colors.bad, problem);
        gap(context.ui(), 8);
    }
    const GridSearch search = draw_grid_search(context, tiles, ImGui::GetContentRegionAvail().x, problem.empty());
    ImGui::SetCursorScreenPos({top.x, search.bottom});
    ImVec2 room = ImGui::GetContentRegionAvail();
    const float header = context.px(18), spared = header + context.px(8);  // exact height, so that no scrollbar appears unnecessarily
    const std::int64_t of_layer = context.structure().config.num_heads + (shows_mean(context) ? 1 : 0);
    const float reach = shown_reach(context, {context.view.heads.stage});
    const Matrix first = shown_slice(context, stage, context.view.head);
    if (has_one_range(context, first, reach)) {
        if (has_room_for_bar(context, {room.x, room.y - spared}, of_layer, static_cast<std::int64_t>(tiles.size()))) {
            room.x -= context.px(kGridBar);
            draw_bar(context, first, reach, {top.x + room.x, search.bottom}, room.y);
        } else {
            title_end -= context.px(kGridColorLine);
            draw_color_line(context, first, {title_end + context.px(14), top.y + context.px(7)}, reach);
        }
    }
    draw_heading(context, context.structure(), tiles.size(), computed, top, title_end);
    ImGui::SetCursorScreenPos({top.x, search.bottom});
    const Scrolled scrolled(context.ui(), "##grid", room);
    ImVec2 origin = ImGui::GetCursorScreenPos();
    room = ImGui::GetContentRegionAvail();
    room.y -= spared;
    const GridLayout grid = lay_out_grid(context, room, of_layer, static_cast<std::int64_t>(tiles.size()));
    // Centre the grid.
    origin.x += std::floor(std::max(room.x - grid.label - grid.pitch_x * static_cast<float>(grid.columns), 0.F) / 2);
    draw_tiles(context, tiles, search, grid, origin, {of_layer, reach, header, problem.empty()});
    ImGui::Dummy({1, 1});
}

}  // namespace attn::app
