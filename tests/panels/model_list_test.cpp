/// The models in the Open sheet, the models folder, and the memory limit in the settings.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/model_shelf.hpp"
#include "app/session/session.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ModelList : public InterfaceFixture {
protected:
    ModelList() {
        carry_out = false;
        session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->wait();
        frames(3, ui_frame);
    }
    void open_sheet() {
        with_context([](PanelContext& context) { begin_open_model(context); });
        frames(3, ui_frame);
    }
    void put_models() {
        auto shelf = std::make_shared<ModelShelf>();
        shelf->folder = view.files.models_folder;
        shelf->models = {{"mine/gpt2", "/m/gpt2", ModelShelf::Place::Recent, 0, "it no longer exists"},
                         {"openai-community/gpt2", "/c/models--openai-community--gpt2", ModelShelf::Place::Cache, 548'105'171, ""},
                         {"small.gguf", "/m/small.gguf", ModelShelf::Place::Folder, 900, ""}};
        files.models = shelf;
        frames(2, ui_frame);
    }
    bool has_button(const char* label) {
        const auto hover = [&](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        };
        return find_item("##open_sheet", {label}, hover, 60, 15).has_value();
    }
};

TEST_F(ModelList, WhoHasOpenedNothingSeesTheModels) {
    with_context([](PanelContext& context) { begin_open(context); });
    frames(3, ui_frame);
    EXPECT_TRUE(view.files.shelf);
    ASSERT_EQ(all<command::ListModels>().size(), 1U) << "asked for once";
    view.files.task = FileTask::None;
    ImGui::ClearActiveID();
    frames(2, ui_frame);
    files.recent = {"/data/a.json"};
    with_context([](PanelContext& context) { begin_open(context); });
    frames(2, ui_frame);
    EXPECT_FALSE(view.files.shelf);
    EXPECT_EQ(view.files.path.text, "/data/");
}

TEST_F(ModelList, TheMenuOfExamplesLeadsToTheModels) {
    const auto press_item = [&](const char* window, std::initializer_list<const char*> path) {
        const auto at = find_item(window, path, [&](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        });
        ASSERT_TRUE(at.has_value()) << window;
        click(at->x, at->y, ui_frame);
        frames(3, ui_frame);
    };
    press_item("##top", {"##presets", "button"});
    press_item("##Popup", {"Open a model…", "item"});
    EXPECT_EQ(view.files.task, FileTask::Open);
    EXPECT_TRUE(view.files.shelf);
}

TEST_F(ModelList, TypingFiltersByNameAndEnterOpens) {
    open_sheet();
    put_models();
    EXPECT_THAT(view.files.path.completions, ElementsAre("/m/gpt2", "/c/models--openai-community--gpt2", "/m/small.gguf"));
    type("OPENAI", ui_frame);
    frames(2, ui_frame);
    EXPECT_THAT(view.files.path.completions, ElementsAre("/c/models--openai-community--gpt2"));
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/c/models--openai-community--gpt2");
    EXPECT_EQ(view.files.task, FileTask::None);
}

TEST_F(ModelList, TheArrowsChooseAndWhatIsChosenIsLookedAt) {
    open_sheet();
    put_models();
    press(Key::Down, ui_frame);
    press(Key::Down, ui_frame);
    frames(2, ui_frame);
    ASSERT_FALSE(all<command::PreviewFile>().empty());
    EXPECT_EQ(all<command::PreviewFile>().back().path, "/c/models--openai-community--gpt2");
    press(Key::Down, ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/m/small.gguf");
}

TEST_F(ModelList, TheMissingModelOfADocumentIsChosenHere) {
    files.missing_model = MissingModel{"/d/mine.attnscope.json", "/gone/gpt2", "the model of this document cannot be opened"};
    files.missing_models = 1;
    frames(2, ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::Model);
    put_models();
    press(Key::Down, ui_frame);
    press(Key::Down, ui_frame);
    frames(2, ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/d/mine.attnscope.json");
    EXPECT_EQ(all<command::OpenFile>()[0].model, "/c/models--openai-community--gpt2");
    EXPECT_EQ(all<command::OpenFile>()[0].model_was, "/gone/gpt2");
    with_context([](const PanelContext& context) { EXPECT_FALSE(asks_for_model(context)) << "until it fails again"; });
}

TEST_F(ModelList, ANameThatNoModelHasIsNotTaken) {
    const auto can_choose = [&](const char* label) {
        for (const FocusStop& stop : view.focus.stops())
            if (stop.label == label) return stop.reachable;
        return false;
    };
    for (const bool tokenizer : {false, true}) {
        const char* label = tokenizer ? "Choose##do" : "Open##do";
        with_context([&](PanelContext& context) { tokenizer ? begin_tokenizer(context) : begin_open_model(context); });
        frames(3, ui_frame);
        put_models();
        type("sma", ui_frame);
        frames(2, ui_frame);
        EXPECT_TRUE(can_choose(label));
        type("x", ui_frame);
        frames(2, ui_frame);
        EXPECT_FALSE(can_choose(label));
        press(Key::Enter, ui_frame);
        frames(2, ui_frame);
        EXPECT_NE(view.files.task, FileTask::None) << "the sheet stays open";
        EXPECT_TRUE(view.token_path.other.empty());
        EXPECT_TRUE(all<command::OpenFile>().empty());
        press(Key::Escape, ui_frame);
        frames(2, ui_frame);
    }
}

TEST_F(ModelList, ATypedPathIsTakenUnlessItIsKnownNotToExist) {
    with_context([](PanelContext& context) { begin_tokenizer(context); });
    frames(3, ui_frame);
    type("/data/none", ui_frame);
    frames(2, ui_frame);
    ASSERT_FALSE(all<command::PreviewFile>().empty());
    EXPECT_EQ(all<command::PreviewFile>().back().path, "/data/none");
    files.preview = std::make_shared<const FilePreview>(FilePreview{"/data/none", "/data/none: cannot be opened", true, false});
    frames(2, ui_frame);
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::Tokenizer);
    files.preview = std::make_shared<const FilePreview>(FilePreview{"/data/none", "/data/none: no model", true, true});
    frames(2, ui_frame);
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.token_path.other, "/data/none") << "its tokenizer may be read all the same";
}

TEST_F(ModelList, WhatIsKnownToBeRefusedHasNoButtonAndStaysClosed) {
    open_sheet();
    put_models();
    press(Key::Down, ui_frame);
    EXPECT_EQ(view.files.path.chosen, 0);
    EXPECT_FALSE(has_button("Open##do"));
    EXPECT_TRUE(has_button("Cancel"));
    press(Key::Enter, ui_frame);
    EXPECT_TRUE(all<command::OpenFile>().empty());
    EXPECT_EQ(view.files.task, FileTask::Open);
    with_context([](const PanelContext& context) { EXPECT_TRUE(models_are_listed(context)) << "Enter does not go into its folder"; });
    frames(3, ui_frame);  // until the field has the keyboard again
    EXPECT_EQ(view.files.path.chosen, 0) << "nor does it leave its line";
    press(Key::Down, ui_frame);
    EXPECT_TRUE(has_button("Open##do"));
    files.preview = std::make_shared<const FilePreview>(
        FilePreview{"/c/models--openai-community--gpt2", "config.json, /model_type: attnscope cannot read models of type whisper", true});
    frames(2, ui_frame);
    EXPECT_FALSE(has_button("Open##do"));
    press(Key::Enter, ui_frame);
    EXPECT_TRUE(all<command::OpenFile>().empty());
}

/// Its tokenizer may be whole.
TEST_F(ModelList, ATokenizerIsTakenFromWhatCannotBeOpened) {
    with_context([](PanelContext& context) { begin_tokenizer(context); });
    frames(3, ui_frame);
    put_models();
    press(Key::Down, ui_frame);
    EXPECT_TRUE(has_button("Choose##do"));
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::None);
}

TEST_F(ModelList, APathLeavesTheModels) {
    open_sheet();
    put_models();
    type("/data/", ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(view.files.shelf);
    ASSERT_FALSE(all<command::ListFolder>().empty());
    EXPECT_EQ(all<command::ListFolder>().back().folder, "/data/");
}

TEST_F(ModelList, LinesSayWhereAModelIsHowLargeAndWhatIsWrong) {
    open_sheet();
    put_models();
    with_context([](const PanelContext& context) {
        EXPECT_EQ(model_line(context, "/c/models--openai-community--gpt2").name, "openai-community/gpt2");
        EXPECT_EQ(model_line(context, "/c/models--openai-community--gpt2").note, "cache   548.1 MB");
        EXPECT_EQ(model_line(context, "/m/gpt2").note, "it no longer exists");
        EXPECT_EQ(model_line(context, "/m/small.gguf").note, "models folder      900 B");
    });
}

TEST_F(ModelList, LongProblemsAreShortenedAndRecentModelsAreCalledSo) {
    open_sheet();
    auto shelf = std::make_shared<ModelShelf>();
    shelf->folder = view.files.models_folder;
    shelf->models = {{"a", "/a", ModelShelf::Place::Recent, 0, "/a/config.json: there is no snapshot in this folder of the cache"},
                     {"b", "/b", ModelShelf::Place::Recent, 0, ""}};
    files.models = shelf;
    with_context([](const PanelContext& context) {
        EXPECT_EQ(model_line(context, "/a").note, "cannot be opened");
        EXPECT_EQ(model_line(context, "/b").note, "recent");
    });
}

TEST(BytesWords, CountInThousands) {
    EXPECT_EQ(bytes_words(0), "0 B");
    EXPECT_EQ(bytes_words(999), "999 B");
    EXPECT_EQ(bytes_words(1000), "1 kB");
    EXPECT_EQ(bytes_words(250'400), "250 kB");
    EXPECT_EQ(bytes_words(2'540'000), "2.5 MB");
    EXPECT_EQ(bytes_words(3'210'000'000), "3.2 GB");
}

TEST_F(ModelList, AModelsFolderIsAskedForAnew) {
    open_sheet();
    view.files.models_folder = "/m";
    frames(2, ui_frame);
    ASSERT_EQ(all<command::ListModels>().size(), 2U);
    EXPECT_EQ(all<command::ListModels>().back().folder, "/m");
    EXPECT_TRUE(view.files.path.completions.empty()) << "what was listed without it does not count";
    put_models();
    EXPECT_EQ(view.files.path.completions.size(), 3U);
}

TEST(ShownBytes, PartsOfCharactersAreHexadecimal) {
    EXPECT_EQ(shown_bytes("\x88"), "88");
    EXPECT_EQ(shown_bytes(" \xF0\x9F"), "\u2423 F0 9F");
    EXPECT_EQ(shown_bytes("h\xC3"), "h C3");
    EXPECT_EQ(shown_bytes("\x81"
                          "a\xE5"),
              "81 a E5");
    EXPECT_EQ(shown_bytes("\xE3\x81\xAE\xE5"), visible_text("\xE3\x81\xAE") + " E5");
    EXPECT_EQ(shown_bytes("\xE3\x81\xAE\xE3\x81\xAE\xE5"), visible_text("\xE3\x81\xAE\xE3\x81\xAE") + " E5");
    EXPECT_EQ(shown_bytes(" the"), "\u2423the");
}

TEST(ShownTokens, AnIdWithoutATextIsNamedByItsNumber) {
    const std::vector<std::string> vocabulary = {"a", "", " b"};
    EXPECT_EQ(shown_token(vocabulary, 0), "a");
    EXPECT_EQ(shown_token(vocabulary, 1), "#1");
    EXPECT_EQ(shown_token(vocabulary, 2), "\u2423b");
    EXPECT_EQ(shown_token(vocabulary, 3), "#3");
    EXPECT_EQ(chip_text({"", 73069, false, false}), "#73069");
    EXPECT_EQ(chip_text({" b c", 2, false, false}), "\u2423b c");
}

}  // namespace
}  // namespace attn::app::test
