#include "app/panels/frame/next_row.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/panels/kit/emit.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/hatching.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {
namespace {

constexpr float kNextRowHeight = 44, kNextRowFrom = 680;  // the latter: minimum window height for the row
constexpr float kNextChip = 32, kTemperature = 170, kWriteButton = 104, kCutGap = 8;

/// In the last step of a lesson the learner is asked to change the model's answer, so it must be visible.
bool lesson_hides_answer(const LessonView& lesson) { return lesson.open() && lesson.step + 1 < lesson.lesson->steps.size(); }

/// Whether the next-token candidates are shown.
bool writes(const PanelContext& context) {
    return could_write(context) && context.view.view != View::Train && !lesson_hides_answer(context.view.lesson);
}

std::string shown_word(const PanelContext& context, const NextWord& word) {
    return elide(context.theme.fonts.mono_body, shown_token(word.text, word.id), context.px(110));
}

float next_word_width(const PanelContext& context, const NextWord& word) {
    const float words = text_width(context.theme.fonts.mono_body, shown_word(context, word)),
                figures = text_width(context.theme.fonts.mono_small, percent_words(word.probability));
    return std::max(words + figures + context.px(34), context.px(76));
}

/// A candidate with its probability as text and bar; a click appends it if it `acts`. Returns its width; 0 if it does not fit.
float draw_next_word(PanelContext& context, const NextWord& word, double largest, ImVec2 at, float right, bool acts) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::string text = shown_word(context, word), chance = percent_words(word.probability);
    const float width = next_word_width(context, word), height = context.px(kNextChip);
    if (at.x + width > right) return 0;
    ImGui::PushID(word.id);
    const std::string tooltip =
        !acts && !context.snapshot.problem.empty() ? "This is for the text that is shown; the one asked for cannot be read."
        : !acts                                    ? "This was for the text before the change; the new candidates are being computed."
        : word.cut == Cut::None
            ? fmt::format("A possible next token. Its probability is {}; the sampler draws it with a probability of {}. Click to add it "
                          "to the text.",
                          share_words(word.probability), share_words(word.chance))
            : cut_words(word.cut, context.document.sampling) + " Click to add it to the text anyway.";
    const Item item = item_at(context.ui(), "##next_word", at, {width, height}, {.tooltip = tooltip});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool kept = word.cut == Cut::None;
    list.AddRectFilled(item.min, item.max, item.hovered ? colors.raised : colors.pane, context.px(6));
    if (!kept) draw_hatching(list, context.theme, item.min, item.max);
    list.AddRect(item.min, item.max, item.hovered ? colors.accent : colors.line, context.px(6));
    const float line = item.max.y - context.px(5), left = item.min.x + context.px(9), end = item.max.x - context.px(9);
    draw_text_in(list, fonts.mono_body, {left, item.min.y}, {end, line}, {0, 0.4F},
                 !kept                              ? colors.muted
                 : has_part_of_character(word.text) ? colors.axis_d
                                                    : colors.text,
                 text);
    draw_text_in(list, fonts.mono_small, {left, item.min.y}, {end, line}, {1, 0.4F}, colors.muted, chance);
    if (largest > 0)
        value_bar(list, {left, line - context.px(1)}, {end, line + context.px(2)}, word.probability / largest,
                  kept ? colors.accent : colors.faint, context.px(1.5F));
    draw_focus_ring(context.ui(), item, context.px(6));
    if (item.pressed && acts) write_word(context, word);
    return width;
}

void draw_write_button(PanelContext& context, ImVec2 at) {
    ImGui::SetCursorScreenPos(at);
    const bool on = context.writing;
    const std::string full = no_room_to_write(context);
    if (button(context.ui(), on ? "Stop##write" : "Write on##write",
               {.look = on ? ButtonLook::Plain : ButtonLook::Accent,
                .width = kWriteButton,
                .icon = on ? Icon::Pause : Icon::Play,
                .notes = {.tooltip = on ? "Stops after the current token (Y)."
                                        : "The model continues the text token by token; the Write view shows every step (Y).",
                          .disabled = on ? "" : full}}))
        toggle_writing(context);
}

void draw_temperature(PanelContext& context, ImVec2 at) {
    ImGui::SetCursorScreenPos(at);
    ImGui::BeginChild("##next_temperature", {context.px(kTemperature), context.px(40)}, false,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav |
                          ImGuiWindowFlags_NoBackground);
    SamplingSettings sampling = context.document.sampling;
    const Edited edited =
        slider_row(context.ui(), "temperature##next", sampling.temperature,
                   {.min = 0, .max = 2, .step = 0.05, .notes = {.tooltip = "Below 1 favours the likeliest words, above 1 the others."}});
    if (edited) emit_sampling(context, sampling, "temperature");
    close_gesture(context, edited);
    ImGui::EndChild();
}

}  // namespace

float next_row_height(const PanelContext& context, float window_height) {
    return writes(context) && window_height >= context.px(kNextRowFrom) ? context.px(kNextRowHeight) : 0;
}

float draw_few_next_words(PanelContext& context, float right, float y, float room) {
    constexpr std::size_t kMost = 3;
    if (!writes(context) || !can_write(context) || ImGui::GetIO().DisplaySize.y >= context.px(kNextRowFrom) ||
        context.view.text_row.edit.editing)
        return 0;
    const auto [words, changed, acts, problem] = shown_next_words(context);
    if (words == nullptr) return 0;
    context.view.drawn.next_words = {context.states.shown, acts};
    const float gap = context.px(8);
    float width = 0;
    std::size_t shown = 0;
    for (; shown < std::min(kMost, words->likeliest.size()); ++shown) {
        const float more = next_word_width(context, words->likeliest[shown]) + gap;
        if (width + more + gap > room) break;
        width += more;
    }
    if (shown == 0) return 0;
    float x = right - width + gap;
    for (std::size_t i = 0; i < shown; ++i)
        x += draw_next_word(context, words->likeliest[i], words->likeliest[0].probability, {x, y}, right + 1, acts) + gap;
    return width + gap;
}

void draw_next_row(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float end = at.x + ImGui::GetContentRegionAvail().x, y = at.y + context.px(2);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float x = at.x +
              draw_spaced_text(list, fonts.small, {at.x, y + context.px(10)}, colors.muted,
                               context.view.compare.on() ? "NEXT OF B" : "NEXT", context.px(1)) +
              context.px(14);
    if (!can_write(context))
        return draw_text_in(list, fonts.label, {x, y}, {end, y + context.px(kNextChip)}, {0, 0.5F}, colors.muted,
                            elide(fonts.label,
                                  "The causal mask is off: every token sees the ones that follow, so there is no next one to predict.",
                                  end - x));
    const float slider = end - context.px(kWriteButton + 12 + kTemperature), right = slider - context.px(16);
    draw_write_button(context, {end - context.px(kWriteButton), y + context.px(1)});
    draw_temperature(context, {slider, y - context.px(3)});
    const auto [words, changed, acts, problem] = shown_next_words(context);
    if (words != nullptr) context.view.drawn.next_words = {context.states.shown, acts};
    if (words == nullptr) {
        draw_text_in(list, fonts.label, {x, y}, {right, y + context.px(kNextChip)}, {0, 0.5F}, colors.muted,
                     elide(fonts.label, problem, right - x));
        return;
    }
    const float begin = x;
    const double largest = words->likeliest.empty() ? 0 : words->likeliest.front().probability;
    double named = 0;
    std::size_t shown = 0;
    bool cut = false;
    for (const NextWord& word : words->likeliest) {
        // The sampler truncates everything from here on.
        const float before = !cut && word.cut != Cut::None ? context.px(kCutGap) : 0;
        const float width = draw_next_word(context, word, largest, {x + before, y}, right, acts);
        if (width == 0) break;
        if (before > 0) {
            list.AddRectFilled({x - context.px(1), y - context.px(2)}, {x + context.px(1), y + context.px(kNextChip + 2)}, colors.chosen);
            x += before;
            cut = true;
        }
        x += width + context.px(8);
        named += word.probability;
        ++shown;
    }
    const auto others = words->others + static_cast<std::int64_t>(words->likeliest.size() - shown);
    const SamplingSettings& drawn_with = context.document.sampling;
    std::string hint = others == 0 ? std::string("what may come next · click one to write it")
                                   : fmt::format("{} for {} others", percent_words(std::max(1 - named, 0.0)), format_count(others));
    if (words->first_cut != Cut::None)
        hint = fmt::format("{}: {} can be drawn", cut_name(words->first_cut, drawn_with), format_count(words->kept));
    if (x + text_width(fonts.label, hint) + context.px(8) < right)
        draw_text_in(list, fonts.label, {x + context.px(6), y}, {right, y + context.px(kNextChip)}, {0, 0.5F}, colors.faint, hint);
    if (changed) list.AddRectFilled({begin, y - context.px(2)}, {right, y + context.px(kNextChip + 2)}, with_alpha(colors.window, 0.6F));
}

}  // namespace attn::app
