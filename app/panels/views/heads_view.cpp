#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/head_captions.hpp"
#include "app/panels/compare/matrix_view.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/views/heads_switch.hpp"
#include "app/panels/views/heads_tiling.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// Shows a head as long as the mouse is on its map; the chosen one stays chosen.
void point_at_head(ViewState& view, std::int64_t head) {
    if (head == view.head) return;
    view.head_under_mouse = HeadUnderMouse{head, view.chosen_head()};
    view.head = head;
}

void choose_head(ViewState& view, std::int64_t head) {
    view.head_under_mouse.reset();
    view.head = head;
}

constexpr float kTileLabels = 62, kTileColumns = 20, kTileTitle = 26, kHeadGap = 14, kHeadsBar = 132;
constexpr float kNamedKeys = 84, kDenseHeadGap = 8;  // in narrower maps only the beginning of one token would fit

constexpr std::string_view kRowsAndColumns = "rows are queries, columns are keys · ";

/// The attention whose heads are shown: in the current stage's layer, cross-attention if the stage belongs to it.
StageId shown_stage(const PanelContext& context) {
    const ViewState& view = context.view;
    StageId id = of_same_attention(view.stage, view.heads.stage);
    id.layer = std::max(id.layer, 0);
    if (!context.has_stage(id)) id.attention = kSelfAttention;
    return id;
}

/// The number of columns that gives the largest maps, with this much space above and between them.
HeadsTiling best_tiling(const HeadsRoom& room, std::int64_t heads, float above, float gap) {
    HeadsTiling best{.above = above, .gap = gap};
    for (std::int64_t columns = 1; columns <= heads; ++columns) {
        const std::int64_t rows = (heads + columns - 1) / columns;
        const float cell_width = (room.size.x - kTileLabels * room.scale) / static_cast<float>(columns) - gap;
        const float cell_height = room.size.y / static_cast<float>(rows) - above - gap;
        const float width = std::min(cell_width, cell_height * room.aspect);
        if (width <= best.width) continue;
        best = {columns, width, width / room.aspect, above, gap};
    }
    return best;
}

/// The map of the previously shown stage during the animation; otherwise empty.
Matrix head_before(PanelContext& context, std::int64_t head) {
    const ShownMap& from = context.view.morph.from();
    if (!context.view.morph.moving(context.now) || from.head != kEveryHead || head < 0) return {};
    return context.numbers()
        .numbers({.of = context.shown(), .stage = from.stage, .sequence = from.batch, .head = head, .beside = context.view.stage})
        .map;
}

void draw_head(PanelContext& context, const StageId& id, std::int64_t head, const Box& box, bool row_labels, float reach,
               const HeadsTiling& tiling) {
    const auto& [colors, fonts, scale] = context.theme;
    const Matrix matrix = shown_slice(context, id, head);
    const StageId weights = weights_of(id);
    const HeadCaption caption = matrix.is_difference ? HeadCaption() : head_caption(context, weights, head);
    const float title_y = box.min.y - tiling.above + context.px(4);
    const bool mean = head == kMeanHead;
    const std::string title = mean ? "mean" : fmt::format("{}{}", tiling.short_titles ? "H" : "head ", head);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImGui::SetCursorScreenPos({box.min.x, title_y - context.px(3)});
    ImGui::PushID(static_cast<int>(head));
    const std::string tooltip = mean ? "The mean of all heads, cell by cell."
                                : caption.text.empty()
                                    ? "Open this head step by step."
                                    : fmt::format("Open this head step by step. {}: a mean over the rows of all texts that "
                                                  "are not padding; the spread is their entropy in nats. A pattern is what the weights "
                                                  "look like, not why.",
                                                  caption.text);
    const Item item = begin_item(context.ui(), "##open", {box.width(), context.px(22)}, {.tooltip = tooltip});
    ImGui::PopID();
    draw_focus_ring(context.ui(), item, context.px(4));
    const bool chosen = !mean && head == context.view.chosen_head();
    draw_text(list, fonts.strong, {box.min.x, title_y}, item.hovered ? colors.accent : chosen ? colors.chosen_text : colors.text, title);
    const float figure_room = box.width() - text_width(fonts.strong, title) - context.px(8);
    std::string figure = caption_that_fits(caption, fonts.mono_small, figure_room);
    if (mean) figure = text_width(fonts.mono_small, "of all heads") > figure_room ? "" : "of all heads";
    draw_text_in(list, fonts.mono_small, {box.min.x, title_y + context.px(1)}, {box.max.x, title_y + context.px(16)}, {1, 0},
                 mean ? colors.muted : caption.color, figure);

    if (matrix.empty()) return draw_awaited(context, box.min, box.max);
    Matrix named = matrix;
    named.name += fmt::format(" head {}", head);
    named.symbol.clear();
    const Matrix before = head_before(context, head);
    const MatrixViewResult result = draw_matrix(context, named, box,
                                                {.role = MatrixRole::Result,
                                                 .row_labels = row_labels,
                                                 .col_labels = tiling.keys_named,
                                                 .stage = id,
                                                 .axis_titles = false,
                                                 .reach = reach,
                                                 .before = before.empty() ? nullptr : &before});
    if (result.hovered) {
        context.view.hovered.set(matrix.row_axis, result.hovered->row);
        context.view.hovered.set(matrix.col_axis, result.hovered->col);
        if (!mean) point_at_head(context.view, head);
    }
    if (result.clicked) {
        context.view.locked.set(matrix.row_axis, result.clicked->row);
        context.view.locked.set(matrix.col_axis, result.clicked->col);
        if (!mean) choose_head(context.view, head);
    }
    if (item.pressed && !mean) {
        context.view.stage = id;
        choose_head(context.view, head);
        context.view.view = View::Step;
    }
}

}  // namespace

HeadsTiling tile_heads(const HeadsRoom& room, std::int64_t heads) {
    const float scale = room.scale;
    HeadsTiling tiling = best_tiling(room, heads, (kTileTitle + kTileColumns) * scale, kHeadGap * scale);
    if (tiling.width < kNamedKeys * scale) {
        tiling = best_tiling(room, heads, kTileTitle * scale, kDenseHeadGap * scale);
        tiling.keys_named = false;
    }
    tiling.short_titles = room.longest_title + 4 * scale > tiling.width + tiling.gap;
    return tiling;
}

void draw_heads_view(PanelContext& context) {
    if (!context.ready()) return;
    const auto& [colors, fonts, scale] = context.theme;
    const StageId id = shown_stage(context);
    const Reason missing = context.has_stage(id) ? context.missing(id) : Reason{"This model has no such maps."};
    if (!missing.empty()) return void(paragraph(context.ui(), fonts.body, colors.muted, missing.words));
    context.view.stage = id;  // the cell pane must refer to the shown maps
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    ImVec2 room = ImGui::GetContentRegionAvail();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float switches = draw_heads_pages(context, origin.x + room.x, origin.y) + context.px(14);
    switches += draw_gradient_chip(context, origin.x + room.x - switches, origin.y) + context.px(14);
    const float detail_x = draw_shown_title(context, id, origin, origin.x + room.x - switches) + context.px(12);
    const std::string detail = fmt::format("{}layer {} · {} · {}same colours, same numbers", name_beside_title(id), id.layer,
                                           all_heads(head_count(context.structure())), id.stage == Stage::Other ? "" : kRowsAndColumns);
    const auto [problem, ink] = shown_remark(context, id);
    draw_text(list, fonts.label, {detail_x, origin.y + context.px(9)}, colors.muted,
              elide_parts(fonts.label, detail, origin.x + room.x - switches - detail_x));
    float header = context.px(40);
    if (!problem.empty())
        header += draw_text_wrapped(list, fonts.label, {origin.x, origin.y + header}, room.x, ink, problem) + context.px(10);
    header += draw_look_at(context, {origin.x, origin.y + header}, room.x);
    room.y -= header;
    room.x -= context.px(kHeadsBar);
    const Shape shape = context.structure().shape_of(id);
    const std::int64_t heads = shape[1].size;
    const std::int64_t tiles =
        heads > 1 && has_head_mean(id.stage) && !shows_norm_weighted(context, id) && !shows_gradients(context) ? heads + 1 : heads;
    const float aspect =
        std::clamp(static_cast<float>(shape[3].size) / static_cast<float>(std::max<std::int64_t>(shape[2].size, 1)), 0.5F, 2.F);
    const float longest = text_width(fonts.strong, fmt::format("head {}", heads - 1));
    const HeadsTiling tiling = tile_heads({room, aspect, longest, scale}, tiles);
    if (context.view.compare.on() || shows_gradients(context)) context.view.morph.stop();
    else
        context.view.morph.show({id, kEveryHead, context.view.batch, shape[2].size, shape[3].size, context.snapshot.serial}, context.now,
                                context.view.morphing);
    // Centre the maps.
    const float tiles_width = context.px(kTileLabels) + static_cast<float>(std::min(tiling.columns, tiles)) * (tiling.width + tiling.gap);
    const float shift = std::floor(std::max(room.x - tiles_width, 0.F) / 2);
    const auto rows = static_cast<float>((tiles + tiling.columns - 1) / tiling.columns);
    const float tiles_height = rows * (tiling.height + tiling.above + tiling.gap);
    const float drop = std::floor(std::max(room.y - tiles_height, 0.F) / 2);
    const float left = origin.x + shift + context.px(kTileLabels), reach = shown_reach(context, id);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const auto row = static_cast<float>(tile / tiling.columns), col = static_cast<float>(tile % tiling.columns);
        const float x = std::floor(left + col * (tiling.width + tiling.gap));
        const float y = std::floor(origin.y + header + drop + tiling.above + row * (tiling.height + tiling.above + tiling.gap));
        draw_head(context, id, tile < heads ? tile : kMeanHead, {{x, y}, {x + tiling.width, y + tiling.height}}, tile % tiling.columns == 0,
                  reach, tiling);
    }
    const Matrix first = shown_slice(context, id, context.view.head);
    // The colour menu goes above the bar and below the switches.
    const float bar_x = origin.x + room.x - shift + context.px(12),
                bar_drop = std::max(drop + tiling.above, context.px(kTileTitle + kTileColumns)), bar_y = origin.y + header + bar_drop;
    draw_color_scale(
        context, first,
        {{bar_x, bar_y},
         {bar_x + context.px(kHeadsBar - 12),
          bar_y + std::min({room.y - bar_drop, context.px(420), std::max(tiles_height - tiling.above - tiling.gap, context.px(160))})}},
        false, reach);
}

}  // namespace attn::app
