#include "app/widgets/tensor_stats.hpp"

#include <algorithm>
#include <cmath>

#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

void row(const Ui& ui, float width, std::string_view label, std::string_view value, Color ink) {
    const ImVec2 at = ImGui::GetCursorScreenPos(), end(at.x + width, at.y + ui.px(19));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImFont* font = ui.fonts().mono_small;
    draw_text_in(list, font, at, end, ImVec2(0, 0.5f), ui.colors().faint, label);
    draw_text_in(list, font, at, end, ImVec2(1, 0.5f), ink, value);
    ImGui::Dummy(ImVec2(width, ui.px(19)));
}

}  // namespace

std::string non_finite_note(const TensorStatistics& s) {
    std::string note;
    if (s.nan > 0) note = format_count(s.nan) + " NaN";
    if (s.infinite > 0) note.append(note.empty() ? "" : ", ").append(format_count(s.infinite)).append(" \u221e");
    return note;
}

float bar_height(const TensorStatistics& s, int bin, bool log) {
    const std::int64_t n = s.histogram[static_cast<std::size_t>(bin)], most = *std::max_element(s.histogram.begin(), s.histogram.end());
    if (n == 0) return 0;
    const auto height = [log](std::int64_t count) { return log ? std::log1p(static_cast<double>(count)) : static_cast<double>(count); };
    return static_cast<float>(height(n) / height(most));
}

void draw_histogram(const Ui& ui, ImDrawList& list, ImVec2 min, ImVec2 max, const TensorStatistics& s, const HeatmapStyle& style,
                    bool log) {
    const Palette& c = ui.colors();
    const float line = std::max(1.0f, ui.px(1));
    list.AddRectFilled(ImVec2(min.x, max.y), ImVec2(max.x, max.y + line), c.line);
    if (s.empty()) return;
    HeatmapStyle one = style;
    one.per_row = false;
    const float step = (max.x - min.x) / kHistogramBins;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
        const std::int64_t n = s.histogram[static_cast<std::size_t>(bin)];
        if (n == 0) continue;
        const double middle = s.min + (static_cast<double>(s.max) - s.min) * (bin + 0.5) / kHistogramBins;
        // Zero has the pane's colour; mixing in some ink keeps its bar visible.
        const Color color = mix(ui.canvas.color(one, static_cast<float>(middle)), c.muted, 0.3f);
        const float height = std::max(line, (max.y - min.y) * bar_height(s, bin, log)), left = min.x + step * static_cast<float>(bin);
        list.AddRectFilled(ImVec2(std::round(left), max.y - height),
                           ImVec2(std::max(std::round(left + step) - line, std::round(left) + 1), max.y), color);
    }
    if (s.min < 0 && s.max > 0) {
        const float x = std::round(min.x + (max.x - min.x) * static_cast<float>(-s.min / (static_cast<double>(s.max) - s.min)));
        list.AddRectFilled(ImVec2(x, max.y), ImVec2(x + line, max.y + ui.px(4)), c.muted);
        draw_text_in(list, ui.fonts().mono_tiny, ImVec2(x, max.y + ui.px(4)), ImVec2(x, max.y + ui.px(4)), ImVec2(0.5f, 0), c.faint, "0");
    }
}

void tensor_stats(const Ui& ui, const TensorStatistics& s, const HeatmapStyle& style, float width) {
    const Palette& c = ui.colors();
    const float pixels = ui.px(width);
    ImGui::BeginGroup();
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    if (!s.empty()) {
        row(ui, pixels, "min", format_number(s.min), c.text);
        row(ui, pixels, "max", format_number(s.max), c.text);
        row(ui, pixels, "mean", format_number(s.mean), c.text);
        row(ui, pixels, "std", format_number(s.deviation), c.text);
    }
    if (s.masked > 0) row(ui, pixels, kMasked, format_count(s.masked), c.muted);
    if (s.nan > 0) row(ui, pixels, "NaN", format_count(s.nan), c.bad);
    if (s.infinite > 0) row(ui, pixels, "\u221e", format_count(s.infinite), c.bad);
    if (!s.empty()) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const float top = at.y + ui.px(12), bottom = top + ui.px(48);
        draw_histogram(ui, *ImGui::GetWindowDrawList(), ImVec2(at.x, top), ImVec2(at.x + pixels, bottom), s, style);
        ImGui::Dummy(ImVec2(pixels, bottom + ui.px(18) - at.y));
    }
    ImGui::PopStyleVar();
    ImGui::EndGroup();
}

}  // namespace attn::app
