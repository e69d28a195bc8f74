#include "app/panels/attention_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "app/panels/head_captions.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// Weaker lines cannot be seen.
constexpr float kLeastWeight = 0.01F;

/// Places of the two columns of tokens, in pixels.
struct Columns {
    float left = 0, right = 0, top = 0, pitch = 0;
    float line_left = 0, line_right = 0;  ///< where lines begin and end, beside the tokens
    float middle(std::int64_t row) const { return top + (static_cast<float>(row) + 0.5F) * pitch; }
};

struct Lines {
    const Matrix& weights;
    const std::vector<Token>& tokens;
    Columns columns;
};

/// Under the mouse: the token's column and position.
struct Pointed {
    Axis axis = Axis::T;
    std::int64_t index = 0;
};

std::optional<Pointed> pointed_token(const Lines& lines) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const Columns& at = lines.columns;
    const auto row = static_cast<std::int64_t>(std::floor((mouse.y - at.top) / at.pitch));
    if (row < 0 || mouse.x < at.left || mouse.x > at.right) return std::nullopt;
    if (mouse.x <= at.line_left && row < lines.weights.data.cols) return Pointed{Axis::S, row};
    if (mouse.x >= at.line_right && row < lines.weights.data.rows) return Pointed{Axis::T, row};
    return std::nullopt;
}

/// What is shown alone: what the mouse points at, else what was chosen by a click.
bool is_shown(const AxisSelection& selection, std::int64_t query, std::int64_t key, const std::optional<Pointed>& pointed) {
    if (pointed) return pointed->axis == Axis::T ? query == pointed->index : key == pointed->index;
    const auto chosen = selection.on(Axis::T);
    return !chosen || *chosen == query;
}

void draw_lines(const PanelContext& context, const Lines& lines, const std::optional<Pointed>& pointed) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Palette& colors = context.theme.colors;
    for (std::int64_t query = 0; query < lines.weights.data.rows; ++query) {
        for (std::int64_t key = 0; key < lines.weights.data.cols; ++key) {
            const float weight = lines.weights.at(query, key);
            if (lines.weights.masked(query, key) || !(weight >= kLeastWeight)) continue;
            const bool shown = is_shown(context.view.locked, query, key, pointed);
            const float strength = std::min(weight, 1.F) * (shown ? 1.F : 0.25F);
            list.AddLine({lines.columns.line_left, lines.columns.middle(key)}, {lines.columns.line_right, lines.columns.middle(query)},
                         with_alpha(colors.accent, strength), context.px(shown ? 1.F + 1.5F * strength : 1.F));
        }
    }
}

void draw_tokens(const PanelContext& context, const Lines& lines, const std::optional<Pointed>& pointed) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImFont* font = lines.columns.pitch >= context.px(15) ? fonts.mono_small : fonts.mono_tiny;
    // Where rows are lower than a letter every second or third token keeps its name.
    const auto stride = static_cast<std::int64_t>(std::ceil(context.px(11) / lines.columns.pitch));
    const auto chosen = context.view.locked.on(Axis::T);
    const auto column = [&](Axis axis, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const bool marked = pointed ? pointed->axis == axis && pointed->index == i : axis == Axis::T && chosen && *chosen == i;
            if (i % stride != 0 && !marked) continue;
            const Token& token = lines.tokens[static_cast<std::size_t>(i)];
            const float middle = lines.columns.middle(i), half = context.px(10);
            const bool at_left = axis == Axis::S;
            const ImVec2 min{at_left ? lines.columns.left : lines.columns.line_right + context.px(6), middle - half};
            const ImVec2 max{at_left ? lines.columns.line_left - context.px(6) : lines.columns.right, middle + half};
            draw_text_in(list, font, min, max, {at_left ? 1.F : 0.F, 0.5F}, marked ? colors.axis(axis) : colors.muted,
                         elide(font, visible_text(token.text, true), max.x - min.x));
        }
    };
    column(Axis::S, lines.weights.data.cols);
    column(Axis::T, lines.weights.data.rows);
}

/// The strongest partners of the token under the mouse.
void explain(const PanelContext& context, const Lines& lines, const Pointed& pointed) {
    constexpr std::size_t kMost = 5;
    struct Partner {
        std::int64_t index;
        float weight;
    };
    std::vector<Partner> partners;
    const std::int64_t count = pointed.axis == Axis::T ? lines.weights.data.cols : lines.weights.data.rows;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t query = pointed.axis == Axis::T ? pointed.index : i, key = pointed.axis == Axis::T ? i : pointed.index;
        if (!lines.weights.masked(query, key) && lines.weights.at(query, key) > 0) partners.push_back({i, lines.weights.at(query, key)});
    }
    std::stable_sort(partners.begin(), partners.end(), [](const Partner& a, const Partner& b) { return a.weight > b.weight; });
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    begin_tooltip(ui);
    const std::string name = visible_text(lines.tokens[static_cast<std::size_t>(pointed.index)].text, true);
    text_line(ui, fonts.strong, colors.axis(pointed.axis),
              pointed.axis == Axis::T ? fmt::format("query {} “{}” looks at", pointed.index, name)
                                      : fmt::format("key {} “{}” is looked at by", pointed.index, name));
    for (std::size_t i = 0; i < std::min(kMost, partners.size()); ++i) {
        const std::string partner = visible_text(lines.tokens[static_cast<std::size_t>(partners[i].index)].text, true);
        text_line(ui, fonts.mono, colors.muted,
                  fmt::format("{:>3} {:<6} {}", partners[i].index, partner,
                              format_number(static_cast<double>(partners[i].weight), {.decimals = 3})));
    }
    if (partners.empty()) text_line(ui, fonts.label, colors.faint, "nothing: every pair is masked");
    end_tooltip();
}

}  // namespace

void draw_attention_lines(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const StageId id{Stage::Weights, std::max(context.view.stage.layer, 0), context.view.stage.stack};
    const Matrix weights = context.matrices.stage(context.trace(), id, context.view.batch, context.view.head);
    if (weights.empty()) {
        paragraph(ui, fonts.label, colors.faint, "This layer has no weights to draw.");
        return;
    }
    const HeadCaption caption = head_caption(context, id, context.view.head);
    text_line(ui, fonts.mono_small, caption.color, fmt::format("L{} H{}  {}", id.layer, context.view.head, caption.text));
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float side = std::min(context.px(64), room.x / 5), heading = context.px(20);
    const auto rows = static_cast<float>(std::max(weights.data.rows, weights.data.cols));
    const Columns columns{.left = at.x,
                          .right = at.x + room.x,
                          .top = at.y + heading,
                          .pitch = std::min((room.y - heading) / rows, context.px(24)),
                          .line_left = at.x + side,
                          .line_right = at.x + room.x - side};
    if (columns.pitch <= 0) return;
    const Lines lines{weights, context.snapshot.tokens[static_cast<std::size_t>(context.view.batch)], columns};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, fonts.caption, at, {columns.line_left - context.px(6), at.y + heading}, {1, 0}, colors.axis_s, "key");
    draw_text_in(list, fonts.caption, {columns.line_right + context.px(6), at.y}, {columns.right, at.y + heading}, {0, 0}, colors.axis_t,
                 "query");
    const bool clicked = ImGui::InvisibleButton("##lines", {room.x, std::max(room.y, 1.F)});
    const std::optional<Pointed> pointed = ImGui::IsItemHovered() ? pointed_token(lines) : std::nullopt;
    draw_lines(context, lines, pointed);
    draw_tokens(context, lines, pointed);
    if (!pointed) return;
    context.view.hovered.set(pointed->axis, pointed->index);
    if (clicked) context.view.locked.set(pointed->axis, pointed->index);
    explain(context, lines, *pointed);
}

}  // namespace attn::app
