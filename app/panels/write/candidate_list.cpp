#include "app/panels/write/candidate_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/panels/write/writing_actions.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/hatching.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {
namespace {

constexpr float kRow = 24, kWord = 118, kFigures = 66, kCutRow = 22;

/// Leaves room for a scrollbar.
float row_width(const PanelContext& context) { return ImGui::GetContentRegionAvail().x - context.px(6); }

/// The tokens that already follow the shown moment.
struct Following {
    std::vector<std::int32_t> ids;  ///< in all branches
    std::int32_t on_branch = -1;    ///< in the shown branch
};

Following following(const Writing& writing) {
    Following next;
    for (const std::int64_t place : continuations(writing, writing.shown)) {
        const std::int32_t id = writing.tokens[static_cast<std::size_t>(place)].id;
        next.ids.push_back(id);
        if (leads_through(writing, writing.end, place)) next.on_branch = id;
    }
    return next;
}

std::string word_tooltip(const PanelContext& context, const NextWord& word, const WordList& list) {
    std::string words = fmt::format("“{}”, id {}\nthe model: {}", shown_token(word.text, word.id), word.id, share_words(word.predicted));
    if (list.drawn) {
        words += fmt::format("\nat this temperature: {}\n", share_words(word.probability));
        words += word.cut == Cut::None ? "drawn with: " + share_words(word.chance) : cut_words(word.cut, context.document.sampling);
    }
    return list.click ? words + "\n" + list.click(word) : words;
}

/// Draws a word with its bar, its probability, and its probability of being drawn by the sampler.
void draw_word(PanelContext& context, const NextWord& word, double largest, const WordList& what) {
    const auto& colors = context.theme.colors;
    const auto& fonts = context.theme.fonts;
    ImGui::PushID(word.id);
    const Item item = begin_item(context.ui(), "##candidate", {row_width(context), context.px(kRow)}, {.explains_itself = true});
    if (item.hovered) tooltip_for_last(context.ui(), word_tooltip(context, word, what));
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool kept = !what.drawn || word.cut == Cut::None;
    const float mark = what.mark ? what.mark(word) : 0;
    if (item.hovered) list.AddRectFilled(item.min, item.max, colors.raised, context.px(4));
    const Color shown = has_part_of_character(word.text) ? colors.axis_d : colors.text;
    const Color ink = item.hovered ? colors.accent : kept ? shown : colors.faint;
    const float columns = what.drawn ? 2 : 1;
    const float word_end = item.min.x + std::min(context.px(kWord), item.width() * 0.36F);
    const float bar_end = item.max.x - columns * context.px(kFigures);
    draw_text_in(list, fonts.mono_body, {item.min.x + context.px(14), item.min.y}, {word_end, item.max.y}, {0, 0.5F}, ink,
                 elide(fonts.mono_body, shown_token(word.text, word.id), word_end - item.min.x - context.px(20)));
    if (mark > 0)
        list.AddCircleFilled({item.min.x + context.px(6), (item.min.y + item.max.y) / 2}, context.px(mark >= 1 ? 4 : 2.5F),
                             mark >= 1 ? colors.chosen : colors.accent, 16);
    const ImVec2 low{word_end, item.min.y + context.px(6)}, high{bar_end, item.max.y - context.px(6)};
    list.AddRectFilled(low, high, colors.raised, context.px(3));
    if (largest > 0)
        value_bar(list, low, high, word.probability / largest, kept ? colors.accent : mix(colors.raised, colors.faint, 0.55F),
                  context.px(3));
    if (!kept) draw_hatching(list, context.theme, low, high);
    const auto figure = [&](float left, double value, Color color) {
        draw_text_in(list, fonts.mono_small, {left, item.min.y}, {left + context.px(kFigures), item.max.y}, {1, 0.5F}, color,
                     share_words(value));
    };
    figure(bar_end, word.probability, kept ? colors.text : colors.faint);
    if (!kept) draw_text_in(list, fonts.mono_small, {bar_end, item.min.y}, item.max, {1, 0.5F}, colors.faint, "cut");
    else if (what.drawn) figure(bar_end + context.px(kFigures), word.chance, colors.muted);
    draw_focus_ring(context.ui(), item, context.px(4));
    if (item.pressed) what.choose(word);
}

/// Draws the line below which the sampler draws nothing, with the setting responsible.
void draw_cut(const PanelContext& context, Cut cut) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, y = at.y + context.px(kCutRow) / 2;
    const std::string words = cut_name(cut, context.document.sampling) + " cuts here";
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float from = at.x + text_width(fonts.caption, words) + context.px(22);
    draw_text_in(list, fonts.caption, {at.x + context.px(14), at.y}, {from, at.y + context.px(kCutRow)}, {0, 0.5F}, colors.chosen_text,
                 words);
    list.AddRectFilled({from, y - context.px(1)}, {at.x + width, y + context.px(1)}, colors.chosen);
    ImGui::Dummy({width, context.px(kCutRow)});
}

/// Such as "7 of 503 can be drawn (92 %)".
std::string summary_words(const NextWords& words) {
    const auto all = words.others + static_cast<std::int64_t>(words.likeliest.size());
    if (words.first_cut == Cut::None) return fmt::format("all {} can be drawn", format_count(all));
    return fmt::format("{} of {} can be drawn ({})", format_count(words.kept), format_count(all), percent_words(words.kept_share));
}

/// Draws the summary and the column headings.
void draw_head(const PanelContext& context, const NextWords& words, bool drawn) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float end = at.x + row_width(context), column = context.px(kFigures), height = context.px(20);
    const float likely_end = drawn ? end - column : end;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (drawn) draw_text_in(list, fonts.caption, {end - column, at.y}, {end, at.y + height}, {1, 0.5F}, colors.faint, "chance");
    draw_text_in(list, fonts.caption, {likely_end - column, at.y}, {likely_end, at.y + height}, {1, 0.5F}, colors.faint, "model");
    if (drawn)
        draw_text_in(list, fonts.caption, at, {likely_end - column, at.y + height}, {0, 0.5F}, colors.faint,
                     elide(fonts.caption, summary_words(words), likely_end - column - at.x));
    ImGui::Dummy({1, height});
}

}  // namespace

void draw_words(PanelContext& context, const NextWords& words, const WordList& list) {
    const auto& [colors, fonts, scale] = context.theme;
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});  // no strips between rows that are not clickable
    draw_head(context, words, list.drawn);
    const double largest = words.likeliest.empty() ? 0 : words.likeliest.front().probability;
    Cut before = Cut::None;
    for (const NextWord& word : words.likeliest) {
        if (list.drawn && word.cut != before && word.cut != Cut::None) draw_cut(context, word.cut);
        before = word.cut;
        draw_word(context, word, largest, list);
    }
    gap(context.ui(), 4);
    if (words.others > 0)
        text_line(context.ui(), fonts.caption, colors.faint,
                  fmt::format("{} others: {} together", format_count(words.others), percent_words(words.rest)));
    ImGui::PopStyleVar();
}

void draw_candidates(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const auto [words, changed, may_act, problem] = shown_next_words(context);
    section_heading(context.ui(), "What may come next");
    if (words == nullptr) {
        paragraph(context.ui(), fonts.label, colors.muted, problem.empty() ? "Computing …" : problem);
        return;
    }
    const Following next = following(shown_writing(context));
    const auto known = [&next](const NextWord& word) { return std::find(next.ids.begin(), next.ids.end(), word.id) != next.ids.end(); };
    WordList list;
    const bool acts = may_act;  // a structured binding cannot be captured by every compiler
    context.view.drawn.candidates = {context.states.shown, acts};
    list.choose = [&context, acts](const NextWord& word) {
        if (acts) write_word(context, word);
    };
    list.click = [&](const NextWord& word) -> std::string {
        return !acts              ? "It belongs to the text that is shown."
               : known(word)      ? "Click: go to it."
               : next.ids.empty() ? "Click: write it."
                                  : "Click: write it, as a branch.";
    };
    list.mark = [&](const NextWord& word) { return word.id == next.on_branch ? 1.F : known(word) ? 0.5F : 0.F; };
    const ImVec2 begin = ImGui::GetCursorScreenPos();
    draw_words(context, *words, list);
    if (changed)
        ImGui::GetWindowDrawList()->AddRectFilled(begin, {begin.x + ImGui::GetContentRegionAvail().x, ImGui::GetCursorScreenPos().y},
                                                  with_alpha(colors.window, 0.6F));
}

}  // namespace attn::app
