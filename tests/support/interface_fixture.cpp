#include "tests/support/interface_fixture.hpp"

#include "app/panels/compare/comparison.hpp"
#include "app/panels/frame.hpp"
#include "app/panels/navigation.hpp"
#include "app/session/presets.hpp"

namespace attn::app::test {

void InterfaceFixture::open_example(const std::string& preset) {
    session = std::make_unique<Session>(open_preset(preset), [] {});
    session->wait(true);
    select_first_cell(view, trace());
    frames(3, ui_frame);
}

void InterfaceFixture::with_context(const std::function<void(PanelContext&)>& use) {
    session->update();
    if (instant) session->wait(false);
    if (instant) session->wait_for_other_moment();
    if (instant) session->wait_for_kept_readings();
    snapshot_ = session->snapshot();
    CommandSink sink;
    PanelContext context{.theme = theme,
                         .canvas = canvas,
                         .document = session->document(),
                         .shared_snapshot = snapshot_,
                         .snapshot = *snapshot_,
                         .training = session->training(),
                         .view = view,
                         .matrices = matrices,
                         .commands = sink,
                         .now = now,
                         .can_undo = session->can_undo(),
                         .can_redo = session->can_redo(),
                         .files = files,
                         .other_moment = session->other_moment(),
                         .other_step = session->other_step(),
                         .would_be_lost = would_be_lost,
                         .leftover = leftover,
                         .kept_readings = session->kept_readings()};
    matrices.use(*snapshot_, other_states(context));
    use(context);
    for (const Command& command : sink) {
        commands.push_back(command);
        if (!carry_out) continue;
        session->apply(command);
        if (instant) session->wait(false);
    }
}

void InterfaceFixture::draw() {
    with_context(draw_frame);
    now += 1.0 / 60;
}

}  // namespace attn::app::test
