#include "app/panels/actions/actions.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/panels/actions/listed_actions.hpp"
#include "app/panels/actions/other_words.hpp"
#include "app/panels/actions/view_actions.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/edit/paint_mask.hpp"
#include "app/panels/export/copy.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/views/text_cards.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/panels/write/written_chips.hpp"

namespace attn::app {
namespace {

constexpr std::ptrdiff_t kEveryMoment = 1 << 30;  ///< more than a text has

KeyChord on(Key key) { return {.key = key}; }
KeyChord repeating(Key key) { return {.key = key, .repeats = true}; }
KeyChord shifted(Key key) { return {.key = key, .shift = true, .repeats = true}; }
KeyChord typed(char character) { return {.typed = character}; }
KeyChord ctrl(char letter) { return {.letter = letter, .ctrl = true, .repeats = true}; }
KeyChord ctrl_shift(char letter) { return {.letter = letter, .ctrl = true, .shift = true, .repeats = true}; }

bool ready(const PanelContext& context) { return context.ready(); }
/// Ending it is always possible.
bool can_write_on(const PanelContext& context) { return can_write(context) && (context.writing || no_room_to_write(context).empty()); }
bool in_lesson(const PanelContext& context) { return context.view.lesson.open(); }
bool has_run(const PanelContext& context) { return context.training.snapshot->run != 0; }

/// To the next or previous stage; in Write, where stages are out of sight, to the next or previous moment of what is written.
void step(PanelContext& context, int direction) {
    context.view.playing = false;
    if (context.view.view == View::Write) step_written(context, direction);
    else walk_stages(context, direction);
}

void go_to_first(PanelContext& context) {
    if (context.view.view == View::Write) step_written(context, -kEveryMoment);
    else go_to_first_stage(context.view, context.trace());
}

void go_to_last(PanelContext& context) {
    if (context.view.view == View::Write) step_written(context, kEveryMoment);
    else go_to_last_stage(context.view, context.trace());
}

void play(PanelContext& context) {
    ViewState& view = context.view;
    view.playing = !view.playing;
    view.next_step_at = context.now;
    view.view = View::Step;
}

void change_layer(PanelContext& context, int direction) {
    ViewState& view = context.view;
    const int last = static_cast<int>(context.trace().config.layers_of(view.stage.stack)) - 1;
    if (view.view == View::Precision) view.precision.line_by_key = direction;
    else if (view.view == View::Totals)
        view.totals.up_to = std::clamp(static_cast<int>(view.totals.up_to.value_or(last)) + direction, 0, last);
    else go_to_layer(view, context.trace(), std::clamp(std::max(view.stage.layer, 0) + direction, 0, last));
}

void change_head(PanelContext& context, int direction) {
    context.view.head = std::clamp<std::int64_t>(context.view.head + direction, 0, head_count(context.trace()) - 1);
}

void change_sequence(PanelContext& context, int direction) {
    if (step_sentence(context, direction)) return;
    context.view.batch = std::clamp<std::int64_t>(context.view.batch + direction, 0, batch_size(context.trace()) - 1);
    context.view.next_batch.reset();
}

void toggle_mask(PanelContext& context, bool MaskSettings::*mask) {
    ForwardSettings forward = context.document.forward;
    forward.masks.*mask = !(forward.masks.*mask);
    emit_forward(context, std::move(forward), "");
}

void clear_edits(PanelContext& context) {
    ForwardSettings forward = context.document.forward;
    forward.edits.clear();
    emit_forward(context, std::move(forward), "");
}

void change_moment(PanelContext& context, int direction) {
    step_moment(context, direction);
    ++context.view.gesture;
}

/// Moves the selected cell of the current stage by rows and columns.
void move_cell(PanelContext& context, int rows, int cols) {
    if (!context.has_stage(context.view.stage)) return;
    const Shape shape = context.trace().shape_of(context.view.stage);
    const auto move = [&](const Dim& dim, int by) {
        const std::int64_t index = context.view.locked.on(dim.axis).value_or(0) + by;
        context.view.locked.set(dim.axis, std::clamp<std::int64_t>(index, 0, dim.size - 1));
    };
    move(shape[shape.rank() - 1], cols);
    if (shape.rank() > 2) move(shape[shape.rank() - 2], rows);
}

void toggle_compare(PanelContext& context) {
    Comparison& compare = context.view.compare;
    compare.choose(compare.on() ? Compare::Off : can_compare(context, compare.last) ? compare.last : Compare::Unmasked);
}

void compare_with(PanelContext& context, Compare source) {
    ViewState& view = context.view;
    if (source == Compare::Pinned && context.states.pinned_a == nullptr) pin_shown_state(context);
    view.compare.choose(source);
    if (view.view == View::Train) view.view = View::Step;
}

/// The key for an answer, while a lesson asks a question.
Action answer(std::size_t place, char key) {
    const auto is_there = [place](const PanelContext& context) {
        const LessonView& lesson = context.view.lesson;
        return lesson.asking() && place < lesson.current().question->answers.size();
    };
    return {fmt::format("Answer {} of the lesson's question", key),
            "Lesson",
            {typed(key)},
            KeyScope::Lesson,
            "Lesson: answer the question",
            [place](PanelContext& context) { answer_lesson_question(context.view, place); },
            is_there};
}

void zoom(PanelContext& context, double factor) { context.view.ui_zoom = std::clamp(context.view.ui_zoom * factor, 0.5, 4.0); }

/// Ctrl and the key; the numeric keypad has another one of this name.
std::vector<KeyChord> zoom_keys(char symbol, Key keypad) {
    return {ctrl(symbol), ctrl_shift(symbol), {.key = keypad, .ctrl = true, .repeats = true}};
}

/// Closes or clears the topmost thing: from overlays down to the selected cell.
void escape(PanelContext& context) {
    ViewState& view = context.view;
    if (context.view.files.notices.shows_error()) view.files.notices.refusal.clear();
    else if (view.focus.visible()) view.focus.hide();
    else if (view.panes.only_centre) view.panes.only_centre = false;
    else if (view.panes.left_open || view.panes.right_open) view.panes.left_open = view.panes.right_open = false;
    else if (view.painting) view.painting = false;
    else if (view.lesson.open()) close_lesson(context);
    else if (view.view == View::Grid && !view.grid.find.empty()) view.grid.find.clear();
    else {
        view.locked.clear();
        view.playing = false;
    }
}

/// A message in front is closed first; what lies behind it is not meant.
void change_chosen_number(PanelContext& context) {
    if (context.view.files.notices.shows_error()) context.view.files.notices.refusal.clear();
    else edit_chosen_cell(context);
}

template <class Command>
void emit(PanelContext& context, Command command) {
    context.commands.push_back({std::move(command), ""});
}

/// Columns: name, group, keys, scope, line on the sheet of keys, action, condition.
std::vector<Action> table() {
    using C = PanelContext;
    constexpr KeyScope kPicture = KeyScope::Picture, kTraining = KeyScope::Training, kLesson = KeyScope::Lesson,
                       kAll = KeyScope::Everywhere;
    std::vector<Action> all = {
        {"Previous step of the lesson",
         "Lesson",
         {repeating(Key::Left), repeating(Key::PageUp)},
         kLesson,
         "Lesson: previous, next step",
         [](C& c) { previous_lesson_step(c.view); },
         in_lesson},
        {"Next step of the lesson",
         "Lesson",
         {repeating(Key::Right), repeating(Key::PageDown)},
         kLesson,
         "Lesson: previous, next step",
         [](C& c) { next_lesson_step(c.view); },
         in_lesson},
        {"First step of the lesson",
         "Lesson",
         {on(Key::Home)},
         kLesson,
         "Lesson: first, last step",
         [](C& c) { go_to_lesson_step(c.view, 0); },
         in_lesson},
        {"Last step of the lesson",
         "Lesson",
         {on(Key::End)},
         kLesson,
         "Lesson: first, last step",
         [](C& c) { go_to_lesson_step(c.view, c.view.lesson.lesson->steps.size() - 1); },
         in_lesson},
        answer(0, '1'),
        answer(1, '2'),
        answer(2, '3'),
        answer(3, '4'),
        {"Reset this step of the lesson", "Lesson", {on(Key::Backspace)}, kLesson, "Lesson: reset the step", reset_lesson_step, in_lesson},
        {"Leave the lesson", "Lesson", {}, kLesson, "", close_lesson, in_lesson},

        {"Previous stage",
         "Go to",
         {repeating(Key::Left)},
         kPicture,
         "previous and next stage; in Write, moment",
         [](C& c) { step(c, -1); },
         ready},
        {"Next stage",
         "Go to",
         {repeating(Key::Right)},
         kPicture,
         "previous and next stage; in Write, moment",
         [](C& c) { step(c, +1); },
         ready},
        {"Previous block of the model",
         "Go to",
         {repeating(Key::PageUp)},
         kPicture,
         "previous and next block of the model",
         [](C& c) { step_block(c.view, c.trace(), -1); },
         ready},
        {"Next block of the model",
         "Go to",
         {repeating(Key::PageDown)},
         kPicture,
         "previous and next block of the model",
         [](C& c) { step_block(c.view, c.trace(), +1); },
         ready},
        {"First stage", "Go to", {on(Key::Home)}, kPicture, "first and last stage; in Write, moment", go_to_first, ready},
        {"Last stage", "Go to", {on(Key::End)}, kPicture, "first and last stage; in Write, moment", go_to_last, ready},
        {"Play the stages", "Go to", {on(Key::Space)}, kPicture, "play the stages, pause", play, ready},
        {"Write on, or stop", "Write", {typed('y')}, kPicture, "write on, stop", toggle_writing, can_write_on},
        {"Write something else from here", "Write", {}, kPicture, "", write_otherwise, can_write_on},
        {"Previous layer",
         "Go to",
         {repeating(Key::Up)},
         kPicture,
         "previous and next layer; in Precision, tensor",
         [](C& c) { change_layer(c, -1); },
         ready},
        {"Next layer",
         "Go to",
         {repeating(Key::Down)},
         kPicture,
         "previous and next layer; in Precision, tensor",
         [](C& c) { change_layer(c, +1); },
         ready},
        {"Previous head", "Go to", {typed('[')}, kAll, "previous and next head", [](C& c) { change_head(c, -1); }, ready},
        {"Next head", "Go to", {typed(']')}, kAll, "previous and next head", [](C& c) { change_head(c, +1); }, ready},
        {"Previous text", "Go to", {typed(',')}, kAll, "previous and next text or sentence", [](C& c) { change_sequence(c, -1); }, ready},
        {"Next text", "Go to", {typed('.')}, kAll, "previous and next text or sentence", [](C& c) { change_sequence(c, +1); }, ready},
        {"Chosen cell: left", "Cell", {shifted(Key::Left)}, kPicture, "move the chosen cell", [](C& c) { move_cell(c, 0, -1); }, ready},
        {"Chosen cell: right", "Cell", {shifted(Key::Right)}, kPicture, "", [](C& c) { move_cell(c, 0, +1); }, ready},
        {"Chosen cell: up", "Cell", {shifted(Key::Up)}, kPicture, "", [](C& c) { move_cell(c, -1, 0); }, ready},
        {"Chosen cell: down", "Cell", {shifted(Key::Down)}, kPicture, "", [](C& c) { move_cell(c, +1, 0); }, ready},
        {"Change the chosen number",
         "Cell",
         {on(Key::Enter)},
         kPicture,
         "change the chosen number",
         change_chosen_number,
         ready,
         "Sets it to a number of your own; everything after it is recomputed."},
        {"Deselect the cell", "Cell", {on(Key::Escape)}, kAll, "deselect the cell; close", escape},

        {"Causal mask on or off",
         "Masks",
         {typed('c')},
         kAll,
         "causal mask on or off",
         [](C& c) { toggle_mask(c, &MaskSettings::causal); },
         ready},
        {"Padding mask on or off",
         "Masks",
         {typed('p')},
         kAll,
         "padding mask on or off",
         [](C& c) { toggle_mask(c, &MaskSettings::padding); },
         ready},
        {"Paint the mask with the mouse", "Masks", {}, kAll, "", toggle_painting, ready},
        {"Compare, or stop comparing", "Compare", {typed('b')}, kPicture, "compare; hold X to swap A and B", toggle_compare, ready},
        {"Compare with the unmasked state", "Compare", {}, kAll, "", [](C& c) { compare_with(c, Compare::Unmasked); }, ready},
        {"Compare with the unedited state",
         "Compare",
         {},
         kAll,
         "",
         [](C& c) { compare_with(c, Compare::Plain); },
         [](const C& c) { return can_compare(c, Compare::Plain); }},
        {"Delete every edit", "Cell", {}, kAll, "", clear_edits, [](const C& c) { return !c.document.forward.edits.empty(); }},
        {"Compare with another layer, head or text", "Compare", {}, kAll, "", [](C& c) { compare_with(c, Compare::Itself); }, ready},
        {"Compare with another step of the run",
         "Compare",
         {},
         kAll,
         "",
         [](C& c) {
             compare_with_step(c, c.other_step.value_or(0));
             if (c.view.view == View::Train) c.view.view = View::Step;
         },
         [](const C& c) { return can_compare(c, Compare::Moment); }},
        {"Compare with the pinned state", "Compare", {}, kAll, "", [](C& c) { compare_with(c, Compare::Pinned); }, ready},
        {"Pin this state", "Compare", {typed('a')}, kPicture, "pin as A and compare with it", pin_shown_state, ready},
        {"Values or gradients",
         "View",
         {typed('d')},
         kAll,
         "values or gradients",
         toggle_gradients,
         [](const C& c) { return ready(c) && shows_maps(c.view.view); }},
        {"Edit the text", "Text", {typed('t')}, kAll, "edit the text", start_text_edit},
        {"Find heads by name or pattern",
         "Go to",
         {ctrl('F')},
         kAll,
         "find heads among all",
         [](C& c) {
             c.view.view = View::Grid;
             c.view.grid.focus = true;
         },
         ready},
        {"Compare the weights with another file of the model",
         "Compare",
         {},
         kAll,
         "",
         begin_beside,
         [](const C& c) { return c.document.model != nullptr; },
         "The same model at another precision: the error of every tensor."},
        {"Split the text with another tokenizer",
         "Compare",
         {},
         kAll,
         "",
         begin_tokenizer,
         has_token_path,
         "Shows both rows of pieces and where they first differ."},
        {"Fit the picture", "View", {typed('f'), typed('0')}, kAll, "fit the picture", [](C& c) { c.view.zooms.clear(); }},
        {"Zoom in", "View", {typed('+')}, kPicture, "zoom the map", [](C& c) { c.view.zoom_by_key += 1; }, ready},
        {"Zoom out", "View", {typed('-')}, kPicture, "zoom the map", [](C& c) { c.view.zoom_by_key -= 1; }, ready},
        {"Fade between maps: on or off", "View", {}, kAll, "", [](C& c) { c.view.morphing = !c.view.morphing; }},

        {"Start or pause the training", "Training", {on(Key::Space)}, kTraining, "Train: start, pause", toggle_training_by_key},
        {"One training step", "Training", {typed('+')}, kTraining, "Train: one step", [](C& c) { emit(c, command::StepTraining{}); }},
        {"Previous step of the run",
         "Training",
         {repeating(Key::Left)},
         kTraining,
         "Train: previous, next kept step",
         [](C& c) { change_moment(c, -1); },
         has_run},
        {"Next step of the run",
         "Training",
         {repeating(Key::Right)},
         kTraining,
         "Train: previous, next kept step",
         [](C& c) { change_moment(c, +1); },
         has_run},
        {"First step of the run", "Training", {on(Key::Home)}, kTraining, "Train: first step, newest", show_first_moment, has_run},
        {"Follow the newest step", "Training", {on(Key::End)}, kTraining, "Train: first step, newest", follow_newest, has_run},
        {"Play through the run", "Training", {typed('m')}, kTraining, "Train: play the run", toggle_replay, has_run},
        {"Pin what is shown as A", "Training", {typed('a')}, kTraining, "Train: pin as A, as B", pin_shown_state, ready},
        {"Pin what is shown as B", "Training", {typed('b')}, kTraining, "Train: pin as A, as B", pin_b, ready},
        {"New paused run", "Training", {}, kAll, "", [](C& c) { emit(c, command::ResetTraining{}); }},
        {"New run, started at once", "Training", {}, kAll, "", [](C& c) { emit(c, command::RestartTraining{}); }},
        {"Back to untrained parameters",
         "Training",
         {},
         kAll,
         "",
         [](C& c) { emit(c, command::ShowUntrained{}); },
         [](const C& c) { return c.document.trained.has_value(); }},

        {"Command palette", "Help", {ctrl('K'), ctrl_shift('P')}, kAll, "everything, by name", [](C& c) { open_palette(c.view.palette); }},
        {"Open a model", "File", {}, kAll, "recent models folder cache", [](C& c) { begin_open_model(c); }},
        {"Open a file", "File", {ctrl('O')}, kAll, "open any file", [](C& c) { begin_open(c); }},
        {"Save the document", "File", {ctrl('S')}, kAll, "save; save as", [](C& c) { begin_save(c, false); }},
        {"Save the document as", "File", {ctrl_shift('S')}, kAll, "save; save as", [](C& c) { begin_save(c, true); }},
        {"Export what is shown",
         "File",
         {ctrl('E')},
         kAll,
         "export picture or numbers",
         [](C& c) { begin_export(c); },
         ready,
         "As PNG, SVG, CSV or .npy; the whole trace; the operands."},
        {"Copy the value",
         "File",
         {ctrl('C')},
         kAll,
         "copy the value; the program",
         [](C& c) { copy_numbers(c, CopyPart::Value); },
         ready,
         "The chosen number, in full."},
        {"Copy the row", "File", {}, kAll, "", [](C& c) { copy_numbers(c, CopyPart::Row); }, ready, "The chosen row, separated by tabs."},
        {"Copy the map",
         "File",
         {},
         kAll,
         "",
         [](C& c) { copy_numbers(c, CopyPart::Map); },
         ready,
         "All numbers that are shown, for a spreadsheet."},
        {"Copy the picture", "File", {}, kAll, "", copy_picture, ready, "As SVG source."},
        {"Copy the program as NumPy",
         "File",
         {ctrl_shift('C')},
         kAll,
         "copy the value; the program",
         [](C& c) { copy_snippet(c, false); },
         ready,
         "A program that recomputes this stage from its operands."},
        {"Copy the program as PyTorch",
         "File",
         {},
         kAll,
         "",
         [](C& c) { copy_snippet(c, true); },
         ready,
         "A program that recomputes this stage from its operands."},
        {"Quit", "File", {ctrl('Q')}, kAll, "quit", close_window},
        {"Undo", "Edit", {ctrl('Z')}, kAll, "undo", [](C& c) { emit(c, command::Undo{}); }, [](const C& c) { return c.can_undo; }},
        {"Redo",
         "Edit",
         {ctrl('Y'), ctrl_shift('Z')},
         kAll,
         "redo",
         [](C& c) { emit(c, command::Redo{}); },
         [](const C& c) { return c.can_redo; }},
        {"Search the settings",
         "Panes",
         {typed('/')},
         kAll,
         "search the settings",
         [](C& c) {
             c.view.panes.left = c.view.panes.left_open = c.view.search.focus = true;
             c.view.panes.only_centre = false;
         },
         [](const C& c) { return c.view.view != View::Train && !c.view.lesson.open(); }},
        {"Take the tour",
         "Lesson",
         {},
         kAll,
         "",
         open_tour,
         [](const C& c) { return !c.view.lesson.open(); },
         "Five minutes from a trained model to watching one learn."},
        {"Settings: hide or show", "Panes", {typed('1')}, kAll, "settings, cell, stages: hide or show", toggle_left_pane},
        {"Chosen cell: hide or show", "Panes", {typed('2')}, kAll, "settings, cell, stages: hide or show", toggle_right_pane},
        {"Stages: hide or show",
         "Panes",
         {typed('3')},
         kAll,
         "settings, cell, stages: hide or show",
         [](C& c) { c.view.panes.strip = !c.view.panes.strip; }},
        {"Thumbnails of the stages: fold or unfold",
         "Panes",
         {typed('4')},
         kAll,
         "fold the stages to the map of the model",
         [](C& c) { c.view.panes.thumbnails = !c.view.panes.thumbnails; }},
        {"The picture alone",
         "Panes",
         {on(Key::F11)},
         kAll,
         "the picture alone",
         [](C& c) { c.view.panes.only_centre = !c.view.panes.only_centre; }},
        {"Light or dark", "View", {typed('l')}, kAll, "light or dark", [](C& c) { c.view.dark = !c.view.dark; }},
        {"Everything larger", "View", zoom_keys('+', Key::KeypadAdd), kAll, "everything larger, smaller, as usual",
         [](C& c) { zoom(c, 1.1); }},
        {"Everything smaller", "View", zoom_keys('-', Key::KeypadSubtract), kAll, "everything larger, smaller, as usual",
         [](C& c) { zoom(c, 1 / 1.1); }},
        {"Everything in its usual size", "View", zoom_keys('0', Key::Keypad0), kAll, "everything larger, smaller, as usual",
         [](C& c) { c.view.ui_zoom = 1; }},
        {"Keys and hints", "Help", {typed('?'), on(Key::F1)}, kAll, "this sheet", [](C& c) { c.view.help = !c.view.help; }},
    };
    for (const ViewInfo& info : views())
        all.push_back({fmt::format("Show the view {}", info.title),
                       "View",
                       {typed(info.key)},
                       kAll,
                       "the views, in the order of the tabs",
                       [view = info.view](C& c) { c.view.view = view; },
                       ready,
                       std::string(info.shows)});
    return all;
}

}  // namespace

Action without_key(std::string name, std::string group, std::function<void(PanelContext&)> run,
                   std::function<bool(const PanelContext&)> available, std::string detail) {
    return {std::move(name), std::move(group), {}, KeyScope::Everywhere, "", std::move(run), std::move(available), std::move(detail)};
}

std::span<const Action> actions() {
    static const std::vector<Action> kTable = table();
    return kTable;
}

std::vector<Action> all_actions(const PanelContext& context) {
    std::vector<Action> all(actions().begin(), actions().end());
    add_listed_actions(context, all);
    add_view_actions(context, all);
    add_other_words(all);
    add_settings_actions(context, all);
    return all;
}

}  // namespace attn::app
