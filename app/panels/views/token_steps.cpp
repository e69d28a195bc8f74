#include "app/panels/views/token_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/panels/kit/scrolled.hpp"
#include "app/panels/state/path_columns.hpp"
#include "app/panels/views/token_cells.hpp"
#include "app/panels/views/token_piece.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

using Cell = TokenPath::Cell;

constexpr float kStepRow = 25, kStepUnit = 24, kCandidateRow = 21, kStepNumber = 30, kStepButton = 32, kStepSlider = 200;
/// How far outside of the picture's area, near the panel's edge, the scrollbar of the steps is.
constexpr float kBarOutside = 12;

float first_column(const TokenPath::Word& word) { return std::floor(word.first); }

/// The columns of a word in its step rows.
PathColumns columns_of_word(const PanelContext& context, const TokenPath& path, const TokenPath::Word& word, float room) {
    std::vector<float> units;
    const float before = first_column(word);
    for (auto i = static_cast<std::size_t>(before); i < std::min(static_cast<std::size_t>(std::ceil(word.last)), path.columns.size()); ++i)
        units.push_back(path.columns[i].width);
    PathColumns columns(std::move(units), room, context.px(kLeastUnit), context.px(kStepUnit));
    for (const TokenPath::Step& step : word.steps)
        for (const Cell& part : step.parts)
            columns.widen(part.first - before, part.last - before, needed(context, context.theme.fonts.mono_tiny, piece_text(part.text)));
    columns.settle();
    return columns;
}

/// Scrolls to a step in `high` pixels, and to the part it made.
void reveal_step(const PlacedColumns& columns, const TokenPath::Word& word, std::size_t shown, float line, float high) {
    if (!looks_elsewhere(static_cast<int>(word.first) * 4096 + static_cast<int>(shown))) return;
    const float top = line * static_cast<float>(shown);
    if (top < ImGui::GetScrollY()) ImGui::SetScrollY(top);
    else if (top + line > ImGui::GetScrollY() + high) ImGui::SetScrollY(top + line - high);
    const TokenPath::Step& step = word.steps[shown];
    if (step.made < 0) return;
    const Cell& made = step.parts[static_cast<std::size_t>(step.made)];
    const float begin = columns.columns.at(made.first - first_column(word)), end = columns.columns.at(made.last - first_column(word));
    const float room = ImGui::GetWindowWidth();
    if (begin < ImGui::GetScrollX() || end > ImGui::GetScrollX() + room * 0.6F) ImGui::SetScrollX(std::max(begin - room * 0.3F, 0.F));
}

/// Chooses a step by its number.
void draw_step_slider(PanelContext& context, const TokenPath::Word& word, std::size_t index, float width) {
    const std::size_t first = first_number(word), last = word.steps.size() - 1 + first;
    ImGui::BeginChild("##step_number", {width, context.px(kStepButton + 8)}, false,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav |
                          ImGuiWindowFlags_NoBackground);
    int number = static_cast<int>(index + first);
    if (slider_row(context.ui(), "step", number,
                   {.min = static_cast<double>(first),
                    .max = static_cast<double>(last),
                    .shown = fmt::format("{} of {}", number, last),
                    .notes = {.tooltip = "Which step is shown."}}))
        context.view.token_path.step = static_cast<std::size_t>(number) - first;
    ImGui::EndChild();
}

void draw_candidates(const PanelContext& context, const TokenPath& path, const TokenPath::Step& step, ImVec2 at, float width,
                     float bottom) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::size_t count = step.candidates.size(),
                      fit = static_cast<std::size_t>(std::max((bottom - at.y - context.px(22)) / context.px(kCandidateRow), 0.F)),
                      shown = std::min(count, fit);
    if (shown == 0) return;
    const std::string title = shown == count ? path.candidates_title : fmt::format("{}, {} of {}", path.candidates_title, shown, count);
    draw_spaced_text(list, fonts.small, at, colors.muted, elide(fonts.small, title, width * 0.9F), context.px(0.5F));
    const float label = std::min(width * 0.36F, context.px(130)), number = context.px(76), line = context.px(kCandidateRow);
    float y = at.y + context.px(22);
    for (std::size_t i = 0; i < shown; ++i) {
        const TokenPath::Candidate& candidate = step.candidates[i];
        const Color ink = candidate.chosen ? colors.chosen_text : colors.muted;
        draw_text_in(list, fonts.mono, {at.x, y}, {at.x + label, y + line}, {1, 0.5F}, ink,
                     elide(fonts.mono, piece_text(candidate.text, candidate.joined_with), label));
        const float left = at.x + label + context.px(10), room = width - label - number - context.px(10);
        list.AddRectFilled({left, y + context.px(5)},
                           {left + std::max(room * static_cast<float>(candidate.size), context.px(2)), y + line - context.px(5)},
                           candidate.chosen ? colors.chosen : colors.line, context.px(2));
        draw_text_in(list, fonts.mono, {left + room, y}, {at.x + width, y + line}, {1, 0.5F}, ink, candidate.number);
        y += line;
    }
}

/// Draws a step: what it did, what it chose from, and buttons to its neighbours.
void draw_step(PanelContext& context, const TokenPath& path, const TokenPath::Word& word, std::size_t index, const Box& area) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const TokenPath::Step& step = word.steps[index];
    std::string title = piece_text(step.what, step.joined_with);
    if (step.made >= 0 && !step.joined_with.empty()) title += " → " + piece_text(step.parts[static_cast<std::size_t>(step.made)].text);
    draw_text(list, fonts.mono_body, area.min, colors.chosen_text, elide(fonts.mono_body, title, area.width()));
    const float y = area.min.y + context.px(30);
    // Room for two lines, so that the buttons stay in place when the next step's sentence is longer or shorter.
    const float high = std::max(draw_text_wrapped(list, fonts.label, {area.min.x, y}, area.width(), colors.muted, step.sentence),
                                wrapped_height(fonts.label, area.width(), "first\nsecond"));
    ImGui::SetCursorScreenPos({area.min.x, y + high + context.px(12)});
    TokenPathState& state = context.view.token_path;
    const auto turn = [&](const char* id, Icon icon, bool possible, std::size_t to, std::string_view tooltip) {
        if (button(context.ui(), id,
                   {.width = kStepButton,
                    .icon = icon,
                    .notes = {.tooltip = tooltip, .disabled = possible ? "" : "There are no more steps."}}))
            state.step = to;
        ImGui::SameLine(0, context.px(6));
    };
    turn("##earlier", Icon::Previous, index > 0, index - 1, "Previous step.");
    turn("##later", Icon::Next, index + 1 < word.steps.size(), index + 1, "Next step.");
    if (word.steps.size() > 1) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::SetCursorScreenPos({at.x + context.px(8), at.y - context.px(4)});
        draw_step_slider(context, word, index, std::clamp(area.max.x - at.x - context.px(8), context.px(80), context.px(kStepSlider)));
    }
    draw_candidates(context, path, step, {area.min.x, y + high + context.px(50)}, area.width(), area.max.y);
}

std::string step_text(const TokenPath::Step& step) { return piece_text(step.what, step.joined_with); }

void draw_step_row(PanelContext& context, const PlacedColumns& columns, const TokenPath::Word& word, std::size_t index, bool chosen,
                   const Box& row, float words_at) {
    const TokenPath::Step& step = word.steps[index];
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImGui::PushID(static_cast<int>(index));
    const Item item = item_at(context.ui(), "##step", row.min, {row.width(), row.height()}, {.tooltip = "Show this step."});
    ImGui::PopID();
    if (item.pressed) context.view.token_path.step = index;
    if (chosen || item.hovered) list.AddRectFilled(row.min, row.max, with_alpha(colors.text, chosen ? 0.07F : 0.03F), context.px(4));
    draw_focus_ring(context.ui(), item, context.px(4));
    draw_text_in(list, fonts.mono_small, row.min, {row.min.x + context.px(22), row.max.y}, {1, 0.5F}, colors.faint,
                 std::to_string(index + first_number(word)));
    const float gap = std::max(1.F, context.px(1)), inset = context.px(3), before = first_column(word);
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
        const Cell& part = step.parts[i];
        const ImVec2 min{columns.at(part.first - before) + gap, row.min.y + inset},
            max{columns.at(part.last - before) - gap, row.max.y - inset};
        const bool made = static_cast<std::int32_t>(i) == step.made;
        if (made && chosen) list.AddRectFilled(min, max, colors.chosen, context.px(4));
        else list.AddRect(min, max, made ? colors.accent : colors.line, context.px(4), 0, made ? context.px(1.5F) : 1.F);
        draw_cell_text(context, min, max, piece_text(part.text), made && chosen ? ink_on(colors.chosen) : colors.text, true);
    }
    const Color ink = chosen ? colors.chosen_text : colors.muted;
    const float number = std::max(text_width(fonts.mono_small, step.number), context.px(kStepNumber)) + context.px(14);
    draw_text_in(list, fonts.mono_small, {words_at, row.min.y}, {row.max.x - number, row.max.y}, {0, 0.5F}, ink,
                 elide(fonts.mono_small, step_text(step), row.max.x - number - words_at));
    draw_text_in(list, fonts.mono_small, row.min, {row.max.x - context.px(8), row.max.y}, {1, 0.5F}, ink, step.number);
}

/// The width of what is written beside the steps of a word.
float step_words_width(const PanelContext& context, const TokenPath::Word& word, float most) {
    ImFont* font = context.theme.fonts.mono_small;
    float widest = 0;
    for (const TokenPath::Step& step : word.steps)
        widest = std::max(widest, text_width(font, step_text(step)) + std::max(text_width(font, step.number), context.px(kStepNumber)));
    return std::min(widest + context.px(24), most);
}

/// Draws all steps of a word, one per row; scrolls by whole rows if there are many.
void draw_step_rows(PanelContext& context, const TokenPath& path, const TokenPath::Word& word, std::size_t shown, const Box& area) {
    const float line = context.px(kStepRow), index = context.px(30), room = area.width();
    const float words = step_words_width(context, word, std::min(room * 0.42F, context.px(190)));
    const PathColumns measured = columns_of_word(context, path, word, room - index - context.px(16) - words);
    const float wide = index + measured.at(word.last - first_column(word)) + context.px(16) + words;
    const float bar = wide > room + 1 ? ImGui::GetStyle().ScrollbarSize : 0;
    if (bar == 0)  // otherwise the numbers move
        draw_text_in(*ImGui::GetWindowDrawList(), context.theme.fonts.caption, {area.min.x, area.min.y - context.px(20)},
                     {area.max.x - context.px(8), area.min.y}, {1, 0}, context.theme.colors.faint, path.number_title);
    const float fit = std::max(std::floor((area.height() - bar) / line), 1.F);
    const float high = std::min(fit, static_cast<float>(word.steps.size())) * line + bar;
    ImGui::SetCursorScreenPos(area.min);
    const Scrolled scrolled(context.ui(), "##path_steps", {room + context.px(kBarOutside), high},
                            {.flags = bar > 0 ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None,
                             .padded = false,
                             .edges = {.depth = kFade, .sideways = true}});
    const ImVec2 at = ImGui::GetCursorScreenPos();
    // The word's columns start after the step number.
    const PlacedColumns columns{measured, at.x + index};
    const float words_at = columns.at(word.last - first_column(word)) + context.px(16), right = at.x + std::max(room, wide);
    ImGui::Dummy({right - at.x - 1, line * static_cast<float>(word.steps.size())});
    ImGui::SetCursorScreenPos(at);  // rows return to it, and would otherwise add space below the last
    reveal_step(columns, word, shown, line, high - bar);
    const auto top = static_cast<std::size_t>(std::max((ImGui::GetWindowDrawList()->GetClipRectMin().y - at.y) / line, 0.F));
    for (std::size_t i = top; i < word.steps.size(); ++i) {
        const float y = at.y + static_cast<float>(i) * line;
        if (y > ImGui::GetWindowDrawList()->GetClipRectMax().y) break;
        draw_step_row(context, columns, word, i, i == shown, {{at.x, y}, {right, y + line}}, words_at);
    }
}

}  // namespace

std::size_t first_number(const TokenPath::Word& word) { return word.steps.front().made < 0 ? 0 : 1; }

void draw_word(PanelContext& context, const TokenPath& path, std::size_t index, const Box& area) {
    if (index >= path.words.size()) return;
    const auto& [colors, fonts, scale] = context.theme;
    const TokenPath::Word& word = path.words[index];
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddLine(area.min, {area.max.x, area.min.y}, colors.line);
    const float top = area.min.y + context.px(12);
    if (word.steps.empty()) {
        draw_text(list, fonts.label, {area.min.x, top}, colors.muted, "A special token: it is taken as it is.");
        return;
    }
    const float left = std::clamp(area.width() * 0.42F, context.px(240), context.px(420));
    const std::size_t shown = std::min(context.view.token_path.step.value_or(word.steps.size() - 1), word.steps.size() - 1);
    draw_step(context, path, word, shown, {{area.min.x, top}, {area.min.x + left - context.px(24), area.max.y}});
    draw_text(list, fonts.caption, {area.min.x + left, top}, colors.faint,
              elide(fonts.caption, fmt::format("“{}” step by step", piece_text(word.text)), area.width() - left - context.px(48)));
    draw_step_rows(context, path, word, shown, {{area.min.x + left, top + context.px(20)}, area.max});
}

}  // namespace attn::app
