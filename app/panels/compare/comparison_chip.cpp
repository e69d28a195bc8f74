#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "app/panels/compare/comparison.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kChipHigh = 28, kBadge = 18, kEnd = 28;

/// The reference's name, such as "step 300", "pinned A, step 300", "layer 1 · head 2". Does not request any computation, because the chip
/// is shown in all views.
std::string name_of_other(const PanelContext& context) {
    const Comparison& compare = context.view.compare;
    std::string name;
    const auto add = [&name](const std::string& words, const char* between) {
        if (!words.empty()) name += (name.empty() ? "" : between) + words;
    };
    for (const CompareSource& source : compare_sources()) {
        if (source.source != compare.source) continue;
        const StateRef& state = context.states.*source.state;
        const std::string branch = name_of_branch(context, state);
        add(branch.empty() ? std::string(source.with) : branch, "");
        const MomentOfRun* moment = state == nullptr || state == context.states.shown ? nullptr : moment_of(*state);
        if (moment != nullptr) add("step " + format_count(moment->step), ", ");
        add(name_of_other_model(context, state), ", ");
    }
    if (compare.layer) add(fmt::format("layer {}", *compare.layer), " · ");
    if (compare.head) add(fmt::format("head {}", *compare.head), " · ");
    if (compare.batch) add(fmt::format("text {}", *compare.batch + 1), " · ");
    return name.empty() ? "itself" : name;
}

/// Which of the parts A, B, B − A the picture shows; -1 for side by side. Lines would cover each other, so they are shown one state at a
/// time.
int shown_part(const PanelContext& context) {
    const Comparison& compare = context.view.compare;
    const int in_place = compare.swapped ? 0 : 1;
    if (compare.layout == CompareLayout::InPlace) return in_place;
    const View view = context.view.view;
    if (view == View::Lines) return in_place;
    // Where a view has many maps, B takes their places; the lens has no layout side by side.
    if (compare.layout == CompareLayout::SideBySide && (view == View::Heads || view == View::Grid)) return in_place;
    if (view == View::Lens) return 2;
    return compare.layout == CompareLayout::SideBySide ? -1 : 2;
}

/// Draws the switch "A | B | B − A", right-aligned at `right`; returns its width.
float draw_parts(PanelContext& context, float right, float y) {
    const Comparison& compare = context.view.compare;
    const bool turned = compare.swapped && compare.layout != CompareLayout::InPlace;
    const std::array<std::string_view, 3> all = {"A", "B", turned ? "A − B" : "B − A"};
    const std::span<const std::string_view> parts(all.data(), context.view.view == View::Lines ? 2 : 3);
    const Ui ui = context.ui();
    const float width = segmented_width(ui, parts);
    ImGui::SetCursorScreenPos({right - width, y - context.px(1)});
    int part = shown_part(context);
    if (segmented(ui, "##compared", parts, part, width / context.theme.scale + 1,
                  {.tooltip = "A is the state compared with, B the one shown. Hold X to swap them."}))
        context.view.compare.lay_out(part == 2 ? CompareLayout::All : CompareLayout::InPlace, part == 0);
    return width;
}

}  // namespace

float draw_comparison(PanelContext& context, float right, float y, float room) {
    if (!context.view.compare.on()) return 0;
    constexpr float kLeastChip = 150, kBetween = 12, kParts = 190;
    const bool both = room >= context.px(kLeastChip + kParts);
    const float chip = draw_comparison_chip(context, right, y, room - (both ? context.px(kParts) : 0));
    if (!both || !draws_comparison(context.view.view)) return chip;
    return chip + context.px(kBetween) + draw_parts(context, right - chip - context.px(kBetween), y);
}

float draw_comparison_chip(PanelContext& context, float right, float y, float room) {
    if (!context.view.compare.on()) return 0;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const bool here = draws_comparison(context.view.view);
    const std::string_view with = here ? "comparing with " : "not compared here: ";
    const float ends = context.px(8 + kBadge + 8 + kEnd), least = ends + context.px(20);
    if (room < least) return 0;
    std::string name = name_of_other(context);
    float words = text_width(fonts.label, with);
    // In a narrow row drop these words first, then shorten the name.
    if (ends + words + text_width(fonts.strong, name) > room) words = 0;
    name = elide(fonts.strong, name, room - ends - words);
    const float width = ends + words + text_width(fonts.strong, name), height = context.px(kChipHigh);
    const ImVec2 min{right - width, y}, max{right, y + height};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(min, max, colors.pane, height / 2);
    list.AddRect(min, max, here ? colors.chosen : colors.line, height / 2, 0, context.px(1.5F));
    const ImVec2 badge{min.x + context.px(6), y + (height - context.px(kBadge)) / 2};
    const ImVec2 badge_end{badge.x + context.px(kBadge), badge.y + context.px(kBadge)};
    const Color fill = here ? colors.chosen : colors.faint;
    list.AddRectFilled(badge, badge_end, fill, context.px(4));
    draw_text_in(list, fonts.strong, badge, badge_end, {0.5F, 0.5F}, ink_on(fill), "A");
    float x = badge_end.x + context.px(8);
    if (words > 0) draw_text_in(list, fonts.label, {x, min.y}, max, {0, 0.5F}, colors.muted, with);
    draw_text_in(list, fonts.strong, {x + words, min.y}, max, {0, 0.5F}, colors.text, name);
    const Item item = item_at(
        ui, "##end_comparison", {max.x - context.px(kEnd), min.y}, {context.px(kEnd), height},
        {.tooltip = here ? "Ends the comparison (B). Hold X to swap A and B." : "Ends the comparison (B). This view shows B alone."});
    draw_icon(list, Icon::Close, {max.x - context.px(15), y + height / 2}, context.px(9), item.hovered ? colors.text : colors.muted);
    draw_focus_ring(ui, item, height / 2);
    if (item.pressed) context.view.compare.end();
    return width;
}

}  // namespace attn::app
