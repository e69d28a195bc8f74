#include "app/panels/train/plot_legend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kSample = 22, kSampleGap = 6, kValueGap = 8, kMark = 7;

/// Changes that stand so close that their marks would overlap, as while a slider is dragged.
struct MarkedChanges {
    double step = 0;  ///< of the last of them
    const RunSettings* before = nullptr;
    const RunSettings* after = nullptr;
    std::optional<RunOrigin> origin{};
};

std::vector<MarkedChanges> marks_of(const PanelContext& context, const RunCurves& run, const PlotArea& area) {
    std::vector<MarkedChanges> marks;
    if (run.origin) marks.push_back({static_cast<double>(run.origin->step), &run.settings, &run.settings, run.origin});
    const RunSettings* before = &run.settings;
    for (const SettingsChange& change : run.changes) {
        const auto step = static_cast<double>(change.step);
        const bool joins = !marks.empty() && area.at_x(step) - area.at_x(marks.back().step) < context.px(kMark);
        if (joins) {
            marks.back().step = marks.back().origin ? marks.back().step : step;
            marks.back().after = &change.settings;
        } else if (change.step > 0) {  // until its first step, a new run is as it was set
            marks.push_back({step, before, &change.settings});
        }
        before = &change.settings;
    }
    return marks;
}

std::string words_of_mark(const MarkedChanges& mark) {
    std::vector<std::string> words;
    if (mark.origin) words.push_back(origin_words(*mark.origin));
    for (std::string& change : changed_settings(*mark.before, *mark.after)) words.push_back(std::move(change));
    if (words.empty()) words.emplace_back("settings changed");  // of those that have no short name, or and put back
    return fmt::format("Step {}: {}. Click to go there.", format_count(std::llround(mark.step)), fmt::join(words, ", "));
}

}  // namespace

float legend_width(const PanelContext& context, const LegendEntry& entry, int digits) {
    const Fonts& fonts = context.theme.fonts;
    return context.px(kSample + kSampleGap + kValueGap) + text_width(fonts.label, entry.name) +
           text_width(fonts.mono_small, std::string(static_cast<std::size_t>(digits), '0'));
}

Item draw_legend_entry(PanelContext& context, const LegendEntry& entry, ImVec2 at, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    const float high = context.px(kLegendLine);
    Item item;
    if (!entry.tooltip.empty()) {
        ImGui::PushID(static_cast<int>(entry.key));
        item = item_at(context.ui(), "##legend", at, {width, high}, {.tooltip = entry.tooltip});
        ImGui::PopID();
        draw_focus_ring(context.ui(), item, context.px(3));
    }
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered) list.AddRectFilled(item.min, item.max, colors.raised, context.px(3));
    const float middle = at.y + high / 2, x = at.x + context.px(kSample + kSampleGap);
    list.PathLineTo({at.x, middle});
    list.PathLineTo({at.x + context.px(kSample), middle});
    stroke_dashed(list, entry.dash, entry.color, context.px(2), context.px(2.5F));
    const float value = text_width(fonts.mono_small, entry.value), room = at.x + width - value - context.px(kValueGap) - x;
    draw_text_in(list, fonts.label, {x, at.y}, {x + room, at.y + high}, {0, 0.5F}, colors.text, elide(fonts.label, entry.name, room));
    draw_text_in(list, fonts.mono_small, at, {at.x + width, at.y + high}, {1, 0.5F}, colors.muted, entry.value);
    return item;
}

void draw_plot_marks(PanelContext& context, const PlotArea& area) {
    const std::uint64_t current = context.training.status->run;
    if (context.training.runs.empty() || context.training.runs.back().run != current || !draws_run(context, current)) return;
    const Palette& colors = context.theme.colors;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float size = context.px(kMark), top = area.min.y - context.px(kMarkRoom);
    int id = 0;
    for (const MarkedChanges& mark : marks_of(context, context.training.runs.back(), area)) {
        ++id;
        const float x = area.at_x(mark.step);
        if (!(x >= area.min.x - 1 && x <= area.max.x + 1)) continue;
        ImGui::PushID(id);
        const Item item = item_at(context.ui(), "##mark", {x - size, top}, {2 * size, size + context.px(4)}, {.explains_itself = true});
        ImGui::PopID();
        const Color ink = item.hovered ? colors.text : colors.muted;
        list.AddTriangleFilled({x - size / 2, top}, {x + size / 2, top}, {x, top + size}, ink);
        list.PathLineTo({x, area.min.y});
        list.PathLineTo({x, area.max.y});
        stroke_dashed(list, Dash::Dotted, with_alpha(ink, 0.7F), context.px(1), context.px(2));
        draw_focus_ring(context.ui(), item, context.px(3));
        if (item.hovered) {
            begin_tooltip_beside(context.ui());
            text_line(context.ui(), context.theme.fonts.label, colors.text, words_of_mark(mark));
            end_tooltip();
        }
        if (!item.pressed) continue;
        show_step(context, mark.step);
        ++context.view.gesture;
    }
}

}  // namespace attn::app
