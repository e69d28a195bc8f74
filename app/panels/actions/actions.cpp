#include "app/panels/actions/actions.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/panels/actions/control_actions.hpp"
#include "app/panels/actions/listed_actions.hpp"
#include "app/panels/actions/other_words.hpp"
#include "app/panels/actions/view_actions.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/edit/paint_mask.hpp"
#include "app/panels/export/copy.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/recorded_attentions.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/settings/dropout_chip.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/views/dump_findings.hpp"
#include "app/panels/views/stage_walk.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/panels/write/written_chips.hpp"
#include "app/session/document/new_words.hpp"
#include "app/session/document/presets.hpp"

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
bool has_run(const PanelContext& context) { return context.training.status->run != 0; }

void change_head(PanelContext& context, int direction) {
    context.view.head = std::clamp<std::int64_t>(context.view.head + direction, 0, head_count(context.structure()) - 1);
}

/// To the next or previous word of the text as the query.
void move_query(PanelContext& context, int direction) {
    const std::int64_t last = context.structure().tokens.length - 1;
    AxisSelection& locked = context.view.locked;
    locked.set(Axis::T, std::clamp<std::int64_t>(locked.on(Axis::T).value_or(last) + direction, 0, last));
}

/// What the strip below the picture says of ← and → in each view (words_of_keys in app/panels/frame/strip.cpp).
void step(PanelContext& context, int direction) {
    context.view.playing = false;
    switch (context.view.view) {
    case View::Step:
        return walk_stations(context, direction);
    case View::Heads:
    case View::Grid:
    case View::KnockOut:
        return change_head(context, direction);
    case View::Lines:
    case View::Lens:
    case View::Totals:
        return move_query(context, direction);
    case View::Write:
        return step_written(context, direction);
    case View::Precision:
    case View::Train:
        return;
    case View::Doctor:
        return step_finding(context, direction);
    }
}

void step_each(PanelContext& context, int direction) {
    context.view.playing = false;
    if (context.view.view == View::Write) step_written(context, direction);
    else walk_stages(context, direction);
}

void go_to_first(PanelContext& context) {
    if (context.view.view == View::Write) step_written(context, -kEveryMoment);
    else go_to_first_stage(context.view, context.structure());
}

void go_to_last(PanelContext& context) {
    if (context.view.view == View::Write) step_written(context, kEveryMoment);
    else go_to_last_stage(context.view, context.structure());
}

void play(PanelContext& context) {
    ViewState& view = context.view;
    view.playing = !view.playing;
    view.next_step_at = context.now;
    view.view = View::Step;
}

void change_layer(PanelContext& context, int direction) {
    ViewState& view = context.view;
    const int last = static_cast<int>(context.structure().config.layers_of(view.stage.stack)) - 1;
    if (view.view == View::Precision) view.precision.line_by_key = direction;
    else if (view.view == View::Totals)
        view.totals.up_to = std::clamp(static_cast<int>(view.totals.up_to.value_or(last)) + direction, 0, last);
    else go_to_layer(view, context.structure(), std::clamp(std::max(view.stage.layer, 0) + direction, 0, last));
}

void change_sequence(PanelContext& context, int direction) {
    if (step_sentence(context, direction)) return;
    show_text(context,
              static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch + direction, 0, batch_size(context.structure()) - 1)));
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
    const Shape shape = context.structure().shape_of(context.view.stage);
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
    return {.name = fmt::format("Answer {} of the lesson's question", key),
            .group = "Lesson",
            .chords = {typed(key)},
            .scope = KeyScope::Lesson,
            .sheet = "Lesson: answer the question",
            .run = [place](PanelContext& context) { answer_lesson_question(context.view, place); },
            .available = is_there,
            .needs = "Needs a question of a lesson."};
}

/// In the Train view, which has settings of its own.
void open_run_section(PanelContext& context, const char* name) {
    context.view.view = View::Train;
    context.view.panes.left = true;
    if (const auto folded = context.view.settings.folded.find(name); folded != context.view.settings.folded.end())
        context.view.settings.folded.erase(folded);
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
    else if (view.paint.on) view.paint.on = false;
    else if (view.lesson.open()) close_lesson(context);
    else if (view.view == View::Grid && !view.grid.find.empty()) view.grid.find.clear();
    else if (context.ready() && parts_refused(context).has(SetupPart::Text)) {
        const Setup& shown = *context.snapshot.state->setup;
        context.commands.push_back({command::SetTexts{shown.texts, shown.source_texts}, ""});
    } else {
        view.locked.clear();
        view.playing = false;
    }
}

/// A message in front is closed first; what lies behind it is not meant.
void change_chosen_number(PanelContext& context) {
    if (context.view.files.notices.shows_error()) context.view.files.notices.refusal.clear();
    else if (context.view.view == View::Grid) context.view.grid.enter = true;
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
    std::vector<Action> all =
        {
            {.name = "Previous step of the lesson",
             .group = "Lesson",
             .chords = {repeating(Key::Left), repeating(Key::PageUp)},
             .scope = kLesson,
             .sheet = "Lesson: previous, next step",
             .run = [](C& c) { previous_lesson_step(c.view); },
             .available = in_lesson,
             .needs = "Open a lesson first."},
            {.name = "Next step of the lesson",
             .group = "Lesson",
             .chords = {repeating(Key::Right), repeating(Key::PageDown)},
             .scope = kLesson,
             .sheet = "Lesson: previous, next step",
             .run = [](C& c) { next_lesson_step(c.view); },
             .available = in_lesson,
             .needs = "Open a lesson first."},
            {.name = "First step of the lesson",
             .group = "Lesson",
             .chords = {on(Key::Home)},
             .scope = kLesson,
             .sheet = "Lesson: first, last step",
             .run = [](C& c) { go_to_lesson_step(c.view, 0); },
             .available = in_lesson,
             .needs = "Open a lesson first."},
            {.name = "Last step of the lesson",
             .group = "Lesson",
             .chords = {on(Key::End)},
             .scope = kLesson,
             .sheet = "Lesson: first, last step",
             .run = [](C& c) { go_to_lesson_step(c.view, c.view.lesson.lesson->steps.size() - 1); },
             .available = in_lesson,
             .needs = "Open a lesson first."},
            answer(0, '1'),
            answer(1, '2'),
            answer(2, '3'),
            answer(3, '4'),
            {.name = "Reset this step of the lesson",
             .group = "Lesson",
             .chords = {on(Key::Backspace)},
             .scope = kLesson,
             .sheet = "Lesson: reset the step",
             .run = reset_lesson_step,
             .available = in_lesson,
             .needs = "Open a lesson first."},
            {.name = "Leave the lesson",
             .group = "Lesson",
             .scope = kLesson,
             .run = close_lesson,
             .available = in_lesson,
             .needs = "Open a lesson first."},

            {.name = "Previous stage",
             .group = "Go to",
             .chords = {repeating(Key::Left)},
             .scope = kPicture,
             .sheet = "stage; in Heads, Knock-out: head; in Lines, Lens, Totals: word; in Write: moment",
             .run = [](C& c) { step(c, -1); },
             .available = ready},
            {.name = "Next stage",
             .group = "Go to",
             .chords = {repeating(Key::Right)},
             .scope = kPicture,
             .sheet = "stage; in Heads, Knock-out: head; in Lines, Lens, Totals: word; in Write: moment",
             .run = [](C& c) { step(c, +1); },
             .available = ready},
            {.name = "Previous of every stage",
             .group = "Go to",
             .chords = {{.key = Key::Left, .ctrl = true, .repeats = true}},
             .scope = kPicture,
             .sheet = "every single stage",
             .run = [](C& c) { step_each(c, -1); },
             .available = ready},
            {.name = "Next of every stage",
             .group = "Go to",
             .chords = {{.key = Key::Right, .ctrl = true, .repeats = true}},
             .scope = kPicture,
             .sheet = "every single stage",
             .run = [](C& c) { step_each(c, +1); },
             .available = ready},
            {.name = "Back along the trail",
             .group = "Go to",
             .chords = {{.key = Key::Left, .alt = true, .repeats = true}},
             .scope = kPicture,
             .sheet = "back and forth where a number was followed",
             .run = [](C& c) { walk_trail(c.view, c.structure(), -1); },
             .available = [](const C& c) { return ready(c) && c.view.trail.at > 0; },
             .needs = "Follow a number back first: click one in the pane on the right."},
            {.name = "Forth along the trail",
             .group = "Go to",
             .chords = {{.key = Key::Right, .alt = true, .repeats = true}},
             .scope = kPicture,
             .sheet = "back and forth where a number was followed",
             .run = [](C& c) { walk_trail(c.view, c.structure(), +1); },
             .available = [](const C& c) { return ready(c) && c.view.trail.at + 1 < c.view.trail.places.size(); },
             .needs = "Go back along the trail first."},
            {.name = "Previous block of the model",
             .group = "Go to",
             .chords = {repeating(Key::PageUp)},
             .scope = kPicture,
             .sheet = "previous and next block of the model",
             .run = [](C& c) { step_block(c.view, c.structure(), -1); },
             .available = ready},
            {.name = "Next block of the model",
             .group = "Go to",
             .chords = {repeating(Key::PageDown)},
             .scope = kPicture,
             .sheet = "previous and next block of the model",
             .run = [](C& c) { step_block(c.view, c.structure(), +1); },
             .available = ready},
            {.name = "First stage",
             .group = "Go to",
             .chords = {on(Key::Home)},
             .scope = kPicture,
             .sheet = "first and last stage; in Write, moment",
             .run = go_to_first,
             .available = ready},
            {.name = "Last stage",
             .group = "Go to",
             .chords = {on(Key::End)},
             .scope = kPicture,
             .sheet = "first and last stage; in Write, moment",
             .run = go_to_last,
             .available = ready},
            {.name = "Play the stages",
             .group = "Go to",
             .chords = {on(Key::Space)},
             .scope = kPicture,
             .sheet = "play the stages, pause",
             .run = play,
             .available = ready},
            {.name = "Write on, or stop",
             .group = "Write",
             .chords = {typed('y')},
             .scope = kPicture,
             .sheet = "write on, stop",
             .run = toggle_writing,
             .available = can_write_on,
             .needs = "Needs a model that writes, and room in its text."},
            {.name = "Write something else from here",
             .group = "Write",
             .scope = kPicture,
             .run = write_otherwise,
             .available = can_write_on,
             .needs = "Needs a model that writes, and room in its text."},
            {.name = "Previous layer",
             .group = "Go to",
             .chords = {repeating(Key::Up)},
             .scope = kPicture,
             .sheet = "previous and next layer; in Precision, tensor",
             .run = [](C& c) { change_layer(c, -1); },
             .available = ready},
            {.name = "Next layer",
             .group = "Go to",
             .chords = {repeating(Key::Down)},
             .scope = kPicture,
             .sheet = "previous and next layer; in Precision, tensor",
             .run = [](C& c) { change_layer(c, +1); },
             .available = ready},
            {.name = "Previous head",
             .group = "Go to",
             .chords = {typed('[')},
             .sheet = "previous and next head",
             .run = [](C& c) { change_head(c, -1); },
             .available = ready},
            {.name = "Next head",
             .group = "Go to",
             .chords = {typed(']')},
             .sheet = "previous and next head",
             .run = [](C& c) { change_head(c, +1); },
             .available = ready},
            {.name = "Previous text",
             .group = "Go to",
             .chords = {typed(',')},
             .sheet = "previous and next text or sentence",
             .run = [](C& c) { change_sequence(c, -1); },
             .available = ready},
            {.name = "Next text",
             .group = "Go to",
             .chords = {typed('.')},
             .sheet = "previous and next text or sentence",
             .run = [](C& c) { change_sequence(c, +1); },
             .available = ready},
            {.name = "Chosen cell: left",
             .group = "Cell",
             .chords = {shifted(Key::Left)},
             .scope = kPicture,
             .sheet = "move the chosen cell",
             .run = [](C& c) { move_cell(c, 0, -1); },
             .available = ready},
            {.name = "Chosen cell: right",
             .group = "Cell",
             .chords = {shifted(Key::Right)},
             .scope = kPicture,
             .run = [](C& c) { move_cell(c, 0, +1); },
             .available = ready},
            {.name = "Chosen cell: up",
             .group = "Cell",
             .chords = {shifted(Key::Up)},
             .scope = kPicture,
             .run = [](C& c) { move_cell(c, -1, 0); },
             .available = ready},
            {.name = "Chosen cell: down",
             .group = "Cell",
             .chords = {shifted(Key::Down)},
             .scope = kPicture,
             .run = [](C& c) { move_cell(c, +1, 0); },
             .available = ready},
            {.name = "Change the chosen number",
             .group = "Cell",
             .chords = {on(Key::Enter)},
             .scope = kPicture,
             .sheet = "change the chosen number; in Heads, all layers: open the head",
             .run = change_chosen_number,
             .available = ready,
             .detail = "Sets it to a number of your own; everything after it is recomputed."},
            {.name = "Deselect the cell", .group = "Cell", .chords = {on(Key::Escape)}, .sheet = "deselect the cell; close", .run = escape},

            {.name = "Causal mask on or off",
             .group = "Masks",
             .chords = {typed('c')},
             .sheet = "causal mask on or off",
             .run = [](C& c) { toggle_mask(c, &MaskSettings::causal); },
             .available = ready},
            {.name = "Padding mask on or off",
             .group = "Masks",
             .chords = {typed('p')},
             .sheet = "padding mask on or off",
             .run = [](C& c) { toggle_mask(c, &MaskSettings::padding); },
             .available = ready},
            {.name = "Draw dropout anew",
             .group = "Softmax",
             .chords = {typed('u')},
             .sheet = "draw dropout anew",
             .run = [](C& c) { draw_dropout_anew(c); },
             .available = [](const C& c) { return ready(c) && drops(c); },
             .detail = "Drops other cells at the same rate."},
            {.name = "Paint the mask with the mouse", .group = "Masks", .run = toggle_painting, .available = ready},
            {.name = "Compare, or stop comparing",
             .group = "Compare",
             .chords = {typed('b')},
             .scope = kPicture,
             .sheet = "compare; hold X to swap A and B",
             .run = toggle_compare,
             .available = ready},
            {.name = "Compare with the unmasked state",
             .group = "Compare",
             .run = [](C& c) { compare_with(c, Compare::Unmasked); },
             .available = ready},
            {.name = "Compare with the unedited state",
             .group = "Compare",
             .run = [](C& c) { compare_with(c, Compare::Plain); },
             .available = [](const C& c) { return can_compare(c, Compare::Plain); },
             .needs = "Change a number first."},
            {.name = "Delete every edit",
             .group = "Cell",
             .run = clear_edits,
             .available = [](const C& c) { return !c.document.forward.edits.empty(); },
             .needs = "No number is changed."},
            {.name = "Compare with another layer, head or text",
             .group = "Compare",
             .run = [](C& c) { compare_with(c, Compare::Itself); },
             .available = ready},
            {.name = "Compare with another step of the run",
             .group = "Compare",
             .run =
                 [](C& c) {
                     compare_with_step(c, c.other_step.value_or(0));
                     if (c.view.view == View::Train) c.view.view = View::Step;
                 },
             .available = [](const C& c) { return can_compare(c, Compare::Moment); },
             .needs = "Needs a training run, and its numbers in the picture."},
            {.name = "Compare with the pinned state",
             .group = "Compare",
             .run = [](C& c) { compare_with(c, Compare::Pinned); },
             .available = ready},
            {.name = "Pin this state",
             .group = "Compare",
             .chords = {typed('a')},
             .scope = kPicture,
             .sheet = "pin as A and compare with it",
             .run = pin_shown_state,
             .available = ready},
            {.name = "Values or gradients",
             .group = "View",
             .chords = {typed('d')},
             .sheet = "values or gradients",
             .run = toggle_gradients,
             .available = [](const C& c) { return ready(c) && shows_maps(c.view.view); },
             .needs = "Needs a view of maps: Step, Heads or Lines."},
            {.name = "Add a second text",
             .group = "Text",
             .run = [](C& c) { add_text(c, shown_index(c)); },
             .available = [](const C& c) { return ready(c) && shown_texts(c).size() < kMostTexts; },
             .detail = "Shown together with the first; the shorter one is padded.",
             .needs = "There are as many texts as can be shown together."},
            {.name = "All words that the model knows",
             .group = "Text",
             .run =
                 [](C& c) {
                     c.view.text_row.sheet.open = true;
                     c.view.text_row.sheet.place.reset();
                 },
             .available = [](const C& c) { return !known_words(c.document).empty(); },
             .detail = "By kind; a click puts one into the text.",
             .needs = "This model reads letters or pieces of words, or the words of any text."},
            {.name = "Examples and texts",
             .group = "Text",
             .run =
                 [](C& c) {
                     c.view.panes.only_centre = false;
                     frame_control(c, "Examples and texts");
                 },
             .available = [](const C& c) { return c.view.view != View::Train; },
             .detail = "The example's sentences, and the texts that are shown together.",
             .needs = "A run has texts of its own."},
            {.name = "This example afresh",
             .group = "File",
             .run = [](C& c) { open_example(c, *preset_of(c.document), 0); },
             .available = [](const C& c) { return preset_of(c.document) != nullptr; },
             .detail = "With its own texts, masks and numbers.",
             .needs = "What is open is no example."},
            {.name = "New document",
             .group = "File",
             .run = begin_new,
             .detail = "The first example, not saved yet; Undo returns to what is open now."},
            {.name = "Open a recent file",
             .group = "File",
             .run = [](C& c) { begin_open(c); },
             .available = [](const C& c) { return !c.files.recent.empty() && c.abilities.lists_files; },
             .needs = "Nothing has been opened or saved yet."},
            {.name = "Restore unsaved work",
             .group = "File",
             .run = [](C& c) { c.view.files.restore_later = false; },
             .available = [](const C& c) { return c.leftover != nullptr; },
             .detail = "Of a session that ended without saving.",
             .needs = "No session has ended without saving."},
            {.name = "Optimizer of the run", .group = "Training", .run = [](C& c) { open_run_section(c, "run optimizer"); }},
            {.name = "Task and model of the run", .group = "Training", .run = [](C& c) { open_run_section(c, "run model"); }},
            {.name = "Runs", .group = "Training", .run = [](C& c) { open_run_section(c, "run list"); }},
            {.name = "Edit the text", .group = "Text", .chords = {typed('t')}, .sheet = "edit the text", .run = start_text_edit},
            {.name = "Find heads by name or pattern",
             .group = "Go to",
             .chords = {ctrl('F')},
             .sheet = "find heads among all",
             .run =
                 [](C& c) {
                     c.view.view = View::Grid;
                     c.view.grid.focus = true;
                 },
             .available = ready},
            {.name = "Compare the weights with another file of the model",
             .group = "Compare",
             .run = begin_beside,
             .available = [](const C& c) { return c.document.model != nullptr; },
             .detail = "The same model at another precision: the error of every tensor.",
             .needs = "Open a model first."},
            {.name = "Split the text with another tokenizer",
             .group = "Compare",
             .run = begin_tokenizer,
             .available = has_token_path,
             .detail = "Shows both rows of pieces and where they first differ.",
             .needs = "Open a model with a tokenizer first."},
            {.name = "Fit the picture",
             .group = "View",
             .chords = {typed('f'), typed('0')},
             .sheet = "fit the picture",
             .run = [](C& c) { c.view.zooms.clear(); }},
            {.name = "Zoom in",
             .group = "View",
             .chords = {typed('+')},
             .scope = kPicture,
             .sheet = "zoom the map",
             .run = [](C& c) { c.view.zoom_by_key += 1; },
             .available = ready},
            {.name = "Zoom out",
             .group = "View",
             .chords = {typed('-')},
             .scope = kPicture,
             .sheet = "zoom the map",
             .run = [](C& c) { c.view.zoom_by_key -= 1; },
             .available = ready},
            {.name = "Fade between maps: on or off", .group = "View", .run = [](C& c) { c.view.morphing = !c.view.morphing; }},

            {.name = "Start or pause the training",
             .group = "Training",
             .chords = {on(Key::Space)},
             .scope = kTraining,
             .sheet = "Train: start, pause",
             .run = toggle_training_by_key},
            {.name = "One training step",
             .group = "Training",
             .chords = {typed('+')},
             .scope = kTraining,
             .sheet = "Train: one step",
             .run = [](C& c) { emit(c, command::StepTraining{}); }},
            {.name = "Previous step of the run",
             .group = "Training",
             .chords = {repeating(Key::Left)},
             .scope = kTraining,
             .sheet = "Train: previous, next kept step",
             .run = [](C& c) { change_moment(c, -1); },
             .available = has_run,
             .needs = "Start a run first."},
            {.name = "Next step of the run",
             .group = "Training",
             .chords = {repeating(Key::Right)},
             .scope = kTraining,
             .sheet = "Train: previous, next kept step",
             .run = [](C& c) { change_moment(c, +1); },
             .available = has_run,
             .needs = "Start a run first."},
            {.name = "First step of the run",
             .group = "Training",
             .chords = {on(Key::Home)},
             .scope = kTraining,
             .sheet = "Train: first step, newest",
             .run = show_first_moment,
             .available = has_run,
             .needs = "Start a run first."},
            {.name = "Follow the newest step",
             .group = "Training",
             .chords = {on(Key::End)},
             .scope = kTraining,
             .sheet = "Train: first step, newest",
             .run = follow_newest,
             .available = has_run,
             .needs = "Start a run first."},
            {.name = "Play through the run",
             .group = "Training",
             .chords = {typed('m')},
             .scope = kTraining,
             .sheet = "Train: play the run",
             .run = toggle_replay,
             .available = has_run,
             .needs = "Start a run first."},
            {.name = "Pin what is shown as A",
             .group = "Training",
             .chords = {typed('a')},
             .scope = kTraining,
             .sheet = "Train: pin as A, as B",
             .run = pin_shown_state,
             .available = ready},
            {.name = "Pin what is shown as B",
             .group = "Training",
             .chords = {typed('b')},
             .scope = kTraining,
             .sheet = "Train: pin as A, as B",
             .run = pin_b,
             .available = ready},
            {.name = "New paused run", .group = "Training", .run = [](C& c) { emit(c, command::ResetTraining{}); }},
            {.name = "Start a new run", .group = "Training", .run = [](C& c) { emit(c, command::RestartTraining{}); }},
            {.name = "Branch from this step",
             .group = "Training",
             .run =
                 [](C& c) {
                     c.view.view = View::Train;
                     branch_from_here(c);
                 },
             .available = has_run,
             .detail = "A new run from the step that is shown, with other settings; this one is kept."},
            {.name = "Lowest held-out loss",
             .group = "Training",
             .run =
                 [](C& c) {
                     c.view.view = View::Train;
                     show_lowest_loss(c);
                 },
             .available = has_run,
             .detail = "Goes to the step of the run at which it was best on what it had not been trained on."},
            {.name = "Back to untrained parameters",
             .group = "Training",
             .run = [](C& c) { emit(c, command::ShowUntrained{}); },
             .available = [](const C& c) { return c.document.trained.has_value(); },
             .needs = "The weights are those that the model began with."},

            {.name = "Command palette",
             .group = "Help",
             .chords = {ctrl('K'), ctrl_shift('P')},
             .sheet = "everything, by name",
             .run = [](C& c) { open_palette(c.view.palette); }},
            {.name = "Open a model", .group = "File", .sheet = "recent models folder cache", .run = [](C& c) { begin_open_model(c); }},
            {.name = "Open a file", .group = "File", .chords = {ctrl('O')}, .sheet = "open any file", .run = [](C& c) { begin_open(c); }},
            {.name = "Save the document",
             .group = "File",
             .chords = {ctrl('S')},
             .sheet = "save; save as",
             .run = [](C& c) { begin_save(c, false); }},
            {.name = "Save the document as",
             .group = "File",
             .chords = {ctrl_shift('S')},
             .sheet = "save; save as",
             .run = [](C& c) { begin_save(c, true); }},
            {.name = "Export what is shown",
             .group = "File",
             .chords = {ctrl('E')},
             .sheet = "export picture or numbers",
             .run = [](C& c) { begin_export(c); },
             .available = ready,
             .detail = "As PNG, SVG, CSV or .npy; the whole trace; the operands."},
            {.name = "Export the lesson as a page",
             .group = "File",
             .run = begin_lesson_page,
             .detail = "One HTML page with its pictures, numbers and questions."},
            {.name = "Record your own code",
             .group = "File",
             .run = begin_own_code,
             .detail = "The lines that show attention in your PyTorch code here, as it runs."},
            {.name = "Open as a model",
             .group = "File",
             .run = [](C& c) { emit(c, command::OpenAsModel{look_of(c.view)}); },
             .available = shows_own_recording,
             .detail = "The recorded code becomes a model with the recorded weights, and is compared with the recording.",
             .needs = "Open a recording of your own code first."},
            {.name = "Make a lesson step",
             .group = "File",
             .run = begin_lesson_step,
             .available = ready,
             .detail = "What is shown becomes a step of a lesson of your own."},
            {.name = "Play back the lesson that you are making",
             .group = "Lesson",
             .run = [](C& c) { open_lesson(c.view, c.document, c.files.made_lesson, 0); },
             .available = [](const C& c) { return c.files.made_lesson != nullptr; }},
            {.name = "Copy the value",
             .group = "File",
             .chords = {ctrl('C')},
             .sheet = "copy the value; the program",
             .run = [](C& c) { copy_numbers(c, CopyPart::Value); },
             .available = ready,
             .detail = "The chosen number, in full."},
            {.name = "Copy the row",
             .group = "File",
             .run = [](C& c) { copy_numbers(c, CopyPart::Row); },
             .available = ready,
             .detail = "The chosen row, separated by tabs."},
            {.name = "Copy the map",
             .group = "File",
             .run = [](C& c) { copy_numbers(c, CopyPart::Map); },
             .available = ready,
             .detail = "All numbers that are shown, for a spreadsheet."},
            {.name = "Copy the picture", .group = "File", .run = copy_picture, .available = ready, .detail = "As SVG source."},
            {.name = "Copy the program as NumPy",
             .group = "File",
             .chords = {ctrl_shift('C')},
             .sheet = "copy the value; the program",
             .run = [](C& c) { copy_snippet(c, false); },
             .available = ready,
             .detail = "A program that recomputes this stage from its operands."},
            {.name = "Copy the program as PyTorch",
             .group = "File",
             .run = [](C& c) { copy_snippet(c, true); },
             .available = ready,
             .detail = "A program that recomputes this stage from its operands."},
            {.name = "Quit",
             .group = "File",
             .chords = {ctrl('Q')},
             .sheet = "quit",
             .run = close_window,
             .available = [](const C& c) { return c.abilities.closes; },
             .needs = "It is closed from outside."},
            {.name = "Undo",
             .group = "Edit",
             .chords = {ctrl('Z')},
             .sheet = "undo",
             .run = [](C& c) { emit(c, command::Undo{}); },
             .available = [](const C& c) { return c.can_undo; },
             .needs = "There is nothing to undo."},
            {.name = "Redo",
             .group = "Edit",
             .chords = {ctrl('Y'), ctrl_shift('Z')},
             .sheet = "redo",
             .run = [](C& c) { emit(c, command::Redo{}); },
             .available = [](const C& c) { return c.can_redo; },
             .needs = "There is nothing to redo."},
            {.name = "Search the settings",
             .group = "Panes",
             .chords = {typed('/')},
             .sheet = "search the settings",
             .run =
                 [](C& c) {
                     c.view.panes.left = c.view.panes.left_open = c.view.settings.search.focus = true;
                     c.view.panes.only_centre = false;
                 },
             .available = [](const C& c) { return c.view.view != View::Train && !c.view.lesson.open(); },
             .needs = "The settings of a run and of a lesson are all in sight."},
            {.name = "Take the tour",
             .group = "Lesson",
             .run = open_tour,
             .available = [](const C& c) { return !c.view.lesson.open(); },
             .detail = "Five minutes from a trained model to watching one learn.",
             .needs = "Leave the lesson first."},
            {.name = "Settings: hide or show",
             .group = "Panes",
             .chords = {typed('1')},
             .sheet = "settings, cell, stages: hide or show",
             .run = toggle_left_pane},
            {.name = "Chosen cell: hide or show",
             .group = "Panes",
             .chords = {typed('2')},
             .sheet = "settings, cell, stages: hide or show",
             .run = toggle_right_pane},
            {.name = "Stages: hide or show",
             .group = "Panes",
             .chords = {typed('3')},
             .sheet = "settings, cell, stages: hide or show",
             .run = [](C& c) { c.view.panes.strip = !c.view.panes.strip; }},
            {.name = "Map of the model: open or close",
             .group = "Panes",
             .chords = {typed('4')},
             .sheet = "open or close the map of the model",
             .run = toggle_map},
            {.name = "To the next pane",
             .group = "Panes",
             .chords = {on(Key::F6)},
             .sheet = "to the next pane",
             .run = [](C& c) { c.view.focus.move_to_next_pane("##top"); }},
            {.name = "The picture alone",
             .group = "Panes",
             .chords = {on(Key::F11)},
             .sheet = "the picture alone",
             .run = [](C& c) { c.view.panes.only_centre = !c.view.panes.only_centre; }},
            {.name = "Light or dark",
             .group = "View",
             .chords = {typed('l')},
             .sheet = "light or dark",
             .run = [](C& c) { c.view.dark = !c.view.dark; }},
            {.name = "Everything larger",
             .group = "View",
             .chords = zoom_keys('+', Key::KeypadAdd),
             .sheet = "everything larger, smaller, as usual",
             .run = [](C& c) { zoom(c, 1.1); }},
            {.name = "Everything smaller",
             .group = "View",
             .chords = zoom_keys('-', Key::KeypadSubtract),
             .sheet = "everything larger, smaller, as usual",
             .run = [](C& c) { zoom(c, 1 / 1.1); }},
            {.name = "Everything in its usual size",
             .group = "View",
             .chords = zoom_keys('0', Key::Keypad0),
             .sheet = "everything larger, smaller, as usual",
             .run = [](C& c) { c.view.ui_zoom = 1; }},
            {.name = "What “random weights” means",
             .group = "Help",
             .run =
                 [](C& c) {
                     c.view.help = true;
                     c.view.help_page.search = "random weights";
                 }},
            {.name = "Keys and hints",
             .group = "Help",
             .chords = {typed('?'), on(Key::F1)},
             .sheet = "this sheet",
             .run = [](C& c) { c.view.help = !c.view.help; }},
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
    add_control_actions(all);
    add_settings_actions(context, all);
    add_other_words(all);
    return all;
}

}  // namespace attn::app
