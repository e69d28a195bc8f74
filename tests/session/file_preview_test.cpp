/// File descriptions before opening, and opening lessons like other files.

#include "app/session/files/file_preview.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/lessons/lesson.hpp"
#include "app/session/session.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/safetensors.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Preview : public testing::Test {
protected:
    std::filesystem::path put(const std::string& name, const std::string& contents) const {
        const std::filesystem::path path = folder.path() / name;
        std::ofstream(path, std::ios::binary) << contents;
        return path;
    }
    std::string words(const std::filesystem::path& path) const {
        const FilePreview preview = preview_of(path);
        EXPECT_FALSE(preview.refused) << preview.words;
        EXPECT_EQ(preview.path, path);
        return preview.words;
    }
    std::string refusal(const std::filesystem::path& path) const {
        const FilePreview preview = preview_of(path);
        EXPECT_TRUE(preview.refused) << preview.words;
        return preview.words;
    }
    static constexpr const char* kLesson =
        R"({"name": "mine", "title": "My lesson", "steps": [{"title": "One", "preset": "causal-attention", "caption": "This."}]})";

    test::TemporaryFolder folder;
};

TEST_F(Preview, NamesEveryKindOfFile) {
    Document document = open_preset("causal-attention");
    document.texts = {"the cat sat", "on the mat"};
    save_document(folder.path() / "a.attnscope.json", document);
    EXPECT_EQ(words(folder.path() / "a.attnscope.json"), "Document: “the cat sat” and 1 text more");
    EXPECT_EQ(words(put("mine.json", kLesson)), "Lesson: My lesson, 1 step");
    EXPECT_EQ(words(put("notes.txt", "\n\n  once upon a time\nthere was")), "Text: “  once upon a time”");
    const std::vector<float> numbers(6);
    const NamedArray q = make_array<float>("q", {2, 3}, numbers), k = make_array<float>("k", {6}, numbers);
    write_safetensors(folder.path() / "dump.safetensors", {}, std::vector{view_of(q), view_of(k)});
    EXPECT_THAT(words(folder.path() / "dump.safetensors"), StartsWith("2 tensors: q "));
}

TEST_F(Preview, NamesModelsAndRunsWithTheirSizes) {
    EXPECT_EQ(words(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2"),
              "GPT-2 model: 2 layers of 4 heads, width 48, vocabulary 366");
    Session trained(open_preset("causal-attention"), [] {});
    train(trained, small_run(4));
    save_run(trained, folder.path() / "run");
    const Config& config = trained.training().status->settings.model;
    const std::string expected = "step 4, " + std::to_string(config.num_layers) + " layer";
    put("run/config.json", R"({"model_type": "gpt2"})");
    for (const char* name : {"run/model.safetensors", "run/config.json", "run"}) {
        const std::filesystem::path path = folder.path() / name;
        EXPECT_THAT(words(path), StartsWith("Training run: "));
        EXPECT_THAT(words(path), HasSubstr(expected));
    }
}

TEST_F(Preview, NamesGgufFilesWithTheirSizesAndHowTheyArePacked) {
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/gguf";
    EXPECT_EQ(words(golden / "llama_q4_0.gguf"), "Llama model: 1 layer of 4 heads, width 32, vocabulary 48, mostly Q4_0");
    EXPECT_EQ(words(golden / "llama_linear-00002-of-00003.gguf"),
              "Llama model: 1 layer of 4 heads, width 32, vocabulary 48, mostly F16, in 3 files");
    EXPECT_THAT(refusal(put("broken.gguf", "GGUF but short")), HasSubstr("too short for a GGUF file"));
    EXPECT_THAT(refusal(put("page.gguf", "<html>" + std::string(100, ' '))), HasSubstr("does not begin with \"GGUF\""));
}

TEST_F(Preview, SaysWhyAFileCannotBeOpened) {
    EXPECT_THAT(refusal(folder.path() / "missing.txt"), HasSubstr("missing.txt"));
    EXPECT_THAT(refusal(put("picture.txt", std::string("\x89PNG\0\0", 6))), HasSubstr("neither text"));
    EXPECT_THAT(refusal(put("empty.txt", " \n ")), HasSubstr("no text"));
    EXPECT_THAT(refusal(put("broken.safetensors", "short")), HasSubstr("broken.safetensors"));
    EXPECT_THAT(refusal(put("broken.json", "{")), HasSubstr("broken.json"));
    std::filesystem::create_directory(folder.path() / "other");
    EXPECT_EQ(words(folder.path() / "other"), "") << "a folder to go into";
}

TEST_F(Preview, SaysOfAModelsFolderWhatOpeningItSays) {
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2", weights = "model.safetensors";
    const auto says = [&](const std::string& words) {
        for (const std::filesystem::path& path : {folder.path(), folder.path() / weights}) {
            EXPECT_THAT(refusal(path), HasSubstr(words));
            try {
                read_any_file(path);
                ADD_FAILURE() << "opened " << path;
            } catch (const FileError& error) {
                EXPECT_EQ(refusal(path), error.what());
            }
        }
    };
    std::filesystem::copy_file(golden / weights, folder.path() / weights);
    put("config.json", "{");
    says("config.json, byte 2: is not valid JSON");
    put("config.json", R"({"n_head": 4})");
    says("config.json, /model_type: this field is missing");
    put("config.json", R"({"model_type": "mamba"})");
    says("models of type \"mamba\" cannot be opened yet");
    std::filesystem::copy_file(golden / "config.json", folder.path() / "config.json", std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(words(folder.path()), StartsWith("GPT-2 model: "));
    std::filesystem::remove(folder.path() / "config.json");
    EXPECT_THAT(words(folder.path()), HasSubstr(" tensors: ")) << "GPT-2 needs no config.json";
}

TEST_F(Preview, ADocumentIsOneUnderAnyName) {
    const std::filesystem::path path = folder.path() / "config.json";
    save_document(path, open_preset("causal-attention"));
    EXPECT_THAT(words(path), StartsWith("Document: "));
    EXPECT_EQ(read_any_file(path).kind, FileKind::Document);
}

TEST_F(Preview, IsMadeByTheWorker) {
    Session session(open_preset("causal-attention"), [] {});
    const Document before = session.document();
    const auto path = put("notes.txt", "once");
    session.apply({command::PreviewFile{path}, ""});
    session.wait_for_files();
    ASSERT_NE(session.files().preview, nullptr);
    EXPECT_EQ(session.files().preview->path, path);
    EXPECT_EQ(session.files().preview->words, "Text: “once”");
    EXPECT_EQ(session.document(), before);
    EXPECT_FALSE(session.files().text.has_value()) << "nothing is opened";
    EXPECT_TRUE(session.files().recent.empty());
}

TEST_F(Preview, ALessonIsOpenedLikeAnyFile) {
    Session session(open_preset("causal-attention"), [] {});
    session.apply({command::OpenFile{put("mine.json", kLesson)}, ""});
    session.wait_for_files();
    session.update();
    EXPECT_FALSE(session.files().failed) << session.files().notice;
    EXPECT_EQ(session.files().opened, FileKind::Lesson);
    ASSERT_NE(session.files().lesson, nullptr);
    EXPECT_EQ(session.files().lesson->title, "My lesson");
    session.apply({command::OpenFile{put("wrong.json", R"({"title": "x", "steps": []})")}, ""});
    session.wait_for_files();
    session.update();
    EXPECT_TRUE(session.files().failed);
    EXPECT_EQ(session.files().lesson->title, "My lesson");
}

}  // namespace
}  // namespace attn::app
