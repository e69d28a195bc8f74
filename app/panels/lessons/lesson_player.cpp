#include "app/panels/lessons/lesson_player.hpp"

#include <utility>

#include "app/panels/kit/look.hpp"

namespace attn::app {
namespace {

constexpr const char* kTour = "tour";

void apply_look(ViewState& view, const Look& look) {
    turn_to(view, look);
    view.panes.left = look.settings;
    view.panes.right = look.inspector;
    view.panes.strip = look.stages;
}

/// Whether the user has navigated away from what the step shows.
bool looks_elsewhere(const ViewState& view, const Look& look) {
    AxisSelection cell;
    for (const auto& [axis, index] : look.cell) cell.set(axis, index);
    return view.view != look.view || view.stage != look.stage || view.head != look.head || view.batch != look.sequence ||
           view.locked != cell || view.gradients != look.gradients || view.totals.rollout != look.rollout ||
           view.totals.up_to != look.up_to || view.knock_out.measure != look.measure || view.knock_out.against != look.against ||
           view.knock_out.parts != look.replaced || view.knock_out.from != look.replaced_from || view.compare.source != look.compare ||
           view.panes.left != look.settings || view.panes.right != look.inspector || view.panes.strip != look.stages;
}

bool is_at_end(const LessonView& state) { return state.step + 1 == state.lesson->steps.size(); }

/// Starts bringing the session to the current step.
void show_step(LessonView& state) {
    state.goal = LessonGoal(state.shown());
    if (state.may_train) state.goal.allow();
    state.look_pending = true;
}

void give_back(ViewState& view, const ViewState& before) {
    view.view = before.view;
    view.stage = before.stage;
    view.head = before.head;
    view.batch = before.batch;
    view.locked = before.locked;
    view.gradients = before.gradients;
    view.compare = before.compare;
    view.heads.stage = before.heads.stage;
    view.totals = before.totals;
    view.knock_out = before.knock_out;
    view.panes.left = before.panes.left;
    view.panes.right = before.panes.right;
    view.panes.strip = before.panes.strip;
    view.paint.on = view.playing = false;
    view.zooms.clear();
}

}  // namespace

void open_lesson(ViewState& view, const Document& now, std::shared_ptr<const Lesson> lesson) {
    const auto left = view.lesson.left_at.find(lesson->name);
    // The settings may come from a version in which the lesson had more steps.
    const bool known = left != view.lesson.left_at.end() && left->second < lesson->steps.size();
    open_lesson(view, now, std::move(lesson), known ? left->second : 0);
}

void open_lesson(ViewState& view, const Document& now, std::shared_ptr<const Lesson> lesson, std::size_t step) {
    LessonView& state = view.lesson;
    // When switching between lessons, keep the document and view from before the first one.
    if (!state.open()) {
        state.document_before = std::make_shared<const Document>(now);
        state.view_before = std::make_shared<const ViewState>(view);
        state.may_train = false;
    }
    state.lesson = std::move(lesson);
    state.expected.clear();
    go_to_lesson_step(view, step);
}

void open_tour(PanelContext& context) { open_lesson(context.view, context.document, find_lesson(kTour), 0); }

std::map<std::string, std::size_t> lessons_left(const LessonView& state) {
    std::map<std::string, std::size_t> left = state.left_at;
    if (!state.open()) return left;
    if (is_at_end(state)) left.erase(state.lesson->name);
    else left[state.lesson->name] = state.step;
    return left;
}

void close_lesson(PanelContext& context) {
    LessonView& state = context.view.lesson;
    if (!state.open()) return;
    if (is_at_end(state) && state.lesson->name == kTour) context.view.toured = true;
    state.left_at = lessons_left(state);
    const bool trains = state.shown().training && context.training.status->phase == TrainingPhase::Running;
    if (trains) context.commands.push_back({command::PauseTraining{}, ""});
    for (Command& command : restore_document(*state.document_before, context.training)) context.commands.push_back(std::move(command));
    if (std::exchange(state.visiting, false)) context.commands.push_back({command::EndVisit{}, ""});
    state.given_back = state.view_before;
    give_back(context.view, *state.given_back);
    state.lesson.reset();
    state.quoted.clear();
    state.document_before.reset();
    state.view_before.reset();
}

void go_to_lesson_step(ViewState& view, std::size_t step) {
    LessonView& state = view.lesson;
    if (!state.open() || step >= state.lesson->steps.size()) return;
    state.step = step;
    show_step(state);
}

void next_lesson_step(ViewState& view) {
    if (view.lesson.asking()) answer_lesson_question(view, std::nullopt);
    else go_to_lesson_step(view, view.lesson.step + 1);
}

void answer_lesson_question(ViewState& view, std::optional<std::size_t> answer) {
    LessonView& state = view.lesson;
    if (!state.asking() || (answer && *answer >= state.current().question->answers.size())) return;
    state.expected[state.step] = answer;
    show_step(state);
}

void previous_lesson_step(ViewState& view) {
    if (view.lesson.step > 0) go_to_lesson_step(view, view.lesson.step - 1);
}

void reset_lesson_step(PanelContext& context) {
    LessonView& state = context.view.lesson;
    if (!state.open()) return;
    const bool other_run = state.shown().training && !same_model(context.training.status->settings, state.shown().training->run);
    state.goal = LessonGoal(state.shown(), other_run);
    if (state.may_train) state.goal.allow();
    state.look_pending = true;
}

bool lesson_step_is_changed(const PanelContext& context) {
    const LessonView& state = context.view.lesson;
    if (!state.open() || !state.goal.done() || state.look_pending) return false;
    return looks_elsewhere(context.view, state.shown().look) || differs(state.shown(), context.document, context.training);
}

void keep_up_with_lesson(PanelContext& context) {
    LessonView& state = context.view.lesson;
    if (state.open()) {
        state.given_back.reset();
    } else {
        // The view is limited to stages and heads of the lesson's model until the numbers of the restored document are ready.
        if (state.given_back == nullptr) return;
        give_back(context.view, *state.given_back);
        if (context.commands.empty() && context.up_to_date) state.given_back.reset();
        return;
    }
    if (!std::exchange(state.visiting, true)) context.commands.push_back({command::BeginVisit{}, ""});
    for (Command& command : state.goal.next(context.document, context.training)) {
        // The user has allowed the lesson to replace the training run.
        if (std::holds_alternative<command::RestartTraining>(command.what)) state.may_train = true;
        context.commands.push_back(std::move(command));
    }
    if (!state.look_pending) return;
    // Until the step's numbers are ready the view is limited to stages of the old trace, so apply the look in every frame.
    apply_look(context.view, state.shown().look);
    const bool on_the_way = !context.commands.empty() || !state.goal.done();
    const auto& training = state.shown().training;
    const bool waits_for_run =
        training &&
        (state.goal.asks() || (context.document.trained.has_value() && same_model(context.training.status->settings, training->run)));
    if (context.up_to_date && (!on_the_way || waits_for_run)) state.look_pending = false;
}

}  // namespace attn::app
