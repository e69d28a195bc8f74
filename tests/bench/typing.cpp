/// Measures the time from a letter typed after 64 tokens to the frames on screen with its effects: the first, with the current map and the
/// arithmetic of the selected cell, and the one that also has the next-token candidates. In a published model, or in an untrained one of
/// the largest teaching size.
///
/// Usage: typing_bench [LETTERS [MODEL_FOLDER]]
///
/// Runs the program's own window and loop at 1600 x 1000 pixels on the available display (xvfb-run provides one). The time starts with the
/// frame that receives the letter, as from a text field, and ends when the frame with the new numbers has been rendered and its buffers
/// swapped. Every second letter is timed to the first of these frames, the others to the second. Input and display latency of the system
/// are not included.

#include <glad/gl.h>
// Must follow glad, which declares OpenGL.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "app/application.hpp"
#include "app/cli/waiting_threads.hpp"
#include "app/platform/app_loop.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/memory.hpp"
#include "tests/bench/teaching_size.hpp"

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

/// Types a letter some time after the last one has appeared on screen.
class Typist {
public:
    Typist(Application& application, std::string text, int letters)
        : application_(application), text_(std::move(text)), letters_(letters) {}

    void operator()(Frame& frame) {
        const bool types = !typed_at_ && Clock::now() >= next_ && application_.session().is_up_to_date();
        begun_ = Clock::now();
        if (types) {
            type();
            typed_at_ = begun_;
            frames_ = 0;
        }
        const bool words_are_known = typed_at_ && !to_first_ && has_next_words();
        application_.draw(frame);
        if (frame.hold == 0) ++frames_;
        // Only frames that draw the numbers of the text tell when they are on screen.
        if (typed_at_ && frame.on_screen && (to_first_ ? has_the_letter() : words_are_known)) {
            if (to_first_) laid_out_ms_.push_back(ms_since(*typed_at_));
            frame.on_screen = [this, on_screen = std::move(frame.on_screen)] {
                on_screen();
                glFinish();  // wait until the frame is rendered
                note();
            };
        } else if (!typed_at_) {
            frame.redraw_after = std::min(frame.redraw_after, 0.02);
        }
        frame.quit = std::ssize(took_) >= letters_ && std::ssize(first_) >= letters_;
    }

    void tell() const {
        fmt::print("letter to picture, {} tokens: median {:.1f} ms, 90 % within {:.1f} ms; with the next words: median {:.1f} ms, 90 % "
                   "within {:.1f} "
                   "ms; the pass alone: median {:.1f} ms; frames drawn for a letter: {:.1f}; the last frame: median {:.1f} ms; until the "
                   "first is laid "
                   "out, before it is rendered: median {:.1f} ms ({} letters)\n",
                   application_.session().snapshot()->trace->tokens.length, percentile(first_, 0.5), percentile(first_, 0.9),
                   percentile(took_, 0.5), percentile(took_, 0.9), percentile(pass_, 0.5),
                   static_cast<double>(all_frames_) / static_cast<double>(took_.size()), percentile(rendered_ms_, 0.5),
                   percentile(laid_out_ms_, 0.5), took_.size());
    }

private:
    void type() {
        // A different text each time, because results are cached.
        const auto i = static_cast<int>(took_.size() + first_.size());
        typed_ = text_ + " " + static_cast<char>('a' + i % 26) + static_cast<char>('a' + i / 26 % 26);
        application_.session().apply({command::SetTexts{{typed_}, {}}, ""});
    }
    bool has_the_letter() const {
        const auto snapshot = application_.session().snapshot();
        return snapshot->state != nullptr && snapshot->state->setup->texts[0] == typed_;
    }
    /// Whether the next frame has everything.
    bool has_next_words() {
        application_.session().update();
        return has_the_letter() && application_.session().is_up_to_date() &&
               application_.session().results().find(application_.session().states().shown, facet::NextWords{});
    }
    void note() {
        Session& session = application_.session();
        const StateRef state = session.states().shown;
        constexpr StageId kSeen{Stage::Norm1, 0};
        if (session.snapshot()->trace->find(kSeen) == nullptr && !session.results().find(state, facet::Inside{kSeen}))
            throw Error("the layer is not in the picture");
        rendered_ms_.push_back(ms_since(begun_));
        (to_first_ ? first_ : took_).push_back(ms_since(*typed_at_));
        if (!to_first_) {
            pass_.push_back(session.snapshot()->compute_ms);
            all_frames_ += frames_;
        }
        to_first_ = !to_first_;
        typed_at_.reset();
        next_ = Clock::now() + std::chrono::milliseconds(250);
    }

    Application& application_;
    std::string text_, typed_;
    int letters_;
    std::optional<Clock::time_point> typed_at_;
    Clock::time_point next_ = Clock::now() + std::chrono::seconds(2);
    bool to_first_ = true;
    int frames_ = 0, all_frames_ = 0;
    Clock::time_point begun_;
    std::vector<double> first_, took_, pass_, rendered_ms_, laid_out_ms_;
};

int measure(Document document, int letters) {
    const std::string text = words(63);
    document.texts = {text};
    Waker waker;
    Application application(document, [&waker] { waker.wake(); });
    application.session().wait();
    Typist typist(application, text, letters);
    Settings settings;
    settings.window_width = 1600, settings.window_height = 1000;
    run_window({}, settings, waker, [&](Frame& frame) { typist(frame); });
    typist.tell();
    return 0;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) {
    try {
        // As the program does.
        attn::app::let_waiting_threads_sleep(argv);
        attn::return_large_memory();
        attn::keep_spare_memory(std::size_t{64} << 20);
        using namespace attn::app;
        return measure(argc > 2 ? document_of_model(OpenedModel::open(argv[2])) : teaching_size(),
                       argc > 1 ? std::max(1, std::atoi(argv[1])) : 60);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
