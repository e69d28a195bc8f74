#pragma once
/// Plays lessons: opens them, moves between steps, draws the strip with the caption, and restores the document afterwards.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Opens a lesson at a step, by default where it was left. The current document and view are restored when it is closed.
void open_lesson(ViewState& view, const Document& now, std::shared_ptr<const Lesson> lesson);
void open_lesson(ViewState& view, const Document& now, std::shared_ptr<const Lesson> lesson, std::size_t step);
/// Opens the lesson that introduces the program.
void open_tour(PanelContext& context);
/// By name, the steps at which lessons were left unfinished; the open one counts as left where it is.
std::map<std::string, std::size_t> lessons_left(const LessonView& state);
/// Closes the lesson and restores the document and the view.
void close_lesson(PanelContext& context);

/// Does nothing if there is no such step.
void go_to_lesson_step(ViewState& view, std::size_t step);
/// Shows the step whose question is waiting, otherwise the next step.
void next_lesson_step(ViewState& view);
void previous_lesson_step(ViewState& view);
/// Answers the current step's question and shows the step. None: without a guess. Does nothing if no question or no such answer exists.
void answer_lesson_question(ViewState& view, std::optional<std::size_t> answer);
/// Undoes the user's changes since the step was shown.
void reset_lesson_step(PanelContext& context);
/// Whether there are such changes.
bool lesson_step_is_changed(const PanelContext& context);

/// To be called once per frame before drawing.
void keep_up_with_lesson(PanelContext& context);

/// Height of the strip in pixels at this width; 0 if no lesson is open.
float lesson_strip_height(const PanelContext& context, float width);
/// Draws the strip: title, caption, progress and buttons.
void draw_lesson_strip(PanelContext& context);
/// Draws the button of the lessons' menu at the cursor.
void draw_lesson_menu(PanelContext& context);
/// Draws its items inside an open menu.
void draw_lesson_items(PanelContext& context);

}  // namespace attn::app
