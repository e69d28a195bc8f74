/// Models that were left: they are closed, opened again when undo or redo leads back to them, and never mistaken for others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/session/document/document_json.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/io/safetensors.hpp"
#include "tests/support/coarser_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LeftModel : public testing::Test {
protected:
    /// A copy of the same model under another name.
    fs::path copy(const std::string& name) {
        fs::create_directory(folder / name);
        for (const char* file : {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"})
            fs::copy_file(attn::test::fine_model() / file, folder / name / file);
        return folder / name;
    }
    /// `expected`: how many models are then open.
    void open(const fs::path& path, std::size_t expected = 1) {
        session.apply({command::OpenFile{path}, ""});
        settle();
        ASSERT_NE(session.document().model, nullptr) << session.files().notice;
        known.emplace_back(session.document().model.shared());
        // A worker may still be putting down what it has computed; the model is closed in a frame after that.
        for (int frame = 0; frame < 100'000 && open_models() > expected; ++frame) {
            session.update();
            session.wait_for_files();
            std::this_thread::yield();
        }
        ASSERT_EQ(open_models(), expected);
    }
    void apply(auto what) {
        session.apply({std::move(what), ""});
        settle();
    }
    void settle() {
        session.wait_for_files();
        session.wait();
        session.want({});  // as a view, which asks for nothing of what was left
        session.update();
        session.wait_for_files();  // the models that were left are closed
    }
    std::vector<float> logits() {
        const auto values = session.wait()->trace->find({Stage::Logits})->value.values();
        return {values.begin(), values.end()};
    }
    std::size_t open_models() const {
        std::set<std::shared_ptr<const OpenedModel>> found;
        for (const std::weak_ptr<const OpenedModel>& model : known)
            if (!model.expired()) found.insert(model.lock());
        found.erase(nullptr);
        return found.size();
    }

    test::TemporaryFolder folder;
    Session session{open_preset("causal-attention"), [] {}};
    std::vector<std::weak_ptr<const OpenedModel>> known;
};

TEST_F(LeftModel, IsClosedAndEqualPathsShare) {
    std::vector<fs::path> paths;
    for (int i = 0; i < 5; ++i) paths.push_back(copy("model" + std::to_string(i)));
    for (int i = 0; i < 50; ++i) open(paths[static_cast<std::size_t>(i % 5)]);
    // A pinned model stays open, and is not opened a second time.
    session.apply({command::Pin{false, session.states().shown}, ""});
    const OpenedModel* pinned = session.document().model.get();
    open(paths[1], 2);
    open(paths[4]);
    EXPECT_EQ(session.document().model.get(), pinned);
    open(paths[1], 2);
}

TEST_F(LeftModel, OfManyFilesCanBeOpenedAnyNumberOfTimes) {
    const fs::path path = copy("sharded");
    ArrayFile whole = read_safetensors(path / "model.safetensors");
    fs::remove(path / "model.safetensors");
    std::string map;
    for (std::size_t i = 0; i < whole.arrays.size(); ++i) {
        const std::string name = "model-" + std::to_string(i) + ".safetensors";
        ArrayFile part;
        part.arrays.push_back(whole.arrays[i]);
        write_safetensors(path / name, part);
        map += (map.empty() ? "\"" : ",\"") + whole.arrays[i].name + "\":\"" + name + "\"";
    }
    std::ofstream(path / "model.safetensors.index.json") << "{\"weight_map\":{" << map << "}}";
    const fs::path other = copy("other");
    const auto openings = 1024 / whole.arrays.size() + 5;  // more than the files that can be mapped at once
    for (std::size_t i = 0; i < openings; ++i) {
        open(path);
        open(other);
    }
}

TEST_F(LeftModel, IsOpenedAgainByUndoAndRedo) {
    const fs::path a = copy("a"), b = attn::test::coarser_model((fs::create_directory(folder / "b"), folder / "b"));
    open(a);
    apply(command::SetTexts{{"the cat sat on the cat"}, {}});
    const std::vector<float> of_a = logits();
    open(b);
    const std::vector<float> of_b = logits();
    ASSERT_NE(of_a, of_b);
    apply(command::Undo{});
    EXPECT_EQ(session.document().model->path(), a);
    EXPECT_EQ(logits(), of_a);
    apply(command::Redo{});
    EXPECT_EQ(session.document().model->path(), b);
    EXPECT_EQ(logits(), of_b);
    // Pressed twice before the model is there: two steps.
    const std::vector<std::string> text = session.document().texts;
    session.apply({command::Undo{}, ""});
    session.apply({command::Undo{}, ""});
    settle();
    settle();
    EXPECT_EQ(session.document().model->path(), a);
    EXPECT_NE(session.document().texts, text) << "the text before";
    session.apply({command::Redo{}, ""});
    session.apply({command::Redo{}, ""});
    settle();
    settle();
    EXPECT_EQ(session.document().model->path(), b);
}

TEST_F(LeftModel, ThatIsBeingOpenedAgainGivesWayToAChange) {
    open(copy("a"));
    open(copy("b"));
    session.apply({command::Undo{}, ""});
    session.apply({command::SetTexts{{"the cat"}, {}}, ""});
    settle();
    EXPECT_EQ(session.document().model->path(), folder / "b");
    EXPECT_EQ(session.document().texts, std::vector<std::string>{"the cat"});
    EXPECT_FALSE(session.can_redo());
}

TEST_F(LeftModel, ThatChangedMeanwhileIsNotShownAgain) {
    const auto replace = [&](const fs::path& model) {
        const fs::path coarse = folder / "coarse";
        fs::create_directory(coarse);
        fs::copy_file(attn::test::coarser_model(coarse) / "model.safetensors", model / "model.safetensors",
                      fs::copy_options::overwrite_existing);
    };
    const auto retouch = [](const fs::path& model) { std::ofstream(model / "config.json", std::ios::app) << "\n"; };
    const auto add = [](const fs::path& model) { std::ofstream(model / "added_tokens.json") << "{}"; };
    const auto remove = [](const fs::path& model) { fs::remove_all(model); };
    const std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> changes{{"model.safetensors has changed", replace},
                                                                                            {"config.json has changed", retouch},
                                                                                            {"added_tokens.json has changed", add},
                                                                                            {"is gone", remove}};
    for (const auto& [words, change] : changes) {
        SCOPED_TRACE(words);
        const fs::path a = copy("a" + std::to_string(known.size())), b = copy("b" + std::to_string(known.size()));
        session.begin_here();
        open(a);
        session.begin_here();  // the first step is of the model
        open(b);
        change(a);
        const std::vector<float> shown = logits();
        apply(command::Undo{});
        EXPECT_EQ(session.document().model->path(), b);
        EXPECT_EQ(logits(), shown);
        EXPECT_TRUE(session.files().failed);
        EXPECT_THAT(session.files().notice, HasSubstr("cannot be shown again: "));
        EXPECT_THAT(session.files().notice, HasSubstr(words));
    }
}

TEST_F(LeftModel, ThatChangedMeanwhileIsSkipped) {
    const fs::path a = copy("a");
    open(a);
    open(copy("b"));
    std::ofstream(a / "config.json", std::ios::app) << "\n";
    apply(command::Undo{});
    EXPECT_EQ(session.document().model, nullptr);
    EXPECT_EQ(session.document().preset, "causal-attention");
    EXPECT_THAT(session.files().notice, HasSubstr("Skipped a, because "));
    EXPECT_THAT(session.files().notice, HasSubstr("config.json has changed since it was opened"));
    apply(command::Redo{});
    settle();  // the next model is looked for once the first turns out to be lost
    ASSERT_NE(session.document().model, nullptr);
    EXPECT_EQ(session.document().model->path(), folder / "b");
}

TEST_F(LeftModel, IsNamedByADocumentThatWasLeftUnsaved) {
    const fs::path a = copy("a"), file = folder / "mine.attnscope.json";
    open(a);
    apply(command::SaveDocument{file});
    apply(command::OpenFile{file});
    apply(command::SetTexts{{"the cat"}, {}});
    const std::string expected = document_to_json(session.document(), folder.path());
    open(copy("b"));
    ASSERT_NE(session.files().left, nullptr);
    EXPECT_FALSE(session.files().left->model.held());
    EXPECT_EQ(document_to_json(*session.files().left, folder.path()), expected);
    apply(command::GoBackToLeft{});
    EXPECT_EQ(session.document().model->path(), a);
    EXPECT_EQ(session.document().texts, std::vector<std::string>{"the cat"});
    EXPECT_EQ(session.files().document, file);
    EXPECT_TRUE(session.files().unsaved);
}

TEST(OpenedTwice, AModelIsShared) {
    const test::TemporaryFolder folder;
    const fs::path path = attn::test::coarser_model(folder.path());
    std::shared_ptr<const OpenedModel> model = OpenedModel::open(path);
    EXPECT_EQ(OpenedModel::open(path / ""), model);
    EXPECT_EQ(OpenedModel::open(path / "config.json"), model);
    std::ofstream(path / "picture.png") << "of ours";
    std::ofstream(path / "mine.attnscope.json") << "{}";
    EXPECT_EQ(OpenedModel::open(path), model) << "no file of the model";
    const std::shared_ptr<const OpenedModel> elsewhere = OpenedModel::open(attn::test::fine_model());
    EXPECT_NE(elsewhere, model);
    EXPECT_NE(ModelRef(elsewhere), ModelRef(model));
    fs::last_write_time(path / "tokenizer.json", fs::last_write_time(path / "tokenizer.json") + std::chrono::seconds(1));
    const std::shared_ptr<const OpenedModel> changed = OpenedModel::open(path);
    EXPECT_NE(changed, model);
    EXPECT_NE(ModelRef(changed), ModelRef(model));
    EXPECT_EQ(ModelRef(changed).released(), ModelRef(changed));
    EXPECT_FALSE(ModelRef(changed).released().held());
    EXPECT_TRUE(ModelRef(changed).released().held_if_open().held());
}

}  // namespace
}  // namespace attn::app
