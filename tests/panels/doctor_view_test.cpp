/// The Doctor view: the field for a file of other code is in sight, and keeps the keyboard as long as its path is wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "app/session/session.hpp"
#include "engine/io/array_file.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/trace/trace_file.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

class DoctorView : public InterfaceFixture {
protected:
    void enter(const std::string& path) {
        view.view = View::Doctor;
        view.doctor.focus = true;
        frames(3, ui_frame);
        ImGui::GetIO().AddInputCharactersUTF8(path.c_str());
        frame(ui_frame);
        EXPECT_EQ(view.doctor.path, path);
        press(Key::Enter, ui_frame);
        frames(3, ui_frame);
        session->wait_for_dump();
        frames(4, ui_frame);
    }
};

/// What is typed after a wrong path corrects it.
TEST_F(DoctorView, AWrongPathKeepsTheKeyboardAfterEnter) {
    open_example("gpt-tiny");
    enter("/no such file.npz");
    ImGui::GetIO().AddInputCharactersUTF8("h");
    frames(2, ui_frame);
    EXPECT_EQ(view.doctor.path, "/no such file.npzh");
    EXPECT_EQ(view.view, View::Doctor);
}

TEST_F(DoctorView, AfterEnterTheKeysBelongToTheProgram) {
    open_example("gpt-tiny");
    const attn::test::TemporaryFolder folder;
    const std::filesystem::path dump = folder.path() / "dump.safetensors";
    TokenTexts texts;
    for (const std::int64_t length : trace().tokens.lengths) texts.emplace_back(static_cast<std::size_t>(length), "x");
    write_trace(dump, trace(), texts);
    enter(dump.string());
    ImGui::GetIO().AddInputCharactersUTF8("h");
    frames(2, ui_frame);
    EXPECT_EQ(view.doctor.path, dump.string());
    EXPECT_EQ(view.view, View::Heads);
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

/// Beside a mistake, what a mask hides on both sides is not drawn as numbers that went wrong.
TEST_F(DoctorView, HiddenCellsBesideAMistakeAreHatched) {
    open_example("causal-attention");
    const attn::test::TemporaryFolder folder;
    const std::filesystem::path dump = folder.path() / "dump.safetensors";
    ArrayFile file = trace_arrays(trace());
    NamedArray& masked = *std::find_if(file.arrays.begin(), file.arrays.end(), [](const NamedArray& array) {
        return array.name == tensor_name({Stage::Masked, 0});
    });
    std::vector<float> numbers = file.values<float>(masked.name);
    const auto hidden = std::count_if(numbers.begin(), numbers.end(), [](float number) { return number < -1e30F; });
    ASSERT_GT(hidden, 0);
    for (float& number : numbers)
        if (number < -1e30F) number = -std::numeric_limits<float>::infinity();
    numbers[0] += 1;
    masked = make_array<float>(masked.name, masked.shape, numbers);
    write_safetensors(dump, file);
    enter(dump.string());
    const auto report = session->dump();
    ASSERT_NE(report, nullptr);
    bool shown = false;
    for (std::size_t place = 0; place < report->diagnosis.findings.size(); ++place) {
        view.doctor.finding = place;
        frame(ui_frame);
        for (const NullCanvas::Call& call : canvas.calls) {
            shown = shown || call.request.data.keep != nullptr;
            EXPECT_EQ(call.alarming, 0) << place;
        }
    }
    EXPECT_TRUE(shown);
}

}  // namespace
}  // namespace attn::app::test
