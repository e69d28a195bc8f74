#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/panels/compare/colors.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/session/values/statistics.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/tensor_stats.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// The tooltip of the hovered bar: its range and count.
void bin_tooltip(const PanelContext& context, const TensorStatistics& s, float left, float width) {
    const int bin = std::clamp(static_cast<int>((ImGui::GetIO().MousePos.x - left) / width * kHistogramBins), 0, kHistogramBins - 1);
    const double step = (static_cast<double>(s.max) - static_cast<double>(s.min)) / kHistogramBins;
    const double lo = static_cast<double>(s.min) + step * bin;
    const Ui ui = context.ui();
    begin_tooltip(ui);
    text_line(ui, context.theme.fonts.mono, context.theme.colors.text,
              step > 0 ? fmt::format("{} to {}", format_number(lo, {.decimals = 4}), format_number(lo + step, {.decimals = 4}))
                       : format_number(lo, {.decimals = 4}));
    const std::int64_t n = s.histogram[static_cast<std::size_t>(bin)];
    text_line(ui, context.theme.fonts.mono, context.theme.colors.muted,
              fmt::format("{} of {} numbers, {}%", format_count(n), format_count(s.count),
                          format_number(100.0 * static_cast<double>(n) / static_cast<double>(s.count), {.decimals = 1})));
    end_tooltip();
}

void draw_bars(const PanelContext& context, const TensorStatistics& s, const HeatmapStyle& style) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, height = context.px(72);
    pointing_area("##histogram", {std::max(width, 1.F), height});
    draw_histogram(context.ui(), list, at, {at.x + width, at.y + height}, s, style, context.view.histogram.log);
    if (ImGui::IsItemHovered()) bin_tooltip(context, s, at.x, width);
    const float y = at.y + height + context.px(4);
    draw_text(list, fonts.mono_tiny, {at.x, y}, colors.faint, format_number(static_cast<double>(s.min)));
    draw_text_in(list, fonts.mono_tiny, {at.x, y}, {at.x + width, y}, {1, 0}, colors.faint, format_number(static_cast<double>(s.max)));
    ImGui::Dummy({width, context.px(16)});
}

void draw_figures(const PanelContext& context, const TensorStatistics& s) {
    const Ui ui = context.ui();
    const auto row = [&](const char* label, double value, std::string_view tooltip) {
        value_row(ui, label, format_number(value, {.decimals = 4}), tooltip);
    };
    if (!s.empty()) {
        row("mean", s.mean, "Sum divided by count.");
        row("deviation", s.deviation, "Standard deviation: square root of the mean squared distance from the mean.");
        row("smallest", static_cast<double>(s.min), "Minimum.");
        row("largest", static_cast<double>(s.max), "Maximum.");
    }
    value_row(ui, "count", format_count(s.count), "Finite and not masked: the numbers counted above.");
    if (s.masked > 0) value_row(ui, "masked", format_count(s.masked), "Masked cells; not counted above.");
    value_row(ui, "NaN", format_count(s.nan), "Not a number.");
    value_row(ui, "infinite", format_count(s.infinite), "Infinities of either sign.");
}

}  // namespace

void draw_histogram_section(PanelContext& context) {
    if (!context.ready()) return;
    const StageId& id = context.view.stage;
    if (id.stage == Stage::Tokens || !context.has_stage(id)) return;
    // Other views draw the numbers themselves, whatever is compared.
    const Matrix shown =
        shows_maps(context.view.view) ? shown_slice(context, id, context.view.head) : context.beside(id, context.view.head);
    if (shown.empty()) return;
    const Ui ui = context.ui();
    HistogramView& view = context.view.histogram;
    gap(ui, 14);
    section_heading(ui, "Histogram");
    static constexpr std::array<std::string_view, 2> kParts = {"shown map", "whole tensor"};
    int part = view.whole ? 1 : 0;
    const bool values = !shown.is_gradient && !shown.is_difference && !shown.in_blocks();
    if (!values) part = 0;
    if (segmented(ui, "##histogram_of", kParts, part, 0,
                  {.tooltip = "Numbers of the map that is shown, or of all heads and texts of this stage.",
                   .disabled = values              ? ""
                               : shown.in_blocks() ? "For a long text, only the shown map is counted."
                                                   : "For gradients and differences, only the shown map is counted."}))
        view.whole = part == 1;
    gap(ui, 8);
    const auto of_all = view.whole && values ? context.ask(facet::Statistics{id}) : Answer<facet::Statistics>();
    const TensorStatistics* counted = of_all ? of_all.value.get() : context.numbers().count(shown);
    if (counted == nullptr) return void(paragraph(ui, context.theme.fonts.label, context.theme.colors.faint, "Counting …"));
    const TensorStatistics& s = *counted;
    const HeatmapStyle style = values || shown.in_blocks() ? style_of(context, shown, context.view.stage) : style_of(context, shown);
    if (s.empty()) paragraph(ui, context.theme.fonts.label, context.theme.colors.faint, "There are no finite numbers to count.");
    else draw_bars(context, s, style);
    if (!s.empty() && s.min == s.max)
        paragraph(ui, context.theme.fonts.label, context.theme.colors.faint,
                  s.count == 1 ? "There is one number." : "All numbers are equal.");
    draw_figures(context, s);
    toggle_row(ui, "Logarithmic", view.log, "heights show log counts", {.tooltip = "Makes rare numbers visible next to common ones."});
}

}  // namespace attn::app
