#include "app/application.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/platform/png_file.hpp"
#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/verification.hpp"
#include "engine/io/atomic_file.hpp"

namespace attn::app {
namespace {

/// If the last forward pass took at most kQuickPass milliseconds, or the beginning of the next one is shown first, drawing is held back for
/// at most kLongestHold seconds until the new numbers are there: drawing a frame without them would compete with their computation and
/// delay them.
constexpr double kQuickPass = 40, kLongestHold = 0.06;

void remember(const ViewState& view, Settings& settings) {
    settings.dark = view.dark;
    settings.zoom = view.ui_zoom;
    // Lessons arrange panes themselves; save the user's own arrangement from before the lesson.
    const PaneState& panes = view.lesson.open() ? view.lesson.view_before->panes : view.panes;
    settings.left_pane = panes.left;
    settings.right_pane = panes.right;
    settings.strip = panes.strip;
    settings.map = panes.map;
    settings.morphing = view.morphing;
    settings.left_width = static_cast<double>(view.panes.left_width);
    settings.right_width = static_cast<double>(view.panes.right_width);
    settings.folded_parts.assign(view.settings.folded.begin(), view.settings.folded.end());
    settings.toured = view.toured;
    settings.lessons = lessons_left(view.lesson);
    settings.models_folder = view.files.models_folder;
    settings.desktop_dialog = view.files.desktop.preferred;
    settings.memory_mib = view.memory_mib;
    settings.history_mib = view.train.history_mib;
}

/// Saves the typed texts for the next start, unless a trained model is shown.
void remember(const Document& document, Settings& settings) {
    if (document.preset.empty()) return;
    settings.preset = document.preset;
    // Called every frame, so copy only if something has changed.
    if (settings.texts == document.texts && settings.source_texts == document.source_texts) return;
    const bool kept = text_bytes(document) <= kMostRememberedLetters;
    settings.texts = kept ? document.texts : std::vector<std::string>();
    settings.source_texts = kept ? document.source_texts : std::vector<std::string>();
}

void recall(const Settings& settings, ViewState& view) {
    view.dark = settings.dark;
    view.ui_zoom = settings.zoom;
    view.panes.left = settings.left_pane;
    view.panes.right = settings.right_pane;
    view.panes.strip = settings.strip;
    view.panes.map = settings.map;
    view.morphing = settings.morphing;
    view.panes.left_width = static_cast<float>(settings.left_width);
    view.panes.right_width = static_cast<float>(settings.right_width);
    view.settings.folded.insert(settings.folded_parts.begin(), settings.folded_parts.end());
    view.toured = settings.toured;
    view.lesson.left_at = settings.lessons;
    view.files.models_folder = settings.models_folder;
    view.files.desktop.preferred = settings.desktop_dialog;
    view.memory_mib = settings.memory_mib;
    if (settings.history_mib > 0) view.train.history_mib = settings.history_mib;
}

}  // namespace

Application::Application(Document document, std::function<void()> wake, double memory_mib)
    : wake_(wake), session_(std::move(document), std::move(wake), memory_mib) {
    if (const std::optional<Look> look = opening_look(session_.document())) turn_to(view_, *look);
    else if (const std::optional<Look> own = look_of_own_text(session_.document())) look_afresh(view_, *own);
    if (const auto& notes = conventions_of(session_.document()).notes; !notes.empty())
        session_.apply({command::TellFile{fmt::format("{}", fmt::join(notes, " ")), false}, ""});
}

void Application::open(const std::filesystem::path& file) {
    const std::uint64_t before = session_.files().openings;
    session_.apply({command::OpenFile{file}, ""});
    session_.wait_for_files();
    session_.wait_for_training();
    const FilesState& files = session_.files();
    // A document that opens without a pinned state says so in the window. A run counts as opened before its model is read.
    const bool opened = files.openings != before && files.opened == FileKind::Document;
    if (files.failed && !opened) throw Error(files.notice);
    session_.begin_here();
}

void Application::keep_unsaved_work_in(const std::filesystem::path& folder) {
    if (folder.empty()) return;
    try {
        leftovers_ = AutosaveFolder::leftovers(folder);
    } catch (const std::exception& error) {
        session_.apply({command::TellFile{error.what(), true, NoticeOf::Autosave}, ""});
    }
    autosave_ = std::make_unique<Autosave>(folder);
    session_.hand_runs_over_to([this](const HandedRun& run) { autosave_->keep_run(run); });
}

void Application::end() {
    if (autosave_ == nullptr) return;
    session_.hand_runs_over_to({});
    autosave_->discard();
}

void Application::keep_for_next_start() {
    if (autosave_ == nullptr) return;
    session_.update();
    keep_unsaved_work();
    autosave_->flush();
    // Finishing the current training step may take long; until then the files just written are up to date enough.
    session_.apply({command::PauseTraining{}, ""});
    session_.wait_for_training();
    keep_unsaved_work();
    autosave_->flush();
}

void Application::keep_unsaved_work() {
    const FilesState& files = session_.files();
    if (!view_.lesson.open())
        own_ = {session_.shared_document(), files.unsaved, files.would_be_lost, session_.training().status->run, look_of(view_)};
    const RunStatus& run = *session_.training().status;
    if (view_.lesson.open() && run.run != own_.run) lesson_runs_[run.run] = run.step;
    if (autosave_ == nullptr) return;
    if (!own_.would_be_lost && files.left != nullptr) autosave_->keep_document(files.left, files.left_document, true);
    else autosave_->keep_document(own_.document, files.document, own_.unsaved, own_.look);
    const std::string problem = autosave_->problem();
    if (problem.empty() && !told_problem_.empty()) session_.apply({command::EndNotice{NoticeOf::Autosave}, ""});
    if (!problem.empty() && problem != told_problem_)
        session_.apply({command::TellFile{"Autosave failed: " + problem, true, NoticeOf::Autosave}, ""});
    told_problem_ = problem;
}

WouldBeLost Application::would_be_lost() const {
    const RunStatus& run = *session_.training().status;
    // A lesson's run can be repeated and counts as no loss, unless it was resumed afterwards.
    const auto of_lesson = [this](std::uint64_t number, std::int64_t step) {
        const auto found = lesson_runs_.find(number);
        return found != lesson_runs_.end() && found->second == step;
    };
    const bool own_run = view_.lesson.open() ? run.run == own_.run : !of_lesson(run.run, run.step);
    std::vector<std::uint64_t> earlier;
    for (const KeptRun& other : run.kept)
        if (other.unsaved() && !of_lesson(other.run, other.step)) earlier.push_back(other.run);
    return {own_.would_be_lost, own_run && run.step != run.saved_step, std::move(earlier), session_.files().left != nullptr};
}

void Application::answer_about_leftovers() {
    const FilesState& files = session_.files();
    if (files.restorations != restorations_) {
        restorations_ = files.restorations;
        // Work that could not be restored stays in its folder.
        if (files.restored && restoring_ && autosave_ != nullptr) autosave_->adopt(std::move(*restoring_));
        if (const std::optional<Look>& look = session_.document().look; files.restored && look) look_afresh(view_, *look);
        restoring_.reset();
    }
    const RestoreAnswer answer = std::exchange(view_.files.restore, RestoreAnswer::None);
    if (leftovers_.empty() || answer == RestoreAnswer::None) return;
    AutosaveFolder folder = std::move(leftovers_.front());
    leftovers_.erase(leftovers_.begin());
    if (answer == RestoreAnswer::Discard) return folder.remove();
    // Restore only once per start.
    leftovers_.clear();
    session_.apply({command::RestoreWork{folder.path()}, ""});
    restoring_ = std::move(folder);
}

void Application::lend_desktop_dialogs(std::string bus_address) { portal_ = std::make_unique<FilePortal>(wake_, std::move(bus_address)); }

void Application::live_with(const Abilities& abilities, std::function<void(const std::string&)> copy_link) {
    abilities_ = abilities;
    copy_link_ = std::move(copy_link);
}

void Application::follow_links() {
    if (!std::exchange(view_.files.wants_link, false) || !copy_link_) return;
    Document shown = session_.document();
    if (shown.trained || shown.model || shown.recorded)
        return tell("A link holds no training run, model or recording of your own, only what an example computes.");
    shown.look = look_of(view_);
    copy_link_(document_to_json(shown));
}

void Application::follow_desktop_dialog() {
    if (portal_ == nullptr) return;
    DesktopDialog& desktop = view_.files.desktop;
    desktop.there = portal_->is_there();
    if (desktop.question) portal_->ask(*std::exchange(desktop.question, {}));
    if (!desktop.waiting && asks_desktop_) portal_->give_up();
    asks_desktop_ = desktop.waiting;
    if (auto answer = portal_->take_answer()) desktop.answer = std::move(answer);
}

namespace {

/// Whether a file of this kind is opened by showing another document.
bool shows_document(FileKind kind) { return kind == FileKind::Document || kind == FileKind::Model || kind == FileKind::Recording; }

}  // namespace

void Application::follow_files(Frame& frame) {
    const FilesState& files = session_.files();
    if (files.copies != copies_) ImGui::SetClipboardText(files.clipboard.c_str());
    copies_ = files.copies;
    // Switch to the doctor view for a dump; any other file is shown in the remaining views.
    if (files.openings != openings_ && files.opened == FileKind::Dump) view_.view = View::Doctor;
    if (files.openings != openings_ && shows_document(files.opened)) {
        Look usual;
        usual.view = view_.view == View::Train ? View::Step : view_.view;
        if (usual.view != View::Step) usual.stage.stage = Stage::Weights;
        look_afresh(view_, opening_look(session_.document()).value_or(usual));
    }
    if (files.openings != openings_ && files.opened == FileKind::Lesson) open_lesson(files.lesson, 0);
    if (files.openings != openings_) opens_run_ = files.opened == FileKind::Run;
    openings_ = files.openings;
    // Switch to the Train view once the file has turned out to be a run.
    const std::vector<OpenedRun>& opened = session_.training().status->opened;
    const std::uint64_t order = opened.empty() ? 0 : opened.back().order;
    if (std::exchange(opened_run_, order) != order && std::exchange(opens_run_, false) && opened.back().run != 0) view_.view = View::Train;
    frame.settings.recent_files = files.recent;
    frame.settings.recent_models = files.recent_models;
    frame.title = window_title(files, would_be_lost().run);
}

void Application::order_picture(Frame& frame) {
    if (!view_.files.picture) return;
    const PictureWish wish = *std::exchange(view_.files.picture, {});
    session_.apply({command::EndNotice{}, ""});
    whole_window_ = wish.whole_window;
    PictureOrder order;
    const bool copied = wish.path.empty();  // the clipboard holds text only
    order.svg = copied || wish.path.extension() == ".svg";
    order.scale = order.svg ? 1 : wish.scale;
    order.trim = !wish.whole_window;
    if (copied)
        order.take = [this](const TakenPicture& picture) {
            ImGui::SetClipboardText(picture.svg.c_str());
            session_.apply({command::TellFile{"Copied the picture as SVG.", false}, ""});
        };
    else
        order.take = [this, path = wish.path](TakenPicture picture) {
            session_.write_file(path, [taken = std::move(picture)](const std::filesystem::path& to, const WriteWatch&) {
                if (taken.svg.empty()) write_png(to, taken.image);
                else write_whole_file(to, taken.svg);
            });
        };
    order.fail = [this](const std::string& why) { session_.apply({command::TellFile{why, true}, ""}); };
    frame.picture = std::move(order);
    frame.redraw_after = 0;
}

/// Draws the current view without overlays, then restores the view state, so that drawing has no side effects.
void Application::draw_for_picture(PanelContext& context) {
    PaneState panes = view_.panes;
    if (!whole_window_) panes.only_centre = true;
    context.picture_alone = !whole_window_;
    std::swap(panes, view_.panes);
    const bool help = std::exchange(view_.help, false);
    NoticeView no_notices;
    no_notices.number = context.files.notices;
    NoticeView notices = std::exchange(view_.files.notices, std::move(no_notices));
    const std::optional<double> exporting_since = std::exchange(view_.files.exporting_since, {});
    context.outdated = false;
    const std::optional<double> outdated_since = std::exchange(view_.outdated_since, {});
    const bool morphing = std::exchange(view_.morphing, false);
    const Morph morph = std::exchange(view_.morph, {});
    draw_frame(context);
    view_.morph = morph;
    view_.morphing = morphing;
    view_.outdated_since = outdated_since;
    view_.files.notices = std::move(notices);
    view_.files.exporting_since = exporting_since;
    view_.help = help;
    view_.panes = panes;
}

void Application::open_lesson(std::shared_ptr<const Lesson> lesson, std::size_t step, std::optional<std::size_t> answer) {
    lesson_ = std::move(lesson);
    lesson_step_ = step;
    lesson_answer_ = answer;
}

bool Application::takes_too_long(const Request& request) const {
    constexpr double kMostProducts = 4e9;
    const auto* check = request.facet.as<facet::Verification>();
    const std::shared_ptr<const Snapshot> snapshot = session_.snapshot();
    if (long_checks_ || check == nullptr || !check->part || snapshot->trace == nullptr) return false;
    return products_to_check(*snapshot->trace, *check->part) > kMostProducts;
}

void Application::catch_up(Frame& frame) {
    if (first_frame_) {
        recall(frame.settings, view_);
        session_.apply({command::SetHistoryBudget{view_.train.history_mib}, ""});
        session_.set_recent_files(frame.settings.recent_files, frame.settings.recent_models);
        if (patient_) view_.morphing = false;  // a still picture shows the final state, not an animation
    }
    first_frame_ = false;
    session_.update();
    if (!frame.for_picture) {
        keep_unsaved_work();
        answer_about_leftovers();
        follow_files(frame);
        follow_desktop_dialog();
    }
}

void Application::begin_with(const Snapshot& snapshot) {
    if (first_look_ && snapshot.trace != nullptr) {
        first_look_ = false;
        if (view_.locked.empty()) select_opening_cell(view_, session_.document(), snapshot);
    }
    if (lesson_ != nullptr) {
        app::open_lesson(view_, session_.document(), std::exchange(lesson_, nullptr), lesson_step_);
        if (lesson_answer_) answer_lesson_question(view_, lesson_answer_);
    }
}

void Application::follow_user(Frame& frame, PanelContext& context) {
    CommandSink& commands = context.commands;
    frame.quit = view_.files.closing == Closing::Now;
    if (view_.files.closing == Closing::Saving || view_.files.restore != RestoreAnswer::None) frame.redraw_after = 0;
    for (const std::string& file : frame.dropped_files)
        if (!take_dropped(context, file)) commands.push_back({command::OpenFile{file}, ""});
    for (const Command& command : commands) session_.apply(command);
    order_picture(frame);
    follow_links();

    remember(view_, frame.settings);
    remember(view_.lesson.open() ? *view_.lesson.document_before : session_.document(), frame.settings);
    if (!commands.empty() || view_.files.desktop.question) frame.redraw_after = 0;
    frame.redraw_after = std::min(frame.redraw_after, seconds_at_rest(view_, frame.time));
}

void Application::draw(Frame& frame) {
    catch_up(frame);
    const Session::Shown now_shown = session_.shown();
    const std::shared_ptr<const Snapshot>& snapshot = now_shown.snapshot;
    begin_with(*snapshot);

    CommandSink commands;
    Inquiry::Wait wait;
    if (patient_)
        wait = [this](const Request& request) { return takes_too_long(request) ? session_.results() : session_.wait_for(request); };
    Inquiry inquiry(session_.results(), std::move(wait));
    const std::shared_ptr<const DoctorReport> dump = session_.dump();
    number_store_.begin_frame();
    PanelContext context{{.theme = frame.theme,
                          .canvas = frame.canvas,
                          .document = session_.document(),
                          .inquiry = inquiry,
                          .training = session_.training(),
                          .view = view_,
                          .number_store = number_store_,
                          .commands = commands,
                          .now = frame.time,
                          .can_undo = session_.can_undo(),
                          .can_redo = session_.can_redo(),
                          .undone_part = session_.undone_part(),
                          .redone_part = session_.redone_part(),
                          .dump = dump,
                          .message = session_.message(),
                          .files = session_.files(),
                          .other_step = session_.other_step(),
                          .writing = session_.is_writing(),
                          .writing_problem = session_.writing_problem(),
                          .up_to_date = now_shown.up_to_date,
                          .outdated = now_shown.outdated,
                          .would_be_lost = would_be_lost(),
                          .leftover = leftovers_.empty() || frame.for_picture ? nullptr : &leftovers_.front().words(),
                          .share_computed = session_.share_computed(),
                          .abilities = abilities_},
                         *snapshot,
                         now_shown.states};
    if (frame.for_picture) draw_for_picture(context);
    else if (frame.close_asked) close_window(context);
    if (!frame.for_picture) draw_frame(context);
    if (reads_numbers_) {
        ShownNumbers shown = shown_numbers(context);
        if (shown.matrix.in_blocks()) shown.missing = "this map is too large to be written as it is shown: export writes the stage";
        const bool written = !shown.empty() && !shown.matrix.in_blocks();
        numbers_ = {written ? table_of(context, shown) : nullptr, std::move(shown.missing)};
    }
    if (frame.for_picture) return;
    session_.want(inquiry.wanted());
    follow_user(frame, context);
    hold_for_numbers(frame);
    if (session_.shows_document() && session_.snapshot() == snapshot) frame.on_screen = [this] { session_.drawn(); };
}

void Application::hold_for_numbers(Frame& frame) {
    if (patient_ || session_.is_up_to_date() || session_.shows_document()) return asked_at_.reset();
    if (!asked_at_) asked_at_ = frame.time;
    const std::shared_ptr<const Snapshot> shown = session_.snapshot();
    const double until = *asked_at_ + kLongestHold;
    const bool quick = shown->compute_ms <= kQuickPass || session_.begins_soon();
    if (shown->trace != nullptr && quick && frame.time < until) frame.hold = until - frame.time;
}

}  // namespace attn::app
