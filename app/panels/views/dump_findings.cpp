#include "app/panels/views/dump_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// The findings with numbers on both sides.
std::vector<const doctor::Finding*> findings_beside(const PanelContext& context) {
    std::vector<const doctor::Finding*> found;
    if (const DoctorReport* report = open_dump(context))
        for (const doctor::Finding& finding : report->diagnosis.findings)
            if (finding.beside != nullptr) found.push_back(&finding);
    return found;
}

std::string exact(double number) {
    return std::isnan(number) ? "NaN" : std::isinf(number) ? (number < 0 ? "−∞" : "∞") : format_exact(static_cast<float>(number));
}

/// What is masked on both sides does not differ.
template <class Number>
Number recorded_minus_expected(Number recorded, Number expected) {
    return recorded == expected ? Number() : recorded - expected;
}

/// The largest finite magnitude of both.
float reach_of_both(const doctor::Beside& beside) {
    float reach = 0;
    for (const std::vector<float>* map : {&beside.recorded_map, &beside.expected_map})
        for (const float value : *map)
            if (std::isfinite(value)) reach = std::max(reach, std::abs(value));
    return reach > 0 ? reach : 1;
}

struct BesideMap {
    const char* id;
    std::string title;
    const std::vector<float>& values;
    const std::vector<std::uint8_t>& keep;
    float reach;
};

void draw_beside_map(PanelContext& context, const doctor::Beside& beside, const BesideMap& map, ImVec2 at, float side) {
    constexpr float kTitle = 24, kLabels = 28;
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.strong, at, colors.text, map.title);
    const float cell = (side - context.px(kLabels)) / static_cast<float>(std::max(beside.rows, beside.cols));
    const ImVec2 min{at.x + context.px(kLabels), at.y + context.px(kTitle + 18)};
    const ImVec2 max{min.x + cell * static_cast<float>(beside.cols), min.y + cell * static_cast<float>(beside.rows)};
    HeatmapOptions options;
    options.rows = {.label = [&](std::int64_t row) { return std::to_string(beside.first_row + row); }, .room = context.px(kLabels - 6)};
    options.cols = {.label = [&](std::int64_t col) { return std::to_string(beside.first_col + col); }, .room = context.px(16)};
    options.marks = {.row = beside.row - beside.first_row, .col = beside.col - beside.first_col};
    options.zoom = options.pan = false;
    HeatmapViewState whole;
    const HeatmapData data{
        .values = map.values.data(), .rows = beside.rows, .cols = beside.cols, .row_stride = beside.cols, .keep = map.keep.data()};
    const HeatmapResult hit =
        heatmap_view(context.ui(), map.id, min, max, data, {.map = ColorMap::Diverging, .lo = -map.reach, .hi = map.reach}, whole, options);
    if (hit.hovered) heatmap_tooltip(context.ui(), data, *hit.hovered, options.rows, options.cols);
}

}  // namespace

const DoctorReport* open_dump(const PanelContext& context) {
    DumpField& field = context.view.doctor;
    if (context.dump == nullptr) return nullptr;
    if (context.dump->reading) field.closed.clear();
    // A file that is opened again has another report, even if no frame has seen it being read. A problem is reported anew in every frame.
    const bool same_report = field.closed_report.lock() == context.dump || !context.dump->problem.empty();
    return field.closed == context.dump->file && same_report ? nullptr : context.dump.get();
}

void close_dump(PanelContext& context) {
    context.view.doctor.closed = context.dump->file;
    context.view.doctor.closed_report = context.dump;
    context.view.doctor.finding = 0;
}

const doctor::Finding* chosen_finding(const PanelContext& context) {
    const std::vector<const doctor::Finding*> all = findings_beside(context);
    return all.empty() ? nullptr : all[std::min(context.view.doctor.finding, all.size() - 1)];
}

void choose_finding(PanelContext& context, const doctor::Finding& finding) {
    const std::vector<const doctor::Finding*> all = findings_beside(context);
    const auto found = std::find(all.begin(), all.end(), &finding);
    if (found != all.end()) context.view.doctor.finding = static_cast<std::size_t>(found - all.begin());
}

void step_finding(PanelContext& context, int direction) {
    const auto count = static_cast<std::ptrdiff_t>(findings_beside(context).size());
    const auto now = std::min(static_cast<std::ptrdiff_t>(context.view.doctor.finding), count - 1);
    context.view.doctor.finding =
        static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(now + direction, 0, std::max<std::ptrdiff_t>(count - 1, 0)));
}

std::string place_text(const doctor::Finding& finding) {
    std::string text = finding.attention.empty() ? finding.stage : finding.attention + "." + finding.stage;
    if (!finding.cell.empty()) text += fmt::format("[{}]", fmt::join(finding.cell, ","));
    return visible_text(text, true);
}

void draw_recorded_beside_expected(PanelContext& context) {
    const doctor::Finding* finding = chosen_finding(context);
    if (finding == nullptr) return;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const doctor::Beside& beside = *finding->beside;
    gap(ui, 10);
    text_line(ui, fonts.mono_body, colors.text, place_text(*finding));
    paragraph(ui, fonts.body, colors.muted, fmt::format("recorded {}   ·   expected {}", exact(beside.recorded), exact(beside.expected)));
    gap(ui, 8);
    if (beside.rows == 0)
        return paragraph(ui, fonts.label, colors.faint, "The other numbers of this stage cannot be computed from the file.");
    std::vector<float> change;
    std::vector<std::uint8_t> keep;  // 0: hidden on both sides, as a mask writes it
    float most = 0;
    for (std::size_t i = 0; i < beside.recorded_map.size(); ++i) {
        const float recorded = beside.recorded_map[i], expected = beside.expected_map[i];
        keep.push_back(static_cast<std::uint8_t>(recorded != expected || recorded > std::numeric_limits<float>::lowest()));
        change.push_back(recorded_minus_expected(recorded, expected));
        if (std::isfinite(change.back())) most = std::max(most, std::abs(change.back()));
    }
    const float reach = reach_of_both(beside);
    const std::array<BesideMap, 3> maps = {
        {{"##recorded", "recorded", beside.recorded_map, keep, reach},
         {"##expected", "expected", beside.expected_map, keep, reach},
         {"##difference", fmt::format("recorded − expected, up to {}", format_number(most)), change, keep, most > 0 ? most : 1}}};
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float between = context.px(24), width = ImGui::GetContentRegionAvail().x;
    const float side = std::min((width - 2 * between) / 3, context.px(360));
    for (std::size_t i = 0; i < maps.size(); ++i)
        draw_beside_map(context, beside, maps[i], {at.x + static_cast<float>(i) * (side + between), at.y}, side);
    ImGui::SetCursorScreenPos({at.x, at.y + side + context.px(24)});
    ImGui::Dummy({1, 1});
}

void draw_recorded_cell(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    section_heading(ui, "This cell");
    const doctor::Finding* finding = chosen_finding(context);
    if (finding == nullptr)
        return paragraph(ui, fonts.body, colors.muted, "No finding of this file names a number that should be another one.");
    paragraph(ui, fonts.mono_small, colors.text, place_text(*finding));
    gap(ui, 8);
    value_row(ui, "recorded", exact(finding->beside->recorded));
    value_row(ui, "expected", exact(finding->beside->expected));
    value_row(ui, "recorded − expected", exact(recorded_minus_expected(finding->beside->recorded, finding->beside->expected)));
}

}  // namespace attn::app
