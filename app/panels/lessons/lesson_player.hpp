#pragma once
/// Playing a lesson: its steps, the strip with its sentences, and the way back.

#include <cstddef>
#include <memory>
#include <optional>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Opens it at a step, or where it was left before; what the person has is kept to be given back.
void open_lesson(ViewState& view, const Document& now, std::shared_ptr<const Lesson> lesson);
void open_lesson(ViewState& view, const Document& now, std::shared_ptr<const Lesson> lesson, std::size_t step);
/// The lesson that shows the program itself, from its beginning.
void open_tour(PanelContext& context);
/// Gives the person back the document and the view that they had.
void close_lesson(PanelContext& context);

/// Nothing happens for a step that the lesson does not have.
void go_to_lesson_step(ViewState& view, std::size_t step);
/// Where a question waits, its step; else the one after it.
void next_lesson_step(ViewState& view);
void previous_lesson_step(ViewState& view);
/// Shows what the current step has asked about; nothing happens where it does not ask or has no such answer. None: without a guess.
void answer_lesson_question(ViewState& view, std::optional<std::size_t> answer);
/// Undoes what the person has changed since the step was shown.
void reset_lesson_step(PanelContext& context);
/// True when there is something that resetting would change.
bool lesson_step_is_changed(const PanelContext& context);

/// Call once a frame, before anything is drawn.
void keep_up_with_lesson(PanelContext& context);

/// Height in pixels of the strip at this width; 0 when no lesson is open.
float lesson_strip_height(const PanelContext& context, float width);
/// The strip: title, sentences, place in the lesson and buttons.
void draw_lesson_strip(PanelContext& context);
/// The menu of the top bar.
void draw_lesson_menu(PanelContext& context, ImVec2 at);

}  // namespace attn::app
