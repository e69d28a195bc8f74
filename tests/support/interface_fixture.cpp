#include "tests/support/interface_fixture.hpp"

#include <algorithm>
#include <utility>

#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/session/document/presets.hpp"

namespace attn::app::test {

void InterfaceFixture::open_example(const std::string& preset) {
    session = std::make_unique<Session>(open_preset(preset), [] {});
    session->wait();
    select_first_cell(view, trace());
    frames(3, ui_frame);
}

void InterfaceFixture::with_context(const std::function<void(PanelContext&)>& use) {
    session->update();
    if (instant) session->wait();
    const Session::Shown shown = session->shown();
    snapshot_ = shown.snapshot;
    CommandSink sink;
    Inquiry::Wait wait;
    if (instant) wait = [this](const Request& request) { return session->wait_for(request); };
    Inquiry& inquiry = inquiry_.emplace(session->results(), std::move(wait));
    number_store.begin_frame();
    PanelContext context{{.theme = theme,
                          .canvas = canvas,
                          .document = session->document(),
                          .inquiry = inquiry,
                          .training = session->training(),
                          .view = view,
                          .number_store = number_store,
                          .commands = sink,
                          .now = now,
                          .can_undo = session->can_undo(),
                          .can_redo = session->can_redo(),
                          .undone_part = session->undone_part(),
                          .redone_part = session->redone_part(),
                          .dump = session->dump(),
                          .files = files,
                          .other_step = session->other_step(),
                          .writing = session->is_writing(),
                          .writing_problem = session->writing_problem(),
                          .up_to_date = shown.up_to_date,
                          .outdated = shown.outdated,
                          .would_be_lost = would_be_lost,
                          .leftover = leftover,
                          .abilities = abilities},
                         *snapshot_,
                         shown.states};
    use(context);
    session->want(inquiry.wanted());
    for (const Command& command : sink) {
        commands.push_back(command);
        if (!carry_out) continue;
        session->apply(command);
        if (instant) session->wait();
    }
}

Matrix InterfaceFixture::ask(const std::function<Matrix(const NumberDesk&, const Subject&)>& question) {
    Matrix answer;
    with_context([&](PanelContext& context) { answer = question(context.numbers(), context.shown()); });
    return answer;
}

bool InterfaceFixture::press_control(std::string_view words) {
    const auto& stops = view.focus.stops();
    const auto found = std::find_if(stops.begin(), stops.end(), [&](const FocusStop& stop) { return stop.words == words; });
    if (found == stops.end()) return false;
    const ImVec2 at{(found->left + found->right) / 2, (found->top + found->bottom) / 2};
    click(at.x, at.y, ui_frame);
    frames(3, ui_frame);
    return true;
}

void InterfaceFixture::control(char letter, bool shift) {
    hold_modifiers(true, shift);
    press(letter, ui_frame);
    hold_modifiers(false, false);
    frames(3, ui_frame);
}

void InterfaceFixture::draw() {
    with_context(draw_frame);
    now += 1.0 / 60;
}

}  // namespace attn::app::test
