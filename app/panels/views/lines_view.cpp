#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/figure.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/panels/views/query_key_strip.hpp"
#include "app/panels/views/token_lines.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/head_colors.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kLinesHeader = 40, kLinesHeading = 24, kChip = 28, kPitch = 26, kLeastPitch = 14, kSide = 140, kMostWidth = 1500,
                kMostPitch = 52;

/// The attention whose lines are drawn: in the current stage's layer, cross-attention if the stage belongs to it.
StageId shown_weights(const PanelContext& context, int layer) {
    StageId id = weights_of(context.view.stage);
    id.layer = layer;
    if (!context.has_stage(id)) id.attention = kSelfAttention;
    return id;
}

/// The weights drawn: of the shown state or, while the key is held, of the reference.
Matrix drawn_weights(const PanelContext& context, const StageId& id, std::int64_t head) {
    return slice_of(context, compared_sides(context, id, head).b);
}

TokenLines picture_of(PanelContext& context, const StageId& id) {
    const LinesView& lines = context.view.lines;
    TokenLines picture;
    const std::int64_t heads = context.structure().config.num_heads;
    for (std::int64_t head = 0; head < heads; ++head)
        if (lines.shows(head))
            picture.maps.push_back({drawn_weights(context, id, head), head, head_color(context.theme.colors, head),
                                    fmt::format("head {}", head), head_round(head)});
    // The mean may not be computed yet.
    if (const Matrix mean = lines.mean ? drawn_weights(context, id, kMeanHead) : Matrix(); !mean.empty())
        picture.maps.push_back({mean, kMeanHead, context.theme.colors.text, "mean of all heads"});
    const Matrix first = drawn_weights(context, id, 0);
    picture.keys = {first.data.cols, axis_label(context, id, Axis::S, first.labelled_by)};
    picture.queries = {first.data.rows, axis_label(context, id, Axis::T, first.labelled_by)};
    picture.threshold = lines.threshold;
    const auto& only = lines.only;
    const auto rows = [&](Axis axis) { return (axis == Axis::T ? picture.queries : picture.keys).count; };
    if (only && only->index < rows(only->axis) && context.view.locked.on(only->axis) == only->index) picture.only = only;
    picture.marked_query = context.view.selection().on(Axis::T);
    picture.marked_key = context.view.selection().on(Axis::S);
    picture.numbers = true;
    return picture;
}

/// Handles a click on a chip, which may complete a double-click.
void press_chip(LinesView& lines, std::int64_t head, std::int64_t heads) {
    if (head == kMeanHead) lines.mean = !lines.mean;
    else if (ImGui::IsMouseDoubleClicked(0)) lines.isolate(head, heads);
    else lines.toggle(head);
}

/// Draws a chip with a dot and the head's number, faint if it is switched off. Returns its width.
float draw_chip(PanelContext& context, std::int64_t head, ImVec2 at) {
    const auto& [colors, fonts, scale] = context.theme;
    LinesView& lines = context.view.lines;
    const bool mean = head == kMeanHead, on = mean ? lines.mean : lines.shows(head);
    const std::string name = mean ? "mean" : fmt::format("head {}", head);
    const Color color = mean ? colors.text : head_color(colors, head);
    const float width = text_width(fonts.label, name) + context.px(32), height = context.px(kChip - 4);
    ImGui::PushID(static_cast<int>(head));
    ImGui::SetCursorScreenPos(at);
    // Acts on press rather than release, because double-clicks are detected on press.
    const Item item = begin_item(context.ui(), "##chip", {width, height},
                                 {.tooltip = mean ? "The mean of all heads' weights."
                                                  : "Click: show or hide this head. Double-click: this head alone, or all again."});
    const bool hovered = item.hovered;
    draw_focus_ring(context.ui(), item, height / 2);
    if ((hovered && ImGui::IsMouseClicked(0)) || item.by_key) {
        press_chip(lines, head, context.structure().config.num_heads);
        if (!mean && lines.shows(head)) context.view.head = head;
    }
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 max{at.x + width, at.y + height};
    const bool focus = !mean && head == context.view.head;
    if (on) list.AddRectFilled(at, max, colors.raised, height / 2);
    list.AddRect(at, max, focus ? colors.chosen : hovered ? colors.accent : colors.line, height / 2, 0, context.px(focus ? 1.5F : 1));
    const ImVec2 spot{at.x + context.px(14), at.y + height / 2};
    if (on) list.AddCircleFilled(spot, context.px(5), color);
    else list.AddCircle(spot, context.px(5), color, 0, context.px(1.5F));
    // The dots of heads with dashed lines are cut like their lines.
    for (std::int64_t cut = 0; !mean && cut < std::min<std::int64_t>(head_round(head), 2); ++cut) {
        const float x = spot.x + context.px(head_round(head) == 1 ? 0 : cut == 0 ? -2 : 2);
        list.AddLine({x, spot.y - context.px(6)}, {x, spot.y + context.px(6)}, on ? colors.raised : colors.pane, context.px(1.5F));
    }
    draw_text_in(list, fonts.label, {at.x + context.px(24), at.y}, max, {0, 0.5F}, on ? colors.text : colors.faint, name);
    return width;
}

/// Returns the total height of the chips.
float draw_chips(PanelContext& context, ImVec2 at, float width) {
    float x = at.x, y = at.y;
    const std::int64_t heads = context.structure().config.num_heads;
    for (std::int64_t i = 0; i < (heads > 1 ? heads + 1 : heads); ++i) {
        const std::int64_t head = i < heads ? i : kMeanHead;
        const std::string name = head == kMeanHead ? "mean" : fmt::format("head {}", head);
        const float wide = text_width(context.theme.fonts.label, name) + context.px(38);
        if (x > at.x && x + wide > at.x + width) {
            x = at.x;
            y += context.px(kChip);
        }
        x += draw_chip(context, head, {x, y}) + context.px(6);
    }
    return y + context.px(kChip + 8) - at.y;
}

void draw_titles(const PanelContext& context, const TokenColumns& columns, float y, const StageId& id) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool cross = id.attention == kCrossAttention;
    draw_text_in(list, fonts.label, {columns.left, y}, {columns.line_left - context.px(6), y + context.px(18)}, {1, 0.5F}, colors.axis_s,
                 cross ? "keys (source)" : "keys");
    draw_text_in(list, fonts.label, {columns.line_right + context.px(6), y}, {columns.right, y + context.px(18)}, {0, 0.5F}, colors.axis_t,
                 cross ? "queries (target)" : "queries");
}

/// Handles hovering and clicks: the token's strongest partner completes the pair.
void choose(PanelContext& context, const TokenLines& picture, const PointedToken& token, bool clicked) {
    ViewState& view = context.view;
    view.hovered.set(token.axis, token.index);
    if (!clicked) return;
    if (view.lines.only == token && picture.only == token) {
        view.lines.only.reset();
        return;
    }
    view.lines.only = token;
    view.locked.set(token.axis, token.index);
}

/// For a long text, requests rows for visible queries and the column of the token of interest.
void take_numbers_in_sight(const PanelContext& context, TokenLines& picture, const TokenColumns& columns,
                           const std::optional<PointedToken>& looked_at) {
    // Rounded, so that scrolling does not request new rows in every frame.
    constexpr std::int64_t kStep = 16;
    const ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto row_at = [&](float y) { return static_cast<std::int64_t>(std::max((y - columns.top) / columns.pitch, 0.F)); };
    for (LineMap& map : picture.maps) {
        if (!map.weights.in_blocks()) continue;
        const std::int64_t first = row_at(list.GetClipRectMin().y) / kStep * kStep,
                           last = (row_at(list.GetClipRectMax().y) / kStep + 1) * kStep;
        const std::int64_t rows = map.weights.data.rows;
        map.weights = context.numbers().with_rows(std::move(map.weights), std::min(first, rows - 1), std::min(last, rows));
        if (looked_at && looked_at->axis == Axis::S) map.weights = context.numbers().with_column(std::move(map.weights), looked_at->index);
    }
}

/// Draws one layer in a child window that scrolls if necessary. Returns the smallest weight drawn.
float draw_one_layer(PanelContext& context, const StageId& id, const Box& box) {
    TokenLines picture = picture_of(context, id);
    const auto rows = static_cast<float>(std::max(picture.keys.count, picture.queries.count));
    const float heading = context.px(kLinesHeading), width = std::min(box.width(), context.px(kMostWidth));
    const float pitch =
        std::clamp((box.height() - heading - context.px(4)) / std::max(rows, 1.F), context.px(kLeastPitch), context.px(kMostPitch));
    const float left = std::floor((box.width() - width) / 2);  // centred
    draw_titles(context, token_columns({box.min.x + left, box.min.y}, width, std::min(context.px(kSide), width / 5), pitch), box.min.y, id);
    ImGui::SetCursorScreenPos({box.min.x, box.min.y + heading});
    const Scrolled scrolled(context.ui(), "##lines", {box.width(), box.height() - heading}, {.fades = false});
    ImGui::SetCursorScreenPos({ImGui::GetCursorScreenPos().x + left, ImGui::GetCursorScreenPos().y});
    const TokenColumns columns =
        token_columns(ImGui::GetCursorScreenPos(), width - context.px(14), std::min(context.px(kSide), width / 5), pitch);
    const bool clicked = pointing_area("##tokens", {columns.right - columns.left, std::max(rows * pitch, 1.F)});
    const auto pointed =
        ImGui::IsItemHovered() ? token_at(columns, ImGui::GetIO().MousePos, picture.keys.count, picture.queries.count) : std::nullopt;
    take_numbers_in_sight(context, picture, columns, pointed ? pointed : picture.only);
    const float least = draw_token_lines(context, picture, columns, pointed);
    if (pointed) {
        choose(context, picture, *pointed, clicked);
        token_tooltip(context, picture, *pointed);
    }
    return least;
}

/// Draws every layer as a small picture; a click opens it.
float draw_all_layers(PanelContext& context, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    const auto layers = context.structure().config.layers_of(context.view.stage.stack);
    const float heading = context.px(22), gap = context.px(18);
    std::int64_t columns = 1;
    float best = 0;
    for (std::int64_t split = 1; split <= layers; ++split) {
        const float wide = box.width() / static_cast<float>(split) - gap;
        const float high = box.height() / static_cast<float>((layers + split - 1) / split) - heading - gap;
        const float side = std::min(wide, high * 1.4F);
        if (side <= best) continue;
        best = side;
        columns = split;
    }
    const float tile_w = box.width() / static_cast<float>(columns) - gap;
    const float tile_h = box.height() / static_cast<float>((layers + columns - 1) / columns) - heading - gap;
    float least = context.view.lines.threshold;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        const StageId id = shown_weights(context, static_cast<int>(layer));
        TokenLines picture = picture_of(context, id);
        // For a long text, only the selected query has lines.
        for (LineMap& map : picture.maps)
            map.weights = context.numbers().with_row(std::move(map.weights), context.view.selection().on(Axis::T).value_or(0));
        const auto rows = static_cast<float>(std::max({picture.keys.count, picture.queries.count, std::int64_t{1}}));
        const ImVec2 at{std::floor(box.min.x + static_cast<float>(layer % columns) * (tile_w + gap)),
                        std::floor(box.min.y + static_cast<float>(layer / columns) * (tile_h + heading + gap))};
        const float pitch = std::min(tile_h / rows, context.px(kPitch));
        // Names are shown only if they are legible and leave room for lines.
        picture.labels = pitch >= context.px(9) && tile_w > context.px(200);
        const TokenColumns place =
            token_columns({at.x, at.y + heading}, tile_w, picture.labels ? std::min(context.px(64), tile_w / 4) : context.px(8), pitch);
        ImGui::SetCursorScreenPos(at);
        ImGui::PushID(static_cast<int>(layer));
        const Item item = begin_item(context.ui(), "##layer", {tile_w, heading + rows * pitch}, {.explains_itself = true});
        const bool clicked = item.pressed, hovered = item.hovered;
        draw_focus_ring(context.ui(), item, context.px(4));
        const auto pointed = hovered ? token_at(place, ImGui::GetIO().MousePos, picture.keys.count, picture.queries.count) : std::nullopt;
        ImGui::PopID();
        if (pointed) context.view.hovered.set(pointed->axis, pointed->index);
        const bool chosen = layer == context.view.stage.layer;
        draw_text(*ImGui::GetWindowDrawList(), fonts.strong, at,
                  hovered  ? colors.accent
                  : chosen ? colors.chosen_text
                           : colors.text,
                  fmt::format("layer {}", layer));
        least = std::max(least, draw_token_lines(context, picture, place, pointed));
        if (!clicked) continue;
        context.view.stage.layer = static_cast<int>(layer);
        if (pointed) choose(context, picture, *pointed, true);
        else context.view.lines.all_layers = false;
    }
    return least;
}

void draw_heading(const PanelContext& context, const StageId& id, ImVec2 at, float width, float least) {
    const std::string title = id.attention == kCrossAttention ? "Cross-attention as lines" : "Attention as lines";
    const std::string stack = id.stack == Stack::Encoder ? "encoder, " : id.stack == Stack::Decoder ? "decoder, " : "";
    const std::int64_t count = context.structure().config.layers_of(id.stack);
    const std::string layers =
        context.view.lines.all_layers && count > 1 ? fmt::format("all {} layers", count) : fmt::format("layer {}", id.layer);
    std::string detail = stack + layers;
    if (context.view.compare.on()) {
        const ComparedSides sides = compared_sides(context, id, context.view.head);
        detail += context.view.compare.swapped ? fmt::format(" · {}: {}", sides.second, sides.b.name)
                  : sides.a.empty()            ? " · " + sides.a.missing.words
                                               : fmt::format(" · hold X for A: {}", sides.a.name);
    }
    if (context.beside(id, context.view.head).in_blocks())
        detail += context.view.lines.all_layers ? " · of the chosen query" : " · of the queries on screen and of the key under the pointer";
    detail +=
        fmt::format(" · weights of at least {} · opacity shows the weight", format_number(static_cast<double>(least), {.decimals = 3}));
    draw_view_heading(context, at, at.x + width, title, detail);
}

/// Whether a query's product with a key is shown below the lines. It must not push tokens out of sight before one of them is chosen here.
bool has_room_for_strip(const PanelContext& context, const StageId& id, float high) {
    const float left = high - context.px(kQueryKeyHeight + 10);
    if (left < context.px(180)) return false;
    const Shape shape = context.structure().shape_of(id);
    const auto rows = static_cast<float>(std::max(shape.size_of(Axis::T), shape.size_of(Axis::S)));
    const float needed = context.px(kLinesHeading + 4 + kLeastPitch * rows);
    return context.view.lines.only || left >= needed || high < needed;
}

}  // namespace

void draw_lines_view(PanelContext& context) {
    if (!context.ready()) return;
    const StageId id = shown_weights(context, std::max(context.view.stage.layer, 0));
    const Reason missing = context.has_stage(id) ? context.missing(id) : Reason{"This model has no such maps."};
    if (!missing.empty()) return void(paragraph(context.ui(), context.theme.fonts.body, context.theme.colors.muted, missing.words));
    context.view.stage = id;  // the cell pane must refer to the shown lines
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float header = context.px(kLinesHeader) + draw_look_at(context, {at.x, at.y + context.px(kLinesHeader)}, room.x);
    const float chips = draw_chips(context, {at.x, at.y + header}, room.x);
    const float top = at.y + header + chips, bottom = at.y + room.y;
    const bool strip = !context.view.lines.all_layers && has_room_for_strip(context, id, bottom - top);
    const Box body{{at.x, top}, {at.x + room.x, bottom - (strip ? context.px(kQueryKeyHeight + 10) : 0)}};
    const float least = context.view.lines.all_layers ? draw_all_layers(context, body) : draw_one_layer(context, id, body);
    draw_heading(context, id, at, room.x, least);
    if (!strip) return;
    StageId scores = of_same_attention(id, Stage::Scores);
    ImGui::GetWindowDrawList()->AddLine({at.x, body.max.y + context.px(4)}, {at.x + room.x, body.max.y + context.px(4)},
                                        context.theme.colors.line);
    const Box below{{at.x, body.max.y + context.px(10)}, {at.x + room.x, bottom}};
    draw_side_in_place(context, [&](PanelContext& side) {
        scores.layer = side.view.stage.layer;
        draw_query_key_strip(side, scores, side.view.head, below);
    });
}

}  // namespace attn::app
