#include "app/panels/settings/edit_chip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "app/panels/edit/edit_list.hpp"
#include "app/panels/kit/section.hpp"
#include "app/panels/settings/settings.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kEditChip = 28, kCount = 18, kBeside = 8;
constexpr const char* kEditSection = "edits";

/// The edits that are switched on.
struct EditsInForce {
    std::size_t count = 0, in_vain = 0;
    std::string why{};  ///< the first one in vain is
};

EditsInForce edits_in_force(const PanelContext& context) {
    EditsInForce all;
    for (const Edit& edit : context.document.forward.edits) {
        if (!edit.on) continue;
        ++all.count;
        std::string why = why_in_vain(context, edit);
        if (!why.empty() && all.in_vain++ == 0) all.why = std::move(why);
    }
    return all;
}

/// As much as there is room for.
std::string chip_words(const PanelContext& context, const EditsInForce& all, float room) {
    std::string words = all.count == 1 ? "edit" : "edits";
    if (all.in_vain == 0) return words;
    std::string more = all.count == 1 ? fmt::format("edit ({})", all.why) : fmt::format("edits, {} without effect", all.in_vain);
    return text_width(context.theme.fonts.label, more) <= room ? more : words;
}

/// A lesson may hide the list, and a view may have other settings.
bool could_be_listed(const PanelContext& context) {
    if (context.view.view == View::Train) return false;
    const std::vector<ListedSection> sections = listed_sections(context);
    return std::any_of(sections.begin(), sections.end(),
                       [](const ListedSection& section) { return std::string_view(section.name) == kEditSection; });
}

/// The list is drawn after the chip, so what counts is where it was in the frame before.
bool is_in_sight(const EditState& edits) { return edits.listed_at + 1 >= ImGui::GetFrameCount(); }

}  // namespace

float draw_edit_chip(PanelContext& context, float right, float y, float room) {
    const EditsInForce all = edits_in_force(context);
    if (all.count == 0 || is_in_sight(context.view.edits) || !could_be_listed(context)) return 0;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const std::string number = std::to_string(all.count);
    const float badge_width = std::max(context.px(kCount), text_width(fonts.strong, number) + context.px(8));
    const float beside_words = badge_width + context.px(6 + kBeside + 12), height = context.px(kEditChip);
    const std::string words = chip_words(context, all, room - beside_words);
    const float width = beside_words + text_width(fonts.label, words);
    if (width > room) return 0;
    const Item item =
        item_at(ui, "##edits_in_force", {right - width, y}, {width, height},
                {.tooltip = all.in_vain == all.count ? "These changes by hand change nothing else. Click to see the list."
                                                     : "What is shown is computed with these changes by hand. Click to see the list."});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(item.min, item.max, item.hovered ? colors.raised : colors.pane, height / 2);
    list.AddRect(item.min, item.max, colors.chosen, height / 2, 0, context.px(1.5F));
    const ImVec2 badge{item.min.x + context.px(6), y + (height - context.px(kCount)) / 2};
    const ImVec2 badge_end{badge.x + badge_width, badge.y + context.px(kCount)};
    list.AddRectFilled(badge, badge_end, colors.chosen, context.px(4));
    draw_text_in(list, fonts.strong, badge, badge_end, {0.5F, 0.5F}, ink_on(colors.chosen), number);
    draw_text_in(list, fonts.label, {badge_end.x + context.px(kBeside), item.min.y}, item.max, {0, 0.5F}, colors.text, words);
    draw_focus_ring(ui, item, height / 2);
    if (item.pressed) open_settings_section(context.view, kEditSection);
    return width;
}

}  // namespace attn::app
