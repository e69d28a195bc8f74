/// The Doctor view: the field for a file of other code is in sight and keeps the keyboard.

#include <gtest/gtest.h>

#include "app/session/session.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class DoctorView : public InterfaceFixture {};

/// Keys typed after Enter used to be shortcuts of the view.
TEST_F(DoctorView, ThePathFieldKeepsTheKeyboardAfterEnter) {
    open_example("gpt-tiny");
    view.view = View::Doctor;
    view.dump_focus = true;
    frames(3, ui_frame);
    ImGui::GetIO().AddInputCharactersUTF8("/no such file.npz");
    frame(ui_frame);
    EXPECT_EQ(view.dump_path, "/no such file.npz");
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    session->wait_for_dump();
    frames(2, ui_frame);
    ImGui::GetIO().AddInputCharactersUTF8("h");
    frames(2, ui_frame);
    EXPECT_EQ(view.dump_path, "/no such file.npzh");
    EXPECT_EQ(view.view, View::Doctor);
}

TEST_F(DoctorView, ThePathFieldIsInSightInASmallWindow) {
    open_example("gpt-tiny");
    view.view = View::Doctor;
    ImGui::GetIO().DisplaySize = {1280, 720};
    frames(3, ui_frame);
    const auto place = find_item("##centre", {"##dump_path"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(place);
    EXPECT_LT(place->y, 300);
}

}  // namespace
}  // namespace attn::app::test
