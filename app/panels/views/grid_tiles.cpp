#include "app/panels/views/grid_tiles.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "app/panels/compare/head_captions.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/widgets/heatmap_geometry.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// Adds a tile for each head of an attention.
void add_tiles(const PanelContext& context, const StageId& id, const StageId& weights, std::vector<GridTile>& tiles) {
    const std::vector<HeadScore> scores = scores_of_heads(context, weights);
    for (std::int64_t head = 0; head < context.structure().config.num_heads; ++head)
        tiles.push_back({id, weights, head, scores[static_cast<std::size_t>(head)]});
    if (shows_mean(context)) tiles.push_back({id, weights, kMeanHead, {.id = weights, .head = kMeanHead}});
}

std::string tile_name(const GridTile& tile) {
    const char* stack = tile.id.stack == Stack::Encoder ? "encoder " : tile.id.stack == Stack::Decoder ? "decoder " : "";
    if (tile.head == kMeanHead)
        return fmt::format("{}{}layer {} · mean of the heads", stack, tile.id.attention == kCrossAttention ? "cross " : "", tile.id.layer);
    return fmt::format("{}{}layer {} · head {}", stack, tile.id.attention == kCrossAttention ? "cross " : "", tile.id.layer, tile.head);
}

/// A difference has no entropy.
void draw_caption(PanelContext& context, const GridTile& tile, bool is_difference, ImVec2 at, float room) {
    if (tile.head == kMeanHead) return;  // named above its column
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string& sorted_by = context.view.heads.sort_by;
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
void tile_tooltip(PanelContext& context, const GridTile& tile, const Matrix& matrix, ImVec2 at, const TileLook& look) {
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
    const Matrix pointed = context.numbers().with_row(matrix, row);
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

}  // namespace

bool shows_mean(const PanelContext& context) {
    const Stage stage = context.view.heads.stage;
    return has_head_mean(stage) && context.structure().config.num_heads > 1 && context.view.heads.sort_by.empty() &&
           !shows_gradients(context) && !shows_norm_weighted(context, {stage, 0});
}

std::vector<GridTile> grid_tiles(const PanelContext& context) {
    const Stage shown = context.view.heads.stage;
    std::vector<GridTile> tiles;
    for (const PlanNode& stage : context.structure().plan->nodes()) {
        if (stage.id.stage != shown) continue;
        add_tiles(context, stage.id, weights_of(stage.id), tiles);
    }
    const std::string& pattern = context.view.heads.sort_by;
    if (pattern.empty()) return tiles;
    for (GridTile& tile : tiles) tile.share = pattern_share(tile.score, pattern);
    std::stable_sort(tiles.begin(), tiles.end(), [](const GridTile& a, const GridTile& b) { return a.share > b.share; });
    return tiles;
}

bool is_chosen(const PanelContext& context, const GridTile& tile) {
    const StageId& stage = context.view.stage;
    return tile.head == context.view.head && tile.id.layer == stage.layer && tile.id.stack == stage.stack &&
           tile.id.attention == stage.attention;
}

void choose_tile(PanelContext& context, const GridTile& tile) {
    context.view.stage = tile.id;
    context.view.head = std::max<std::int64_t>(tile.head, 0);
}

void open_tile(PanelContext& context, const GridTile& tile) {
    if (tile.head != kMeanHead) return open_in_step(context.view, tile.id, tile.head);
    context.view.stage = tile.id;
    context.view.view = View::Heads;
}

void draw_tile(PanelContext& context, const GridTile& tile, ImVec2 at, const TileLook& look) {
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
    if (shows_dropout(context, matrix)) draw_dropped_cells(context.ui(), list, heatmap_geometry(at, end, matrix.data, {}), matrix.data);
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

}  // namespace attn::app
