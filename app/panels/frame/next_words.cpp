#include "app/panels/frame/next_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "app/panels/frame/frame_layout.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/hatching.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {
namespace {

constexpr float kCandidate = 104, kNextGap = 8, kMenuButton = 34, kNextLabel = 60, kLineRoom = 18, kListWidth = 300, kListLine = 28;
constexpr std::size_t kMostListed = 10;

/// In the last step of a lesson the learner is asked to change the model's answer, so it must be visible.
bool lesson_hides_answer(const LessonView& lesson) { return lesson.open() && lesson.step + 1 < lesson.lesson->steps.size(); }

/// Whether there is a place for candidates.
bool writes(const PanelContext& context) {
    return could_write(context) && context.view.view != View::Train && !lesson_hides_answer(context.view.lesson);
}

/// How many candidates have a place of their own in a window of this logical width.
std::size_t candidates_in_row(float window_width) {
    return window_width < 1000 ? 0 : window_width < 1100 ? 1 : window_width < 1400 ? 2 : 3;
}

std::string candidate_tooltip(const PanelContext& context, const NextWord& word, bool acts) {
    if (!acts)
        return context.snapshot.problem.empty() ? "This was for the text before the change; the new candidates are being computed."
                                                : "This is for the text that is shown; the one asked for cannot be read.";
    if (word.cut != Cut::None) return cut_words(word.cut, context.document.sampling) + " Click to add it to the text anyway.";
    return fmt::format(
        "“{}”, a possible next token. Its probability is {}; the sampler draws it with a probability of {}. Click to add it to the text.",
        shown_token(word.text, word.id), share_words(word.probability), share_words(word.chance));
}

/// A candidate with its probability as text and bar; a click appends it if it `acts`.
void draw_candidate(PanelContext& context, const NextWord& word, double largest, ImVec2 at, ImVec2 size, bool acts) {
    const auto& [colors, fonts, scale] = context.theme;
    ImGui::PushID(word.id);
    const Item item = item_at(context.ui(), "##next_word", at, size, {.tooltip = candidate_tooltip(context, word, acts)});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool kept = word.cut == Cut::None;
    list.AddRectFilled(item.min, item.max, item.hovered ? colors.raised : colors.pane, context.px(6));
    if (!kept) draw_hatching(list, context.theme, item.min, item.max);
    list.AddRect(item.min, item.max, item.hovered ? colors.accent : colors.line, context.px(6));
    const float line = item.max.y - context.px(5), left = item.min.x + context.px(8), end = item.max.x - context.px(8);
    const std::string chance = percent_words(word.probability);
    const float room = end - left - text_width(fonts.mono_small, chance) - context.px(6);
    const Color ink = !kept ? colors.muted : has_part_of_character(word.text) ? colors.axis_d : colors.text;
    draw_text_in(list, fonts.mono_body, {left, item.min.y}, {end, line}, {0, 0.4F}, ink,
                 elide_shown_middle(fonts.mono_body, "", shown_token(word.text, word.id), room, true));
    draw_text_in(list, fonts.mono_small, {left, item.min.y}, {end, line}, {1, 0.4F}, colors.muted, chance);
    if (largest > 0)
        value_bar(list, {left, line - context.px(1)}, {end, line + context.px(2)}, word.probability / largest,
                  kept ? colors.accent : colors.faint, context.px(1.5F));
    draw_focus_ring(context.ui(), item, context.px(6));
    if (item.pressed && acts) write_word(context, word);
}

void draw_write_button(PanelContext& context) {
    const bool on = context.writing;
    const std::string full = no_room_to_write(context);
    if (button(context.ui(), on ? "Stop##write" : "Write on##write",
               {.width = -1,
                .icon = on ? Icon::Pause : Icon::Play,
                .notes = {.tooltip = on ? "Stops after the current token (Y)."
                                        : "The model continues the text token by token; the Write view shows every step (Y).",
                          .disabled = on ? "" : full}}))
        toggle_writing(context);
}

void draw_temperature(PanelContext& context) {
    SamplingSettings sampling = context.document.sampling;
    const Edited edited =
        slider_row(context.ui(), "sampling temperature##next", sampling.temperature,
                   {.min = 0, .max = 2, .step = 0.05, .notes = {.tooltip = "Below 1 favours the likeliest words, above 1 the others."}});
    if (edited) emit_sampling(context, sampling, "sampling temperature");
    close_gesture(context, edited);
}

/// What is left of all probability after the listed candidates.
std::string rest_words(const NextWords& words, const SamplingSettings& sampling) {
    if (words.first_cut != Cut::None)
        return fmt::format("{}: {} can be drawn", cut_name(words.first_cut, sampling), format_count(words.kept));
    const std::size_t listed = std::min(words.likeliest.size(), kMostListed);
    double named = 0;
    for (std::size_t i = 0; i < listed; ++i) named += words.likeliest[i].probability;
    const auto others = words.others + static_cast<std::int64_t>(words.likeliest.size() - listed);
    if (others == 0) return "Click one to write it.";
    return fmt::format("{} for {} others. Click one to write it.", percent_words(std::max(1 - named, 0.0)), format_count(others));
}

/// All candidates in a column, and how the next one is drawn.
void draw_list(PanelContext& context, const ShownNextWords& shown) {
    ImGui::Dummy({context.px(kListWidth), 0});
    const std::vector<NextWord>& likeliest = shown.words->likeliest;
    const double largest = likeliest.empty() ? 0 : likeliest.front().probability;
    // The Write view lists more.
    for (const NextWord& word : std::span(likeliest).first(std::min(likeliest.size(), kMostListed))) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        draw_candidate(context, word, largest, at, {context.px(kListWidth), context.px(kListLine)}, shown.act);
        ImGui::SetCursorScreenPos({at.x, at.y + context.px(kListLine + 3)});
    }
    paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.muted, rest_words(*shown.words, context.document.sampling),
              kListWidth);
    separator(context.ui());
    draw_temperature(context);
    draw_write_button(context);
}

/// The button that opens the list; where the row has no room for candidates, it names the likeliest one.
void draw_menu(PanelContext& context, const ShownNextWords& shown, ImVec2 at, float width, bool names) {
    ImGui::SetCursorScreenPos({at.x, at.y + context.px((kTextRow - 30) / 2)});
    std::string likeliest;
    if (names && !shown.words->likeliest.empty()) {
        const NextWord& word = shown.words->likeliest.front();
        likeliest = elide_shown_middle(context.theme.fonts.body, "", shown_token(word.text, word.id), context.px(width - 16), true);
    }
    if (!begin_menu_icon(context.ui(), "##more_words", Icon::More, likeliest, width,
                         {.tooltip = "More candidates, the sampling temperature, and Write on (Y)."}))
        return;
    draw_list(context, shown);
    end_menu_button();
}

}  // namespace

float draw_next_words(PanelContext& context, float right, float y) {
    if (!writes(context)) return right;
    const auto& [colors, fonts, scale] = context.theme;
    const std::size_t places = candidates_in_row(ImGui::GetIO().DisplaySize.x / scale);
    const float menu = places == 0 ? kCandidate : kMenuButton;
    const float menu_x = right - context.px(menu);
    const float first = menu_x - static_cast<float>(places) * context.px(kCandidate + kNextGap);
    const float left = first - (places == 0 ? 0 : context.px(kNextLabel));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddLine({left - context.px(kLineRoom), y + context.px(5)}, {left - context.px(kLineRoom), y + context.px(kTextRow - 5)},
                 colors.line);
    const float begin = left - context.px(2 * kLineRoom);
    if (const std::string_view why = no_next_word(context); !why.empty()) {
        const std::string_view words = row_says_no_next_word(context) ? why : "no next word";
        draw_text_wrapped(list, fonts.label, {left, y + context.px(3)}, right - left, colors.muted, words);
        return begin;
    }
    if (places > 0)
        draw_text_in(list, fonts.label, {left, y}, {first, y + context.px(kTextRow)}, {0, 0.5F}, colors.muted,
                     context.view.compare.on()                  ? "of B"
                     : weights_origin(context.document).learned ? "next"
                                                                : "random:");
    const ShownNextWords shown = shown_next_words(context);
    if (shown.words == nullptr) {
        draw_text_in(list, fonts.label, {first, y}, {right, y + context.px(kTextRow)}, {0, 0.5F}, colors.muted,
                     elide(fonts.label, shown.problem, right - first));
        return begin;
    }
    context.view.drawn.next_words = {context.states.shown, shown.act};
    const auto& likeliest = shown.words->likeliest;
    float x = first;
    for (std::size_t i = 0; i < std::min(places, likeliest.size()); ++i, x += context.px(kCandidate + kNextGap))
        draw_candidate(context, likeliest[i], likeliest.front().probability, {x, y + context.px(2)},
                       {context.px(kCandidate), context.px(kTextRow - 4)}, shown.act);
    draw_menu(context, shown, {menu_x, y}, menu, places == 0);
    if (shown.changed) list.AddRectFilled({first, y}, {menu_x, y + context.px(kTextRow)}, with_alpha(colors.window, 0.6F));
    return begin;
}

}  // namespace attn::app
