#pragma once
/// The session and what is looked at of it, drawn into frames: the same for a window and for a picture.

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/panels/maps/matrix.hpp"
#include "app/panels/panel_context.hpp"
#include "app/panels/view_state.hpp"
#include "app/platform/file_portal.hpp"
#include "app/platform/frame.hpp"
#include "app/session/files/autosave.hpp"
#include "app/session/session.hpp"

namespace attn::app {

/// Used from the UI thread only.
class Application {
public:
    /// `wake` is called from a worker when there is something new to draw. What is computed may take `memory_mib`.
    Application(Document document, std::function<void()> wake, double memory_mib = default_memory_budget_mib());

    /// Keeps what is not saved in this folder from now on, and asks about what a process that is gone has left there. Never throws for what
    /// it finds.
    void keep_unsaved_work_in(const std::filesystem::path& folder);
    /// The person has closed the window: nothing has to be kept.
    void end();
    /// The process is about to end although nobody has closed the window: writes what is not saved as it is now.
    void keep_for_next_start();

    /// From now on files can also be chosen in the desktop's own dialog, where one is found on this bus ("": there is none).
    void lend_desktop_dialogs(std::string bus_address);

    Session& session() { return session_; }
    ViewState& view() { return view_; }

    /// Opens a lesson with the next frame.
    void open_lesson(std::shared_ptr<const Lesson> lesson, std::size_t step = 0, std::optional<std::size_t> answer = {});

    /// Opens a file as if it had been dropped on the window, and waits. Throws Error when it cannot be opened.
    void open(const std::filesystem::path& file);

    /// From now on frames wait for what they show: for pictures. For the check of a large model's shown part only with `long_checks` where
    /// it takes long, which is told by the model and the text and not by a clock.
    void wait_for_what_is_shown(bool long_checks) {
        patient_ = true;
        long_checks_ = long_checks;
    }

    /// Pictures that are taken from outside show what there is to see, not the centre alone.
    void take_whole_window() { whole_window_ = true; }

    /// Draws one frame and applies what the person asked for in it.
    void draw(Frame& frame);

private:
    /// Hands what is not saved to the autosave, and sees to the answer about what was left behind.
    void keep_unsaved_work();
    void answer_about_leftovers();
    WouldBeLost would_be_lost() const;
    /// A picture does not wait for it.
    bool takes_too_long(const Request& request) const;
    /// What the files' worker has done since the last frame.
    void follow_files(Frame& frame);
    /// Carries questions to the desktop's dialog, and its answers back.
    void follow_desktop_dialog();
    /// Hands the picture that was asked for to the platform, and what it gives back to a thread that writes it.
    void note_letters(Frame& frame);
    void order_picture(Frame& frame);
    void write_picture(const std::filesystem::path& path, TakenPicture picture);
    void draw_for_picture(PanelContext& context);
    /// Waits with drawing for numbers that will be there at once.
    void hold_for_numbers(Frame& frame);

    std::function<void()> wake_;
    std::unique_ptr<Autosave> autosave_;  ///< null: nothing is kept; before the session, whose trainer hands its runs to it
    Session session_;
    ViewState view_;
    MatrixStore matrices_;
    std::vector<std::shared_ptr<const void>> tensors_;  ///< that the last frame has drawn
    bool long_checks_ = true;
    bool patient_ = false;                      ///< what a frame asks for is computed before it goes on
    std::shared_ptr<const Document> lettered_;  ///< whose letters these are
    std::u32string letters_;
    std::shared_ptr<const Lesson> lesson_;  ///< to be opened
    std::size_t lesson_step_ = 0;
    std::optional<std::size_t> lesson_answer_;  ///< to its question
    bool first_frame_ = true;
    bool first_look_ = true;     ///< nothing has been computed yet, so nothing could be chosen
    bool whole_window_ = false;  ///< of the picture that is being taken
    std::uint64_t copies_ = 0, openings_ = 0;
    bool opens_run_ = false;          ///< a file that was opened promises a training run
    std::uint64_t run_ = 0;           ///< the training run of the last frame
    std::optional<double> asked_at_;  ///< when the numbers were asked for that are being computed

    /// The person's own document, which a lesson's takes the place of.
    struct Own {
        std::shared_ptr<const Document> document;
        bool unsaved = false, would_be_lost = false;
        std::uint64_t run = 0;
    } own_;
    std::vector<AutosaveFolder> leftovers_;  ///< the first is asked about
    std::optional<AutosaveFolder> restoring_;
    std::uint64_t restorations_ = 0;
    std::string told_problem_;  ///< of the autosave

    std::unique_ptr<FilePortal> portal_;  ///< null: the desktop is not asked
    bool asks_desktop_ = false;           ///< its dialog was open in the last frame

    std::mutex written_mutex_;
    std::optional<command::TellFile> written_;  ///< what became of the last picture
    std::jthread writer_;                       ///< last: it uses what stands above
};

}  // namespace attn::app
