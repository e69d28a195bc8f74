#include "app/panels/views/query_key_strip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/kit/labels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kRow = 24, kRowGap = 3, kStripLabels = 92, kTail = 108;

struct Pair {
    std::int64_t query = 0, key = 0;
};

/// The hovered pair; the selection supplies what is not hovered.
std::optional<Pair> shown_pair(const ViewState& view, const Shape& shape) {
    const auto on = [&](Axis axis) { return view.hovered.on(axis) ? view.hovered.on(axis) : view.locked.on(axis); };
    const auto query = on(Axis::T), key = on(Axis::S);
    if (!query || !key || *query >= shape.size_of(Axis::T) || *key >= shape.size_of(Axis::S)) return std::nullopt;
    return Pair{*query, *key};
}

/// Such as "q·k of head 1:  because → sat   1.234 ÷ √8 = 0.436 → weight 0.131".
void draw_heading(const PanelContext& context, const StageId& scores, std::int64_t head, const Pair& pair, const QueryKeyProduct& product,
                  const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float x = box.min.x;
    const auto put = [&](ImFont* font, Color color, const std::string& text) {
        if (x >= box.max.x) return;
        const std::string shown = elide(font, text, box.max.x - x);
        draw_text_in(list, font, {x, box.min.y}, {box.max.x, box.min.y + context.px(20)}, {0, 0.5F}, color, shown);
        x += text_width(font, shown);
    };
    put(fonts.strong, colors.text, fmt::format("q · k of head {}   ", head));
    put(fonts.mono, colors.axis(Axis::T), index_label(context, scores, Axis::T, pair.query));
    put(fonts.mono, colors.faint, " → ");
    put(fonts.mono, colors.axis(Axis::S), index_label(context, scores, Axis::S, pair.key) + "   ");
    const StageId weights = weights_of(scores);
    const Matrix map = context.numbers().with_row(context.beside(weights, head), pair.query);
    std::string after = fmt::format("Σ = {}", format_number(product.sum, {.decimals = 4}));
    const StageId scaled = of_same_attention(scores, Stage::Scaled);
    const PlanNode* const scaling = context.structure().plan->find(scaled);
    const double factor = scaling == nullptr ? 1 : scaling->settings.factor, size = static_cast<double>(product.query.size());
    if (factor != 1) {
        const bool root = std::abs(factor * std::sqrt(size) - 1) <= 1e-9;
        after += fmt::format("  ÷ {} = {}", root ? fmt::format("√{}", size) : fmt::format("{:.4g}", 1 / factor),
                             format_number(product.sum * factor, {.decimals = 4}));
    }
    if (!map.empty() && map.data.knows(pair.query, pair.key))
        after += map.masked(pair.query, pair.key)
                     ? "  → masked"
                     : fmt::format("  → weight {}", format_number(static_cast<double>(map.at(pair.query, pair.key)), {.decimals = 4}));
    put(fonts.mono, colors.text, after);
}

/// Draws a row of coloured cells with numbers if they fit.
void draw_cells(const PanelContext& context, const std::vector<double>& values, double reach, float x, float y, float cell) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const HeatmapStyle style{.map = ColorMap::Diverging, .lo = static_cast<float>(-reach), .hi = static_cast<float>(reach)};
    const auto characters = static_cast<int>((cell - context.px(3)) / text_width(fonts.mono_tiny, "0"));
    for (std::size_t d = 0; d < values.size(); ++d) {
        const ImVec2 min{std::floor(x + static_cast<float>(d) * cell), y},
            max{std::floor(x + static_cast<float>(d + 1) * cell) - (cell > context.px(4) ? 1.F : 0.F), y + context.px(kRow)};
        const Color fill = context.canvas.color(style, static_cast<float>(values[d]));
        list.AddRectFilled(min, max, fill);
        const int decimals = decimals_that_fit(std::abs(values[d]), characters, values[d] < 0);
        if (cell < context.px(26) || decimals < 0) continue;
        const std::string number = format_number(values[d], {.decimals = decimals});
        if (text_width(fonts.mono_tiny, number) <= max.x - min.x - context.px(2))
            draw_text_in(list, fonts.mono_tiny, min, max, {0.5F, 0.5F}, ink_on(fill), number);
    }
}

void cell_tooltip(const PanelContext& context, const QueryKeyProduct& product, std::size_t d) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    begin_tooltip(ui);
    text_line(ui, fonts.strong, colors.text, fmt::format("dimension {}", d));
    text_line(ui, fonts.mono, colors.muted,
              fmt::format("{} × {} = {}", format_exact(product.query[d]), format_exact(product.key[d]),
                          format_number(product.products[d], {.decimals = 6})));
    text_line(ui, fonts.mono, colors.muted, fmt::format("sum so far {}", format_number(product.running[d], {.decimals = 6})));
    end_tooltip();
}

/// Whether the recorded score equals the sum and, if not, why.
std::string score_note(const QueryKeyProduct& product) {
    const std::string recorded = format_number(static_cast<double>(product.score), {.decimals = 6});
    if (product.recorded_differs()) return fmt::format("The recorded score is {}: it was edited or is not finite.", recorded);
    if (recorded == format_number(product.sum, {.decimals = 6})) return fmt::format("The recorded score is the same: {}.", recorded);
    return fmt::format("The recorded score is {}: the engine adds 32-bit products in a different order.", recorded);
}

double largest(const std::vector<double>& values) {
    double reach = 0;
    for (const double v : values)
        if (std::isfinite(v)) reach = std::max(reach, std::abs(v));
    return reach > 0 ? reach : 1;
}

}  // namespace

void draw_query_key_strip(PanelContext& context, const StageId& scores, std::int64_t head, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Shape shape = context.structure().shape_of(scores);
    const std::int64_t b = std::min(context.view.batch, shape[0].size - 1);
    const NumbersOf of{.of = context.shown(), .stage = scores, .sequence = b, .head = head, .beside = context.view.stage};
    if (context.numbers().numbers(of).map.empty()) return;
    const std::optional<Pair> pair = shown_pair(context.view, shape);
    if (!pair) {
        draw_text(list, fonts.label, {box.min.x, box.min.y + context.px(6)}, colors.faint,
                  "Choose a query and a key to see their vectors multiplied number by number.");
        return;
    }
    const std::optional<QueryKeyProduct> found = context.numbers().query_key(of, pair->query, pair->key);
    if (!found) return;  // being computed
    const QueryKeyProduct& product = *found;
    draw_heading(context, scores, head, *pair, product, box);
    const std::vector<double> query(product.query.begin(), product.query.end()), key(product.key.begin(), product.key.end());
    const double vectors = std::max(largest(query), largest(key));
    struct Row {
        std::string label;
        const std::vector<double>& values;
        double reach;
        Color ink;
        std::string tail;
    };
    const Row rows[] = {
        {"query", query, vectors, colors.axis(Axis::T), ""},
        {"key", key, vectors, colors.axis(Axis::S), ""},
        {"q × k", product.products, largest(product.products), colors.text, ""},
        {"sum so far", product.running, largest(product.running), colors.text, "= " + format_number(product.sum, {.decimals = 4})}};
    const float left = box.min.x + context.px(kStripLabels), top = box.min.y + context.px(26);
    const float cell =
        std::min((box.max.x - context.px(kTail) - left) / static_cast<float>(std::max<std::size_t>(query.size(), 1)), context.px(56));
    const float right = left + cell * static_cast<float>(query.size());
    float y = top;
    for (const Row& row : rows) {
        draw_text_in(list, fonts.mono_small, {box.min.x, y}, {left - context.px(10), y + context.px(kRow)}, {1, 0.5F}, row.ink, row.label);
        draw_cells(context, row.values, row.reach, left, y, cell);
        draw_text_in(list, fonts.mono, {right + context.px(8), y}, {box.max.x, y + context.px(kRow)}, {0, 0.5F}, colors.text, row.tail);
        y += context.px(kRow + kRowGap);
    }
    draw_text(list, fonts.label, {left, y + context.px(3)}, colors.faint, elide(fonts.label, score_note(product), box.max.x - left));
    ImGui::SetCursorScreenPos({left, top});
    pointing_area("##query_key", {std::max(right - left, 1.F), y - top});
    if (!ImGui::IsItemHovered()) return;
    const auto d = static_cast<std::size_t>(std::max((ImGui::GetIO().MousePos.x - left) / std::max(cell, 1.F), 0.F));
    if (d < query.size()) cell_tooltip(context, product, d);
}

}  // namespace attn::app
