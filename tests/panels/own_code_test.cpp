/// The sheet that tells how to record one's own code.

#include <gtest/gtest.h>
#include <imgui.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "app/panels/files/files.hpp"
#include "assets/embedded.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

class OwnCodeTest : public InterfaceFixture {
protected:
    OwnCodeTest() {
        open_example("causal-attention");
        with_context([](PanelContext& context) { begin_own_code(context); });
        frames(3, ui_frame);
    }
    /// Saves in the open sheet under the proposed name, and reads what was written.
    std::string saved(const std::filesystem::path& path) {
        press(Key::Enter, ui_frame);
        for (int tries = 0; tries < 600 && !std::filesystem::exists(path); ++tries)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        frames(2, ui_frame);
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    TemporaryFolder folder_;
};

TEST_F(OwnCodeTest, CopiesTheLinesOfEachWay) {
    ASSERT_TRUE(press_control("Copy"));
    EXPECT_STREQ(ImGui::GetClipboardText(),
                 "import attnscope\nwith attnscope.record(\"run.attn\", tokens=[\"the\", \"cat\", \"sat\"]):\n    model(x)");
    for (const char* begin : {"run = attnscope.watch(", "import attnscope\nattnscope.show("}) {
        ++view.files.own_code;
        frames(2, ui_frame);
        ASSERT_TRUE(press_control("Copy"));
        EXPECT_TRUE(std::string(ImGui::GetClipboardText()).starts_with(begin)) << ImGui::GetClipboardText();
    }
    EXPECT_EQ(view.files.task, FileTask::OwnCode);
}

TEST_F(OwnCodeTest, SavesTheModuleAndTheExampleAndComesBack) {
    files.recent = {folder_ / "used last"};
    for (const auto& [button, name] : {std::pair("Save attnscope.py…", "attnscope.py"), std::pair("Save an example…", "my_attention.py")}) {
        ASSERT_TRUE(press_control(button));
        frames(2, ui_frame);
        ASSERT_EQ(view.files.task, FileTask::SavePython);
        ASSERT_EQ(view.files.path.text, folder_ / name);
        EXPECT_TRUE(saved(folder_ / name) == find_embedded(embedded_assets(), std::string("python/") + name)->bytes) << name;
        EXPECT_EQ(view.files.task, FileTask::OwnCode);
    }
    ASSERT_TRUE(press_control("Save attnscope.py…"));
    frames(2, ui_frame);
    press(Key::Escape, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::OwnCode) << "back to where it was opened";
    press(Key::Escape, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::None);
}

TEST_F(OwnCodeTest, LeadsToTheFolderTheLessonAndTheHelp) {
    ASSERT_TRUE(press_control("Lesson: your own attention"));
    frames(3, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::None);
    ASSERT_TRUE(view.lesson.open());
    EXPECT_EQ(view.lesson.lesson->name, "your-own-attention");
    session->wait();
    frames(3, ui_frame);
    ASSERT_TRUE(session->document().recorded);
    EXPECT_TRUE(session->document().recorded->recording->is_shipped());
    with_context([](PanelContext& context) { begin_own_code(context); });
    frames(2, ui_frame);
    ASSERT_TRUE(press_control("Help"));
    frames(2, ui_frame);
    EXPECT_TRUE(view.help);
    EXPECT_EQ(view.files.task, FileTask::None);
    view.help = false;
    with_context([](PanelContext& context) { begin_own_code(context); });
    frames(2, ui_frame);
    ASSERT_TRUE(press_control("Open the folder…"));
    frames(2, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::Open);
}

}  // namespace
}  // namespace attn::app::test
