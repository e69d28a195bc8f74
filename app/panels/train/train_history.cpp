#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/plot_legend.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kHistoryHeader = 40, kSlider = 22, kPins = 24;
/// Of the legend, and the least width that has room for one beside the curves.
constexpr float kHeadLegend = 216, kRoomForLegend = 560;

void choose(PanelContext& context, const HeadCurves& head) {
    context.view.stage = head.id;
    context.view.head = head.head;
}

/// The pattern that a head's curve shows, and the step at which it formed (negative: not formed).
struct Shown {
    HeadPattern pattern;
    double formed;
};
Shown shown_of(const HeadCurves& head, HeadPattern chosen) {
    const HeadPattern pattern = chosen == HeadPattern::Strongest ? head.strongest : chosen;
    return {pattern, is_share(pattern) ? forms_at(head.curve(pattern)) : -1};
}

std::string head_name(const HeadCurves& head) { return attention_name(head.id, head.head); }

// Buttons.

void draw_pattern_menu(PanelContext& context, float width) {
    TrainView& train = context.view.train;
    std::array<std::string_view, kHeadPatterns> names;
    for (int i = 0; i < kHeadPatterns; ++i) names[static_cast<std::size_t>(i)] = pattern_name(static_cast<HeadPattern>(i));
    int chosen = static_cast<int>(train.pattern);
    if (drop_down(context.ui(), "##pattern", names, chosen, width,
                  {.tooltip =
                       "What is plotted for every head, measured on the held-out sequence. After-repeat is the weight on what followed an "
                       "earlier occurrence of the same token: induction heads show it, but the pattern alone proves nothing."}))
        train.pattern = static_cast<HeadPattern>(chosen);
}

/// The step of a pinned moment; none if it belongs to another run.
std::optional<std::int64_t> step_of_pin(const PanelContext& context, const StateRef& pinned) {
    const MomentOfRun* moment = pinned == nullptr ? nullptr : moment_of(*pinned);
    if (moment == nullptr || moment->run == 0 || moment->run != context.training.status->run) return {};
    return moment->step;
}

void draw_history_header(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const RunStatus& now = *context.training.status;
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    float x = at.x + ImGui::GetContentRegionAvail().x;
    const std::string_view none = now.run == 0 ? "There is no run yet." : "";
    const auto put = [&](const char* label, float width, Icon icon, std::string_view tooltip, bool active = false) {
        x -= context.px(width + 4);
        ImGui::SetCursorScreenPos({x, at.y - context.px(3)});
        return button(ui, label, {.width = width, .icon = icon, .active = active, .notes = {.tooltip = tooltip, .disabled = none}});
    };
    if (put("Follow the newest", 166, follows_newest(context) ? Icon::Check : Icon::None,
            "Shows the newest model and follows the run (End)"))
        follow_newest(context);
    x -= context.px(6);
    if (put("##next", 32, Icon::Next, "Next kept step (Right)")) step_moment(context, +1);
    if (put(train.replaying ? "Stop##replay" : "Play##replay", 76, train.replaying ? Icon::Pause : Icon::Play,
            "Plays all kept steps from here on (M)"))
        toggle_replay(context);
    if (put("##previous", 32, Icon::Previous, "Previous kept step (Left)")) step_moment(context, -1);
    if (put("##first", 32, Icon::First, "Before the first step (Home)")) show_first_moment(context);
    x -= context.px(6);
    if (put("Branch", 66, Icon::None,
            "Starts a new run from this step, with the settings that you then change; this one is kept. Except at the newest step, its "
            "optimizer averages gradients anew"))
        branch_from_here(context);
    if (put("Pin B", 58, Icon::None, "Keeps what is shown as B: the attention can then show B − A (B)",
            step_of_pin(context, context.states.pinned_b).has_value()))
        pin_b(context);
    if (put("Pin A", 58, Icon::None, "Keeps what is shown as A: every view can then show the difference to it (A)",
            step_of_pin(context, context.states.pinned_a).has_value()))
        pin_shown_state(context);
    x -= context.px(6);
    // In a narrow window the menu shrinks first, then the title.
    const float menu = std::clamp((x - at.x) / scale - 4, 60.F, 148.F);
    x -= context.px(menu + 4);
    ImGui::SetCursorScreenPos({x, at.y - context.px(3)});
    draw_pattern_menu(context, menu);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (at.x + text_width(fonts.title, "history") + context.px(8) <= x) draw_text(list, fonts.title, at, colors.text, "history");
    const float left = at.x + text_width(fonts.title, "history") + context.px(12), room = x - context.px(10) - left;
    const auto mib = [](std::size_t bytes) {
        return format_number(static_cast<double>(bytes) / (1 << 20), {.decimals = bytes < (10U << 20) ? 1 : 0});
    };
    const std::string kept = now.run == 0 ? ""
                                          : fmt::format("{} step{} · {} of {} MB", now.moments.size(), now.moments.size() == 1 ? "" : "s",
                                                        mib(now.history_bytes), mib(now.history_budget));
    const std::string_view sentence = "every head's score by step; drag to rewind the model itself";
    const float kept_width = text_width(fonts.mono_small, kept);
    if (kept_width <= room)
        draw_text_in(list, fonts.mono_small, {left, at.y}, {x - context.px(10), at.y + context.px(22)}, {1, 0.5F}, colors.muted, kept);
    if (text_width(fonts.label, sentence) + kept_width + context.px(20) <= room)
        draw_text(list, fonts.label, {left, at.y + context.px(5)}, colors.muted, sentence);
}

// Curves.

LineLook look_of(const PanelContext& context, const HeadCurves& head) { return head_look(context, {head.id, head.head}); }

/// The heads that the legend names: those whose pattern has formed, in the order of formation, then the one whose map is large.
std::vector<const HeadCurves*> named_heads(const PanelContext& context, const RunLines& run) {
    std::vector<std::pair<double, const HeadCurves*>> formed;
    const HeadCurves* large = nullptr;
    for (const HeadCurves& head : run.heads) {
        const double step = shown_of(head, context.view.train.pattern).formed;
        if (step >= 0) formed.emplace_back(step, &head);
        else if (is_large_head(context, head.id, head.head)) large = &head;
    }
    std::stable_sort(formed.begin(), formed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const HeadCurves*> named;
    for (const auto& [step, head] : formed) named.push_back(head);
    if (large != nullptr) named.push_back(large);
    return named;
}

/// Names heads at the right of the curves; a click on a name goes to the step at which the head forms.
void draw_head_legend(PanelContext& context, const RunLines& run, const Box& box) {
    const std::vector<const HeadCurves*> named = named_heads(context, run);
    const float line = context.px(kLegendLine);
    const auto most = static_cast<std::size_t>(std::max(0.F, box.height() / line));
    float y = box.min.y;
    for (std::size_t i = 0; i < std::min(named.size(), most); ++i, y += line) {
        const HeadCurves& head = *named[i];
        const Shown shown = shown_of(head, context.view.train.pattern);
        const LineLook look = look_of(context, head);
        const bool formed = shown.formed >= 0;
        const std::string value = formed ? "step " + format_count(std::llround(shown.formed)) : "";
        const LegendEntry entry{look.color,
                                look.dash,
                                fmt::format("{} {}", head_name(head), pattern_name(shown.pattern)),
                                value,
                                formed ? "Click: choose this head and go to the moment it forms" : "Click: choose this head",
                                static_cast<std::uint64_t>(&head - run.heads.data())};
        if (!draw_legend_entry(context, entry, {box.min.x, y}, box.width()).pressed) continue;
        choose(context, head);
        if (!formed) continue;
        show_step(context, shown.formed);
        ++context.view.gesture;
    }
}

/// The head whose curve is nearest to the mouse, within a limit.
const HeadCurves* head_under_mouse(const PanelContext& context, const RunLines& run, const PlotArea& area) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const double x = plot_value(area.x, (mouse.x - area.min.x) / std::max(1.F, area.max.x - area.min.x));
    const HeadCurves* nearest = nullptr;
    float best = context.px(10);
    for (const HeadCurves& head : run.heads) {
        const Curve& curve = head.curve(context.view.train.pattern);
        if (curve.empty() || x > curve.x().back() * 1.02) continue;
        const float y = area.at_y(static_cast<double>(curve.raw().values()[nearest_point(curve.x(), x)]));
        if (!(std::abs(y - mouse.y) < best)) continue;
        best = std::abs(y - mouse.y);
        nearest = &head;
    }
    return nearest;
}

void draw_head_tooltip(const PanelContext& context, const HeadCurves& head, double step) {
    const auto& [colors, fonts, scale] = context.theme;
    const HeadPattern pattern = shown_of(head, context.view.train.pattern).pattern;
    const Curve& curve = head.curve(pattern);
    const std::size_t at = nearest_point(curve.x(), step);
    begin_tooltip(context.ui());
    text_line(context.ui(), fonts.strong, look_of(context, head).color, fmt::format("{} {}", head_name(head), pattern_name(pattern)));
    text_line(context.ui(), fonts.mono, colors.muted,
              fmt::format("step {}: {}", format_count(std::llround(curve.x()[at])),
                          format_number(static_cast<double>(curve.raw().values()[at]), {.decimals = 2})));
    end_tooltip();
}

PlotArea draw_curves(PanelContext& context, const RunLines& run, const Box& box) {
    TrainView& train = context.view.train;
    std::vector<PlotSeries> series;
    for (const HeadCurves& head : run.heads) {
        const Shown shown = shown_of(head, train.pattern);
        const bool strong = shown.formed >= 0, large = is_large_head(context, head.id, head.head);
        const LineLook look = look_of(context, head);
        series.push_back({.name = "",
                          .curve = &head.curve(shown.pattern),
                          .color = look.color,
                          .opacity = strong || large ? 1.F : 0.45F,
                          .thickness = large    ? 2.5F
                                       : strong ? 1.75F
                                                : 1.F,
                          .dash = look.dash});
    }
    // Weak heads are drawn first, so that they do not cover strong ones.
    std::stable_sort(series.begin(), series.end(), [](const PlotSeries& a, const PlotSeries& b) { return a.thickness < b.thickness; });
    PlotOptions options{.x_end = run_end(context), .legend = false, .scrub = true, .zoom = false};
    if (is_share(train.pattern)) options.y_range = std::pair{0.0, 1.02};
    options.from_zero = true;
    if (const auto step = shown_step(context)) options.marker = static_cast<double>(*step);
    train.history_plot.whole = true;
    const PlotResult result = line_plot(context.ui(), "##plot", box.min, box.max, series, train.history_plot, train.cursor, options);
    if (result.hovered) {
        const HeadCurves* head = head_under_mouse(context, run, result.area);
        if (head != nullptr && train.cursor.next_x) draw_head_tooltip(context, *head, *train.cursor.next_x);
        if (head != nullptr && ImGui::IsMouseClicked(0)) choose(context, *head);
    }
    if (result.clicked_x) show_step(context, *result.clicked_x);
    if (result.released) ++context.view.gesture;
    draw_plot_marks(context, result.area);
    return result.area;
}

// The slider below the curves.

void draw_slider(PanelContext& context, const PlotArea& area, float y) {
    const Ui ui = context.ui();
    const Palette& colors = context.theme.colors;
    const RunStatus& now = *context.training.status;
    const float half = context.px(3), radius = context.px(8), middle = y + context.px(kSlider) / 2;
    const Item item =
        item_at(ui, "##moment", {area.min.x - radius, y}, {area.max.x - area.min.x + 2 * radius, context.px(kSlider)},
                {.tooltip = "Drag to bring back the model of that step in all views. Left and Right go to the previous and next kept step.",
                 .disabled = now.run == 0 ? "There is no run yet." : ""});
    const bool released = ImGui::IsItemDeactivated();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto place = [&](double step) { return std::clamp(area.at_x(step), area.min.x, area.max.x); };
    list.AddRectFilled({area.min.x, middle - half}, {area.max.x, middle + half}, mix(colors.pane, colors.line, 0.6F), half);
    if (now.run == 0) return;
    list.AddRectFilled({area.min.x, middle - half}, {place(static_cast<double>(now.step)), middle + half}, colors.line, half);
    if (item.held)
        show_step(context, plot_value(area.x, (ImGui::GetIO().MousePos.x - area.min.x) / std::max(1.F, area.max.x - area.min.x)));
    if (released) ++context.view.gesture;
    const auto step = shown_step(context);
    if (!step) return;
    const float x = place(static_cast<double>(*step));
    list.AddRectFilled({area.min.x, middle - half}, {x, middle + half}, colors.accent, half);
    if (item.hovered || item.held) list.AddCircleFilled({x, middle}, radius + context.px(4), with_alpha(colors.chosen, 0.2F), 32);
    list.AddCircleFilled({x, middle}, radius, colors.chosen, 32);
    draw_focus_ring(ui, item, context.px(6));
}

constexpr float kPin = 18;

/// The middle of a pin below its step; none if no moment of this run is pinned.
std::optional<float> place_of_pin(const PanelContext& context, const PlotArea& area, bool b) {
    const std::optional<std::int64_t> of_a = step_of_pin(context, context.states.pinned_a),
                                      of_b = step_of_pin(context, context.states.pinned_b), step = b ? of_b : of_a;
    if (!step) return {};
    const float x = std::clamp(area.at_x(static_cast<double>(*step)), area.min.x, area.max.x);
    // Pins of the same step stand side by side.
    return of_a == of_b ? x + context.px(kPin / 2 + 1) * (b ? 1.F : -1.F) : x;
}

/// Where words of this width begin that belong to the step at `x`: beside it, or beside a pin that would cover them.
float left_of_words(const PanelContext& context, const PlotArea& area, float x, float wide) {
    const float away = context.px(14), first = area.min.x, last = area.max.x + context.px(8) - wide;
    std::vector<float> pins, places = {x + away, x - away - wide};
    for (const bool b : {false, true})
        if (const auto pin = place_of_pin(context, area, b)) {
            pins.push_back(*pin);
            places.insert(places.end(), {*pin + away, *pin - away - wide});
        }
    const auto is_free = [&](float left) {
        const float out = context.px(kPin) / 2;
        return left >= first && left <= last &&
               std::none_of(pins.begin(), pins.end(), [&](float pin) { return pin + out > left && pin - out < left + wide; });
    };
    const auto found = std::find_if(places.begin(), places.end(), is_free);
    return found != places.end() ? *found : std::clamp(places.front(), first, std::max(first, last));
}

/// Draws a pin: a boxed letter below its step. A click goes there, a right-click unpins. True if it was unpinned.
bool draw_pin(PanelContext& context, const PlotArea& area, float y, bool b) {
    const std::optional<std::int64_t> step = step_of_pin(context, b ? context.states.pinned_b : context.states.pinned_a);
    const char* const letter = b ? "B##pin" : "A##pin";
    if (!step) return false;
    const auto& [colors, fonts, scale] = context.theme;
    const float side = context.px(kPin), x = *place_of_pin(context, area, b);
    const Item item =
        item_at(context.ui(), letter, {x - side / 2, y}, {side, side}, {.tooltip = "Click: show this step · right-click: unpin it"});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(item.min, item.max, item.hovered ? colors.raised : colors.pane, context.px(4));
    list.AddRect(item.min, item.max, colors.chosen, context.px(4), 0, context.px(1.5F));
    draw_text_in(list, fonts.small, item.min, item.max, {0.5F, 0.5F}, colors.chosen_text, std::string_view(letter, 1));
    if (item.pressed) {
        show_step(context, static_cast<double>(*step));
        ++context.view.gesture;
    }
    return item.hovered && ImGui::IsMouseClicked(1);
}

void draw_below(PanelContext& context, const PlotArea& area, float y) {
    const auto& [colors, fonts, scale] = context.theme;
    ViewState& view = context.view;
    if (const auto step = shown_step(context)) {
        std::string text = "step " + format_count(*step);
        text += follows_newest(context) ? ", following the newest" : view.train.replaying ? ", playing" : "";
        const float left = left_of_words(context, area, area.at_x(static_cast<double>(*step)), text_width(fonts.mono_small, text));
        draw_text(*ImGui::GetWindowDrawList(), fonts.mono_small, {left, y + context.px(3)}, colors.text, text);
    }
    if (draw_pin(context, area, y, false)) {
        context.commands.push_back({command::Pin{false, nullptr}, ""});
        view.compare.choose(Compare::Off);
    }
    if (draw_pin(context, area, y, true)) {
        context.commands.push_back({command::Pin{true, nullptr}, ""});
        if (view.compare.source == Compare::PinnedB) view.compare.choose(Compare::Off);
    }
}

}  // namespace

void draw_train_history(PanelContext& context) {
    const TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    draw_history_header(context);
    const float bottom = at.y + room.y - context.px(kPins), slider = bottom - context.px(kSlider);
    const bool names_heads = room.x > context.px(kRoomForLegend);
    const Box box{{at.x, at.y + context.px(kHistoryHeader)},
                  {at.x + room.x - context.px(10) - (names_heads ? context.px(kHeadLegend + 16) : 0), slider + context.px(2)}};
    const RunLines* run = train.curves.find(context.training.status->run);
    if (run == nullptr) return draw_slider(context, {{at.x + context.px(44), box.min.y}, {box.max.x, box.max.y}, {}, {}}, slider);
    const PlotArea area = draw_curves(context, *run, box);
    if (names_heads) draw_head_legend(context, *run, {{box.max.x + context.px(16), box.min.y}, {at.x + room.x, slider}});
    draw_slider(context, area, slider);
    draw_below(context, area, bottom + context.px(2));
}

}  // namespace attn::app
