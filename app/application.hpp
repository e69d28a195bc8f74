#pragma once
/// Connects the session, the view state and the panels, and draws them into frames; used for windows and for pictures.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/state/view_state.hpp"
#include "app/platform/file_portal.hpp"
#include "app/platform/frame.hpp"
#include "app/session/document/number_table.hpp"
#include "app/session/files/autosave.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/session.hpp"

namespace attn::app {

/// UI thread only.
class Application {
public:
    /// `wake` is called from workers when there is something new to draw. `memory_mib` limits the memory of computed results.
    Application(Document document, std::function<void()> wake, double memory_mib = default_memory_budget_mib());

    /// Starts autosaving into this folder, and asks about work left there by processes that have ended. Damaged contents never cause an
    /// exception.
    void keep_unsaved_work_in(const std::filesystem::path& folder);
    /// The user has closed the window: removes autosaved work.
    void end();
    /// The process is about to end without the user closing the window: writes unsaved work.
    void keep_for_next_start();

    /// Enables the desktop's own file dialog if one is found on this bus ("": none).
    void lend_desktop_dialogs(std::string bus_address);

    /// Adapts to a system that cannot do everything. `copy_link` is called with a document to make a link to, if there are links.
    void live_with(const Abilities& abilities, std::function<void(const std::string& document)> copy_link);

    Session& session() { return session_; }
    ViewState& view() { return view_; }

    /// Opens a lesson in the next frame.
    void open_lesson(std::shared_ptr<const Lesson> lesson, std::size_t step = 0, std::optional<std::size_t> answer = {});

    /// Shows a notice in the first frames.
    void tell(const std::string& notice) { session_.apply({command::TellFile{notice, false}, ""}); }

    /// Opens a file as if it was dropped onto the window, and waits for it; what was there before cannot be undone to. Throws Error if it
    /// cannot be opened. To be called before the first frame.
    void open(const std::filesystem::path& file);

    /// Makes frames wait for everything they show, for rendering pictures. `long_checks`: also for verifying the shown part of a large
    /// model, even if that takes long. (Decided by model and text size, not by a clock, so that pictures are reproducible.)
    void wait_for_what_is_shown(bool long_checks) {
        patient_ = true;
        long_checks_ = long_checks;
    }

    /// Makes every frame also read the numbers of the view it draws; see numbers().
    void read_numbers() { reads_numbers_ = true; }
    /// Of the last frame drawn.
    struct Numbers {
        std::shared_ptr<const NumberTable> table;  ///< null: see `missing`
        std::string missing{};
    };
    const Numbers& numbers() const { return numbers_; }

    /// Makes pictures requested from outside show the whole window instead of the centre pane.
    void take_whole_window() { whole_window_ = true; }

    /// Draws one frame and applies the user's actions in it.
    void draw(Frame& frame);

private:
    /// Passes unsaved work to the autosave.
    void keep_unsaved_work();
    void answer_about_leftovers();
    WouldBeLost would_be_lost() const;
    /// Whether pictures do not wait for a request.
    bool takes_too_long(const Request& request) const;
    /// Brings in what the settings, the session, files and the desktop have for this frame.
    void catch_up(Frame& frame);
    /// Selects a cell of the first numbers, and opens the lesson that was asked for.
    void begin_with(const Snapshot& snapshot);
    /// Carries out what the user did in the frame.
    void follow_user(Frame& frame, PanelContext& context);
    /// Applies what the file worker has done since the last frame.
    void follow_files(Frame& frame);
    /// Passes requests to the desktop's dialog and its answers back.
    void follow_desktop_dialog();
    /// Passes a requested picture to the platform; the result is written in the background.
    void order_picture(Frame& frame);
    void draw_for_picture(PanelContext& context);
    /// Passes a requested link on, or says why there is none.
    void follow_links();
    /// Holds the frame if new numbers are expected within a moment, see Frame::hold.
    void hold_for_numbers(Frame& frame);

    std::function<void()> wake_;
    std::unique_ptr<Autosave> autosave_;  ///< null: no autosave; declared before the session, whose trainer passes runs to it
    Session session_;
    ViewState view_;
    NumberStore number_store_;
    bool long_checks_ = true;
    bool reads_numbers_ = false;
    Numbers numbers_;
    bool patient_ = false;                  ///< frames wait for everything they request
    std::shared_ptr<const Lesson> lesson_;  ///< to be opened in the next frame
    std::size_t lesson_step_ = 0;
    std::optional<std::size_t> lesson_answer_;  ///< the answer to choose for its question
    bool first_frame_ = true;
    bool first_look_ = true;     ///< nothing has been computed yet, so no cell was selected
    bool whole_window_ = false;  ///< for the picture being rendered
    std::uint64_t copies_ = 0, openings_ = 0;
    bool opens_run_ = false;          ///< an opened file is expected to become the current training run
    std::uint64_t opened_run_ = 0;    ///< number of the last order to open a run that was carried out
    std::optional<double> asked_at_;  ///< when the numbers being computed were requested

    /// The user's own document while a lesson is open.
    struct Own {
        std::shared_ptr<const Document> document;
        bool unsaved = false, would_be_lost = false;
        std::uint64_t run = 0;
        std::optional<Look> look{};
    } own_;
    /// Runs that lessons began, and the steps they had reached when the lesson was left.
    std::map<std::uint64_t, std::int64_t> lesson_runs_;
    std::vector<AutosaveFolder> leftovers_;  ///< the user is asked about the first
    std::optional<AutosaveFolder> restoring_;
    std::uint64_t restorations_ = 0;
    std::string told_problem_;  ///< the last autosave problem reported

    Abilities abilities_;
    std::function<void(const std::string&)> copy_link_;
    std::unique_ptr<FilePortal> portal_;  ///< null: not enabled
    bool asks_desktop_ = false;           ///< its dialog was open in the last frame
};

}  // namespace attn::app
