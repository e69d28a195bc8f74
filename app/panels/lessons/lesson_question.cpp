#include "app/panels/lessons/lesson_question.hpp"

#include <fmt/format.h>

#include "app/panels/lessons/caption_layout.hpp"
#include "app/panels/lessons/caption_view.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kAnswerHeight = 36, kAnswerGap = 10, kAnswerPadding = 12, kKeyWidth = 26, kAboveAnswers = 8, kVerdictHeight = 32;

const LessonQuestion& question_of(const PanelContext& context) { return *context.view.lesson.current().question; }

/// A slightly heavier font than the caption's.
ImFont* answer_font(const PanelContext& context) {
    const Fonts& fonts = context.theme.fonts;
    return caption_font(context) == fonts.body ? fonts.strong : fonts.title;
}

std::vector<std::string> question_lines(const PanelContext& context, float width) {
    return lines_of(caption_font(context), question_of(context).text, width);
}

std::vector<float> answer_widths(const PanelContext& context, float room) {
    std::vector<float> widths;
    for (const LessonAnswer& answer : question_of(context).answers)
        widths.push_back(std::min(text_width(answer_font(context), answer.text) + context.px(2 * kAnswerPadding + kKeyWidth), room));
    return widths;
}

void draw_answer(PanelContext& context, std::size_t place, ImVec2 at, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string &text = question_of(context).answers[place].text, key = std::to_string(place + 1);
    const std::string tooltip = fmt::format("Answer {} (key {}), then see what is true.", key, key);
    const Item item =
        item_at(ui, fmt::format("{}##answer{}", text, place).c_str(), at, {width, context.px(kAnswerHeight)}, {.tooltip = tooltip});
    const ImVec2 max{at.x + width, at.y + context.px(kAnswerHeight)};
    list.AddRectFilled(at, max, item.hovered ? mix(colors.raised, colors.accent, 0.18F) : colors.raised, context.px(6));
    list.AddRect(at, max, item.hovered ? colors.accent : colors.line, context.px(6));
    draw_focus_ring(ui, item, context.px(6));
    draw_text_in(list, fonts.mono_body, {at.x + context.px(kAnswerPadding), at.y}, {max.x, max.y}, {0, 0.5F}, colors.muted, key);
    const float x = at.x + context.px(kAnswerPadding + kKeyWidth);
    draw_text_in(list, answer_font(context), {x, at.y}, max, {0, 0.5F}, colors.text,
                 elide(answer_font(context), text, max.x - x - context.px(kAnswerPadding) + 1));
    if (item.pressed) answer_lesson_question(context.view, place);
}

/// The correct answer, once it is known.
const LessonAnswer* truth(const PanelContext& context) {
    if (context.view.lesson.look_pending || !context.ready() || !context.snapshot.problem.empty()) return nullptr;
    const auto right = right_answer(question_of(context), context.snapshot, context.training);
    return right ? &question_of(context).answers[*right] : nullptr;
}

bool has_verdict(const PanelContext& context) {
    const LessonView& lesson = context.view.lesson;
    return lesson.open() && lesson.current().question && !lesson.asking();
}

}  // namespace

float question_height(const PanelContext& context, float width) {
    const std::vector<PlacedBox> answers = lay_out_boxes(answer_widths(context, width), context.px(kAnswerGap), width);
    const auto rows = static_cast<float>(answers.back().line + 1);
    return static_cast<float>(question_lines(context, width).size()) * caption_line_height(context) + context.px(kAboveAnswers) +
           rows * context.px(kAnswerHeight + kAnswerGap) - context.px(kAnswerGap);
}

void draw_question(PanelContext& context, ImVec2 at, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    float y = at.y;
    for (const std::string& line : question_lines(context, width)) {
        draw_text(*ImGui::GetWindowDrawList(), caption_font(context), {at.x, y}, colors.text, line);
        y += caption_line_height(context);
    }
    y += context.px(kAboveAnswers);
    const std::vector<float> widths = answer_widths(context, width);
    const std::vector<PlacedBox> boxes = lay_out_boxes(widths, context.px(kAnswerGap), width);
    for (std::size_t i = 0; i < boxes.size() && context.view.lesson.asking(); ++i)
        draw_answer(context, i, {at.x + boxes[i].x, y + static_cast<float>(boxes[i].line) * context.px(kAnswerHeight + kAnswerGap)},
                    widths[i]);
}

float verdict_height(const PanelContext& context) { return has_verdict(context) ? context.px(kVerdictHeight) : 0; }

void draw_verdict(const PanelContext& context, ImVec2 at, float width) {
    if (!has_verdict(context)) return;
    const auto& [colors, fonts, scale] = context.theme;
    const LessonAnswer* right = truth(context);
    const std::optional<std::size_t> expected = context.view.lesson.expected.at(context.view.lesson.step);
    const LessonAnswer* guess = expected ? &question_of(context).answers[*expected] : nullptr;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float x = at.x;
    const auto say = [&](ImFont* font, Color color, const std::string& text) {
        const std::string fitting = elide(font, text, at.x + width - x);
        draw_text_in(list, font, {x, at.y}, {at.x + width, at.y + context.px(kVerdictHeight - 8)}, {0, 0.5F}, color, fitting);
        x += text_width(font, fitting) + context.px(10);
    };
    if (right != nullptr && right == guess) {
        draw_icon(list, Icon::Check, {x + context.px(8), at.y + context.px((kVerdictHeight - 8) / 2)}, context.px(14), colors.good);
        x += context.px(22);
    }
    say(answer_font(context), right != nullptr && right == guess ? colors.good : colors.text, right == nullptr ? "…" : right->text);
    if (guess != nullptr && right != nullptr)
        say(fonts.body, colors.muted, guess == right ? "as you expected" : fmt::format("You expected “{}”", guess->text));
}

}  // namespace attn::app
