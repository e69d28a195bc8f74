#include "app/panels/lessons/caption_view.hpp"

#include <fmt/format.h>

#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/caption_layout.hpp"
#include "app/panels/lessons/quoted_cells.hpp"
#include "app/widgets/hatching.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kCellPadding = 5, kBetweenLines = 6, kLowWindow = 680;

/// False while the shown numbers belong to another state, which would contradict the caption.
bool shows_numbers(const PanelContext& context) {
    return !context.view.lesson.look_pending && context.snapshot.problem.empty() && context.ready();
}

/// Only maps have cell colours; lists of tokens do not.
bool has_colour(const QuotedPlace& place) { return place.is_cell() && (place.rank > 2 || !place.cell.parameter.empty()); }

std::vector<CaptionRun> runs_of(const PanelContext& context) {
    std::vector<CaptionRun> runs;
    const Caption& caption = context.view.lesson.current().caption;
    const bool numbers = shows_numbers(context);
    for (std::size_t i = 0; i < caption.size(); ++i) {
        const CaptionPart& part = caption[i];
        if (!part.quote) {
            runs.push_back({part.text, std::nullopt, false});
            continue;
        }
        const auto text = numbers ? quoted(*part.quote, context.snapshot, context.training) : std::nullopt;
        const auto place = text ? quoted_place(*part.quote, context.snapshot) : std::nullopt;
        runs.push_back({text.value_or("…"), i, place && has_colour(*place)});
    }
    return runs;
}

std::vector<PlacedRun> placed_runs(const PanelContext& context, float width) {
    ImFont* font = caption_font(context);
    return lay_out_caption(runs_of(context), {.width = width,
                                              .space = text_width(font, " "),
                                              .padding = context.px(kCellPadding),
                                              .text_width = [font](std::string_view text) { return text_width(font, text); }});
}

/// Draws a number's box in the colour of its cell.
void draw_cell_box(PanelContext& context, const QuotedPlace& place, ImVec2 min, ImVec2 max, std::string_view text) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const CellLook look = look_of_cell(context, place).value_or(CellLook{colors.raised, colors.text, false});
    list.AddRectFilled(min, max, look.fill, context.px(3));
    if (look.masked) draw_hatching(list, context.theme, min, max);
    list.AddRect(min, max, colors.line, context.px(3));
    draw_text_in(list, caption_font(context), min, max, {0.5F, 0.5F}, look.ink, text);
}

/// Handles hovering and clicking a number.
void follow_number(PanelContext& context, QuotedCell& quoted, ImVec2 min, ImVec2 max) {
    const std::string words = place_words(context, quoted.place);
    const bool can_go = quoted.place.is_cell() && quoted.place.cell.parameter.empty();
    const std::string tooltip = can_go ? words + ". Click to see its arithmetic." : words + ".";
    const Item item =
        item_at(context.ui(), fmt::format("##quoted{}", quoted.part).c_str(), min, {max.x - min.x, max.y - min.y}, {.tooltip = tooltip});
    draw_focus_ring(context.ui(), item, context.px(3));
    quoted.pointed_at = item.hovered || item.ringed;
    quoted.number = {(min.x + max.x) / 2, max.y};
    if (quoted.pointed_at) light_up(context, quoted.place);
    if (!item.pressed || !can_go) return;
    if (context.view.view != View::Heads || !is_attention_map(quoted.place.cell.stage.stage)) context.view.view = View::Step;
    follow_to(context.view, quoted.place.cell);
}

void draw_quotation(PanelContext& context, const PlacedRun& run, ImVec2 min, ImVec2 max) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Quote& quote = *context.view.lesson.current().caption[*run.part].quote;
    const auto place = shows_numbers(context) ? quoted_place(quote, context.snapshot) : std::nullopt;
    if (place && run.cell) draw_cell_box(context, *place, min, max, run.text);
    else draw_text_in(list, caption_font(context), min, max, {0, 0.5F}, colors.text, run.text);
    if (!place) return;
    if (!run.cell) list.AddLine({min.x, max.y - context.px(1)}, {max.x, max.y - context.px(1)}, colors.muted, context.px(1));
    QuotedCell& quoted = context.view.lesson.quoted.emplace_back(QuotedCell{*run.part, *place});
    follow_number(context, quoted, min, max);
}

}  // namespace

ImFont* caption_font(const PanelContext& context) {
    const Fonts& fonts = context.theme.fonts;
    return ImGui::GetIO().DisplaySize.y < context.px(kLowWindow) ? fonts.body : fonts.lecture;
}

float caption_line_height(const PanelContext& context) { return font_size(caption_font(context)) + context.px(kBetweenLines); }

float caption_height(const PanelContext& context, float width) {
    return static_cast<float>(lines_in(placed_runs(context, width))) * caption_line_height(context);
}

void draw_caption(PanelContext& context, ImVec2 at, float width) {
    const float line = caption_line_height(context), half_gap = context.px(kBetweenLines) / 2;
    for (const PlacedRun& run : placed_runs(context, width)) {
        const float y = at.y + static_cast<float>(run.line) * line - half_gap;
        const ImVec2 min{at.x + run.x, y + context.px(1)}, max{at.x + run.x + run.width, y + line - context.px(1)};
        if (run.part) draw_quotation(context, run, min, max);
        else draw_text_in(*ImGui::GetWindowDrawList(), caption_font(context), min, max, {0, 0.5F}, context.theme.colors.text, run.text);
    }
}

}  // namespace attn::app
