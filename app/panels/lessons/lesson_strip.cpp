#include <fmt/format.h>

#include <algorithm>

#include "app/panels/lessons/caption_view.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/lessons/lesson_question.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kPaddingX = 20, kPaddingY = 14, kGap = 24;
constexpr float kTitleWidth = 188, kButtonsWidth = 196, kWidestCaption = 1120;
constexpr float kLeast = 96, kTrainingLine = 30;

struct StripLayout {
    float caption_x = 0, caption_width = 0;  ///< in pixels from the strip's left edge, inside the padding
};

StripLayout lay_out(const PanelContext& context, float width) {
    // On a narrow window the title gets less space.
    const float title = width < context.px(1000) ? context.px(120) : context.px(kTitleWidth);
    StripLayout layout;
    layout.caption_x = title + context.px(kGap);
    layout.caption_width =
        std::clamp(width - layout.caption_x - context.px(kGap + kButtonsWidth), context.px(120), context.px(kWidestCaption));
    return layout;
}

/// The status of the step's training run; "" if it has none or has ended.
std::string training_words(const PanelContext& context) {
    const LessonView& state = context.view.lesson;
    if (state.goal.asks()) return "This step trains a model, which ends the run in progress.";
    if (!state.shown().training) return "";
    const RunStatus& run = *context.training.status;
    if (run.phase == TrainingPhase::Failed) return run.message;
    if (state.goal.done() && same_model(run.settings, state.shown().training->run))
        if (std::string missing = missing_moment(state.shown(), run); !missing.empty()) return missing;
    if (run.phase != TrainingPhase::Running) return "";
    return fmt::format("training: step {} of at most {}", run.step, run.settings.stop.steps);
}

void draw_training_line(PanelContext& context, ImVec2 at, float width) {
    const Ui ui = context.ui();
    LessonView& state = context.view.lesson;
    const std::string words = training_words(context);
    if (words.empty()) return;
    const float text = text_width(context.theme.fonts.label, words);
    draw_text_in(*ImGui::GetWindowDrawList(), context.theme.fonts.label, at, {at.x + width, at.y + context.px(26)}, {0, 0.5F},
                 context.theme.colors.muted, words);
    ImGui::SetCursorScreenPos({at.x + text + context.px(14), at.y});
    if (state.goal.asks()) {
        if (button(ui, "Start it##lesson_train",
                   {.look = ButtonLook::Accent,
                    .height = 26,
                    .notes = {.tooltip = "Replaces the training run in progress with the lesson's."}})) {
            state.may_train = true;
            state.goal.allow();
        }
        return;
    }
    const RunStatus& run = *context.training.status;
    if (run.phase != TrainingPhase::Running) return;
    ImGui::SetCursorScreenPos({at.x + text + context.px(14), at.y + context.px(10)});
    progress_bar(ui, static_cast<float>(run.step) / static_cast<float>(std::max<std::int64_t>(run.settings.stop.steps, 1)),
                 std::min(width / context.theme.scale - text / context.theme.scale - 14, 320.F));
}

void draw_show_button(PanelContext& context) {
    if (button(context.ui(), "Show##lesson_show",
               {.look = ButtonLook::Accent,
                .width = 104,
                .height = 26,
                .icon = Icon::Eye,
                .notes = {.tooltip = "Shows the answer without a guess (→, Page Down)."}}))
        answer_lesson_question(context.view, std::nullopt);
}

void draw_reset_button(PanelContext& context) {
    const bool changed = lesson_step_is_changed(context);
    if (button(context.ui(), "Reset step##lesson_reset",
               {.look = ButtonLook::Flat,
                .width = 104,
                .height = 26,
                .icon = Icon::Reset,
                .notes = {.tooltip = "Undoes what you have changed in this step (Backspace).",
                          .disabled = changed ? "" : "Change whatever you like; this restores the step."}}))
        reset_lesson_step(context);
}

/// Back, progress and next; below them the less common buttons.
void draw_buttons(PanelContext& context, ImVec2 at) {
    const Ui ui = context.ui();
    LessonView& state = context.view.lesson;
    const std::size_t count = state.lesson->steps.size();
    const bool first = state.step == 0, last = state.step + 1 == count, asking = state.asking();
    ImGui::SetCursorScreenPos(at);
    if (button(ui, "##lesson_back",
               {.width = 40,
                .height = 34,
                .icon = Icon::Previous,
                .notes = {.tooltip = "Previous step (←, Page Up)", .disabled = first ? "This is the first step." : ""}}))
        previous_lesson_step(context.view);
    const std::string place = fmt::format("{} / {}", state.step + 1, count);
    draw_text_in(*ImGui::GetWindowDrawList(), context.theme.fonts.mono_body, {at.x + context.px(44), at.y},
                 {at.x + context.px(110), at.y + context.px(34)}, {0.5F, 0.5F}, context.theme.colors.text, place);
    ImGui::SetCursorScreenPos({at.x + context.px(114), at.y});
    // It goes on wherever it is, also from a question that nobody has answered: a click in the same place always does the same.
    const bool pressed = button(ui, last ? "Finish##lesson_next" : "Next##lesson_next",
                                {.look = asking ? ButtonLook::Plain : ButtonLook::Accent,
                                 .width = kButtonsWidth - 114,
                                 .height = 34,
                                 .icon = last ? Icon::Check : Icon::Next,
                                 .notes = {.tooltip = last     ? "Closes the lesson and restores what you had before."
                                                      : asking ? "Next step, without an answer"
                                                               : "Next step (→, Page Down)"}});
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(42)});
    if (asking) draw_show_button(context);
    else draw_reset_button(context);
    ImGui::SetCursorScreenPos({at.x + context.px(114), at.y + context.px(42)});
    const bool closed = button(ui, "Close##lesson_close",
                               {.look = ButtonLook::Flat,
                                .width = kButtonsWidth - 114,
                                .height = 26,
                                .icon = Icon::Close,
                                .notes = {.tooltip = "Leaves the lesson and restores what you had before (Esc)."}});
    if (closed || (pressed && last)) close_lesson(context);
    else if (pressed) go_to_lesson_step(context.view, state.step + 1);
}

}  // namespace

float lesson_strip_height(const PanelContext& context, float width) {
    const LessonView& state = context.view.lesson;
    if (!state.open()) return 0;
    const StripLayout layout = lay_out(context, width - 2 * context.px(kPaddingX));
    float height = 2 * context.px(kPaddingY);
    if (state.asking()) height += question_height(context, layout.caption_width);
    else height += verdict_height(context) + caption_height(context, layout.caption_width);
    if (!training_words(context).empty()) height += context.px(kTrainingLine);
    const float title = wrapped_height(context.theme.fonts.title, layout.caption_x - context.px(kGap), state.current().title) +
                        context.px(22) + 2 * context.px(kPaddingY);
    return std::max({height, title, context.px(kLeast)});
}

void draw_lesson_strip(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const LessonView& state = context.view.lesson;
    const ImVec2 corner = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    const ImVec2 at{corner.x + context.px(kPaddingX), corner.y + context.px(kPaddingY)};
    const float width = size.x - 2 * context.px(kPaddingX);
    const StripLayout layout = lay_out(context, width);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(corner, {corner.x + context.px(4), corner.y + size.y}, colors.accent, context.px(2));
    const float title_width = layout.caption_x - context.px(kGap);
    ImFont* const name = text_width(fonts.label, state.lesson->title) <= title_width ? fonts.label : fonts.caption;
    draw_text(list, name, at, colors.muted, elide(name, state.lesson->title, title_width));
    draw_text_wrapped(list, fonts.title, {at.x, at.y + context.px(20)}, title_width, colors.text, state.current().title);
    const ImVec2 caption{at.x + layout.caption_x, at.y};
    context.view.lesson.quoted.clear();
    float height = 0;
    if (state.asking()) {
        height = question_height(context, layout.caption_width);
        draw_question(context, caption, layout.caption_width);
    } else {
        const float verdict = verdict_height(context);
        height = verdict + caption_height(context, layout.caption_width);
        draw_verdict(context, caption, layout.caption_width);
        draw_caption(context, {caption.x, caption.y + verdict}, layout.caption_width);
    }
    draw_training_line(context, {caption.x, caption.y + height + context.px(6)}, layout.caption_width);
    draw_buttons(context, {corner.x + size.x - context.px(kPaddingX + kButtonsWidth), at.y});
}

void draw_lesson_menu(PanelContext& context) {
    if (!begin_menu_button(context.ui(), "##lessons", "Lessons", 92, {.tooltip = "Short lessons to go through step by step."})) return;
    draw_lesson_items(context);
    end_menu_button();
}

void draw_lesson_items(PanelContext& context) {
    const Ui ui = context.ui();
    const LessonView& state = context.view.lesson;
    if (const auto& made = context.files.made_lesson;
        made != nullptr &&
        menu_item(ui, visible_text(made->title, true), state.open() && state.lesson == made, "The lesson that you are making.",
                  fmt::format("{} step{}", made->steps.size(), made->steps.size() == 1 ? "" : "s")))
        open_lesson(context.view, context.document, made, 0);
    for (const auto& lesson : lessons()) {
        const auto left = state.left_at.find(lesson->name);
        const std::string place = left == state.left_at.end()
                                      ? fmt::format("{} steps", lesson->steps.size())
                                      : fmt::format("left at step {} of {}", left->second + 1, lesson->steps.size());
        const bool is_open = state.open() && state.lesson->name == lesson->name;
        if (menu_item(ui, lesson->title, is_open, lesson->summary, place)) open_lesson(context.view, context.document, lesson);
    }
    if (state.open() && menu_item(ui, "Leave the lesson", false, "Restores what you had before.", "Esc")) close_lesson(context);
}

}  // namespace attn::app
