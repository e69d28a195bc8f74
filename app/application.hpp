#pragma once
/// The session and what is looked at of it, drawn into frames: the same for a window and for a picture.

#include <functional>

#include "app/panels/matrix.hpp"
#include "app/panels/view_state.hpp"
#include "app/platform/frame.hpp"
#include "app/session/session.hpp"

namespace attn::app {

/// Used from the UI thread only.
class Application {
public:
    /// `wake` is called from a worker when there is something new to draw.
    Application(Document document, std::function<void()> wake);

    Session& session() { return session_; }
    ViewState& view() { return view_; }

    /// Opens a lesson with the next frame.
    void open_lesson(std::shared_ptr<const Lesson> lesson, std::size_t step = 0);

    /// Draws one frame and applies what the person asked for in it.
    void draw(Frame& frame);

private:
    Session session_;
    ViewState view_;
    MatrixStore matrices_;
    std::shared_ptr<const Lesson> lesson_;  ///< to be opened
    std::size_t lesson_step_ = 0;
    bool first_frame_ = true;
    bool first_look_ = true;  ///< nothing has been computed yet, so nothing could be chosen
};

}  // namespace attn::app
