#pragma once
/// The whole interface with a real session, frame by frame; commands are applied before the next frame.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/session.hpp"
#include "app/session/values/snapshot.hpp"
#include "tests/support/imgui_fixture.hpp"

namespace attn::app::test {

class InterfaceFixture : public ImGuiFixture {
protected:
    InterfaceFixture() { contents_have_windows = true; }

    /// Opens a preset, waits until it is computed and verified, selects a cell and draws three frames.
    void open_example(const std::string& preset);
    const Trace<float>& trace() const { return *session->snapshot()->trace; }
    /// Calls `use` with a panel context, then applies the commands.
    void with_context(const std::function<void(PanelContext&)>& use);
    /// What the desk answers about the shown state.
    Matrix ask(const std::function<Matrix(const NumberDesk& numbers, const Subject& shown)>& question);
    Matrix map_of(const StageId& id, std::int64_t sequence, std::int64_t head) {
        return ask([&](const NumberDesk& numbers, const Subject& shown) {
            return numbers.numbers({.of = shown, .stage = id, .sequence = sequence, .head = head}).map;
        });
    }
    /// Computes a facet of the shown or another state. Fails the test if it does not exist.
    template <class F>
    std::shared_ptr<const typename F::Value> get(const F& facet) {
        return session->get(facet);
    }
    std::shared_ptr<const Snapshot> computed(const StateRef& state) {
        const auto answer = session->compute(state, facet::Trace{});
        EXPECT_TRUE(answer) << answer.problem;
        return answer.value;
    }
    /// Pins the shown state.
    void pin(bool b = false) { session->apply({command::Pin{b, session->states().shown}, ""}); }
    /// Clicks on a control that was drawn in the last frame, by the words that it is found by; false if there is none.
    bool press_control(std::string_view words);
    /// Presses Ctrl and a letter, then draws three frames.
    void control(char letter, bool shift = false);
    /// The commands of one kind so far.
    template <class What>
    std::vector<What> all() const {
        std::vector<What> found;
        for (const Command& command : commands)
            if (const auto* what = std::get_if<What>(&command.what)) found.push_back(*what);
        return found;
    }
    /// Where the canvas drew the map of the current stage: the largest one.
    NullCanvas::Call largest_map() const {
        NullCanvas::Call best;
        float area = -1;
        for (const auto& call : canvas.calls) {
            const float size = (call.max.x - call.min.x) * (call.max.y - call.min.y);
            if (size > area) {
                area = size;
                best = call;
            }
        }
        return best;
    }
    /// Draws one frame of the whole interface.
    virtual void draw();

    const std::function<void()> ui_frame = [this] { draw(); };
    std::unique_ptr<Session> session;
    FilesState files;
    WouldBeLost would_be_lost;
    const AutosaveWords* leftover = nullptr;
    Abilities abilities;
    ViewState view;
    NumberStore number_store;
    std::vector<Command> commands;  ///< of all frames
    bool carry_out = true;          ///< otherwise they are only recorded
    bool instant = true;            ///< effects of commands are computed before the next frame
    double now = 0;

private:
    // The matrices of the last context point into these.
    std::shared_ptr<const Snapshot> snapshot_;
    std::optional<Inquiry> inquiry_;
};

}  // namespace attn::app::test
