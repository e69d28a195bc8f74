#include "app/application.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/panels/frame.hpp"
#include "app/panels/lesson_player.hpp"
#include "app/panels/navigation.hpp"

namespace attn::app {
namespace {

void remember(const ViewState& view, Settings& settings) {
    settings.dark = view.dark;
    settings.zoom = view.ui_zoom;
    // A lesson shows the panes that it needs; the person's own choice is what they had before it.
    const PaneState& panes = view.lesson.open() ? view.lesson.view_before->panes : view.panes;
    settings.left_pane = panes.left;
    settings.right_pane = panes.right;
    settings.strip = panes.strip;
    settings.left_width = static_cast<double>(view.panes.left_width);
    settings.right_width = static_cast<double>(view.panes.right_width);
    settings.strip_height = static_cast<double>(view.panes.strip_height);
}

void recall(const Settings& settings, ViewState& view) {
    view.dark = settings.dark;
    view.ui_zoom = settings.zoom;
    view.panes.left = settings.left_pane;
    view.panes.right = settings.right_pane;
    view.panes.strip = settings.strip;
    view.panes.left_width = static_cast<float>(settings.left_width);
    view.panes.right_width = static_cast<float>(settings.right_width);
    view.panes.strip_height = static_cast<float>(settings.strip_height);
}

/// What a file that is dragged onto the Train view is taken for: a run where it looks like one, else a text to train on.
Command open_dropped(const std::filesystem::path& path) {
    std::error_code unknown;
    if (path.extension() == ".safetensors" || std::filesystem::is_directory(path, unknown)) return {command::OpenCheckpoint{path}, ""};
    return {command::OpenTrainingText{path}, ""};
}

}  // namespace

Application::Application(Document document, std::function<void()> wake) : session_(std::move(document), std::move(wake)) {}

void Application::open_lesson(std::shared_ptr<const Lesson> lesson, std::size_t step) {
    lesson_ = std::move(lesson);
    lesson_step_ = step;
}

void Application::draw(Frame& frame) {
    session_.update();
    const std::shared_ptr<const Snapshot> snapshot = session_.snapshot();
    if (first_frame_) recall(frame.settings, view_);
    first_frame_ = false;
    if (first_look_ && snapshot->trace != nullptr) {
        first_look_ = false;
        if (view_.locked.empty()) select_first_cell(view_, *snapshot->trace);
    }
    if (lesson_ != nullptr) app::open_lesson(view_, session_.document(), std::exchange(lesson_, nullptr), lesson_step_);

    CommandSink commands;
    PanelContext context{.theme = frame.theme,
                         .canvas = frame.canvas,
                         .document = session_.document(),
                         .shared_snapshot = snapshot,
                         .snapshot = *snapshot,
                         .training = session_.training(),
                         .view = view_,
                         .matrices = matrices_,
                         .commands = commands,
                         .now = frame.time,
                         .can_undo = session_.can_undo(),
                         .can_redo = session_.can_redo(),
                         .knock_out = session_.knock_out(),
                         .message = session_.message()};
    draw_frame(context);
    if (view_.view == View::Train)
        for (const std::string& file : frame.dropped_files) commands.push_back(open_dropped(file));
    for (const Command& command : commands) session_.apply(command);

    remember(view_, frame.settings);
    frame.settings.preset = (view_.lesson.open() ? *view_.lesson.document_before : session_.document()).preset;
    if (!commands.empty()) frame.redraw_after = 0;
    if (view_.train.replaying) frame.redraw_after = std::clamp(view_.train.next_moment_at - frame.time, 0.0, frame.redraw_after);
    if (view_.playing) frame.redraw_after = std::clamp(view_.next_step_at - frame.time, 0.0, frame.redraw_after);
}

}  // namespace attn::app
