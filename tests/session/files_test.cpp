/// Opening, saving and exporting by the session's worker: valid files, and invalid ones that must change nothing.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "app/session/document/document_json.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/session.hpp"
#include "app/session/values/doctor_report.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

class Files : public testing::Test {
protected:
    std::filesystem::path put(const std::string& name, const std::string& contents) {
        const std::filesystem::path path = folder.path() / name;
        std::ofstream(path, std::ios::binary) << contents;
        return path;
    }
    void send(auto what) {
        session.apply({what, ""});
        session.wait_for_files();
        session.update();  // applies the commands that follow from a result
    }
    const FilesState& files() const { return session.files(); }
    /// A folder with the weights of a foreign model.
    std::filesystem::path foreign_folder() const {
        const std::filesystem::path path = folder.path() / "bert";
        std::filesystem::create_directory(path);
        const std::vector<float> numbers(4);
        const NamedArray array = make_array<float>("encoder.layer.0.attention.self.query.weight", {2, 2}, numbers);
        write_safetensors(path / "model.safetensors", {{"format", "pt"}}, std::vector{view_of(array)});
        return path;
    }
    std::filesystem::path empty_folder() const {
        const std::filesystem::path path = folder.path() / "nothing";
        std::filesystem::create_directory(path);
        return path;
    }

    test::TemporaryFolder folder;
    Session session{open_preset("causal-attention"), [] {}};
};

TEST_F(Files, ADocumentIsSavedWholeAndOpenedAgain) {
    RunSettings run = small_run(77);
    run.train.adamw.weight_decay = 0.25;
    session.apply({command::SetRun{run}, ""});
    session.apply({command::SetSampling{{.temperature = 0.5, .top_k = 3}}, ""});
    session.apply({command::SetTexts{{"one two", "three"}, {}}, ""});
    session.update();
    EXPECT_TRUE(files().unsaved);
    const std::filesystem::path path = folder.path() / "mine.attnscope.json";
    send(command::SaveDocument{path});
    EXPECT_FALSE(files().failed) << files().notice;
    EXPECT_FALSE(files().unsaved);
    EXPECT_EQ(files().document, path);
    ASSERT_FALSE(files().recent.empty());
    EXPECT_EQ(files().recent.front(), path.string());

    Session other(open_preset("gpt-tiny"), [] {});
    other.apply({command::OpenFile{path}, ""});
    other.wait_for_files();
    EXPECT_EQ(other.document(), session.document());
    EXPECT_EQ(other.files().document, path);
    EXPECT_FALSE(other.files().unsaved);
    EXPECT_EQ(other.document().run.train.adamw.weight_decay, 0.25);
    other.apply({command::Undo{}, ""});
    EXPECT_EQ(other.document(), open_preset("gpt-tiny"));
}

TEST_F(Files, TheMarkOfUnsavedChangesComesAndGoes) {
    session.update();
    EXPECT_FALSE(files().unsaved);
    session.apply({command::SetTexts{{"changed"}, {}}, ""});
    session.update();
    EXPECT_TRUE(files().unsaved);
    session.apply({command::Undo{}, ""});
    session.update();
    EXPECT_FALSE(files().unsaved);
    session.apply({command::SetTexts{{"changed"}, {}}, ""});
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    session.update();
    EXPECT_FALSE(files().unsaved);
}

TEST_F(Files, UndoAndRedoTakeTheFileAlong) {
    session.apply({command::SetTexts{{"mine"}, {}}, ""});
    const auto path = folder.path() / "mine.json";
    send(command::SaveDocument{path});
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    session.update();
    EXPECT_TRUE(files().document.empty());
    session.apply({command::SetTexts{{"yours"}, {}}, ""});
    session.apply({command::Undo{}, ""});
    session.update();
    EXPECT_TRUE(files().document.empty()) << "still the example";
    session.apply({command::Undo{}, ""});
    session.update();
    EXPECT_EQ(files().document, path);
    EXPECT_FALSE(files().unsaved);
    session.apply({command::Redo{}, ""});
    session.update();
    EXPECT_TRUE(files().document.empty());
    send(command::OpenFile{path});
    EXPECT_EQ(files().document, path);
    session.apply({command::Undo{}, ""});
    session.update();
    EXPECT_TRUE(files().document.empty()) << "saving now must not overwrite the file with the example";
    session.apply({command::Redo{}, ""});
    session.update();
    EXPECT_EQ(files().document, path);
    EXPECT_FALSE(files().unsaved);
}

TEST_F(Files, WhatIsLeftUnsavedIsRememberedAndGoneBackTo) {
    const auto path = folder.path() / "d.json";
    send(command::SaveDocument{path});
    session.apply({command::SetTexts{{"not saved"}, {}}, ""});
    session.update();
    EXPECT_EQ(files().left, nullptr) << "it is open";
    send(command::OpenFile{std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2"});
    session.update();
    ASSERT_NE(session.document().model, nullptr) << files().notice;
    ASSERT_NE(files().left, nullptr);
    EXPECT_EQ(files().left->texts, (std::vector<std::string>{"not saved"}));
    EXPECT_EQ(files().left_document, path);
    EXPECT_EQ(files().notice, "d.json has changes that are not saved: undo goes back to it.");
    session.apply({command::SetTexts{{"of the model"}, {}}, ""});
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    session.update();
    EXPECT_EQ(files().left_document, path) << "a model's text is in no file";
    session.apply({command::GoBackToLeft{}, ""});
    session.update();
    EXPECT_EQ(session.document().texts, (std::vector<std::string>{"not saved"}));
    EXPECT_EQ(files().document, path);
    EXPECT_TRUE(files().would_be_lost);
    EXPECT_EQ(files().left, nullptr);
    send(command::Redo{});  // opens the model again
    EXPECT_NE(files().left, nullptr) << "left again";
    send(command::OpenFile{path});
    session.update();
    EXPECT_EQ(files().left, nullptr) << "opening the file again gives up the changes";
    session.apply({command::GoBackToLeft{}, ""});
    EXPECT_EQ(files().document, path) << "nothing to go back to";
}

TEST_F(Files, WhatNothingLeadsToIsNotLeftBehind) {
    const auto b = folder.path() / "b.json", c = folder.path() / "c.json";
    send(command::SaveDocument{b});
    session.apply({command::SetTexts{{"of c"}, {}}, ""});
    send(command::SaveDocument{c});
    send(command::OpenFile{b});
    send(command::OpenFile{c});
    session.apply({command::SetTexts{{"of c, changed"}, {}}, ""});
    send(command::SaveDocument{c});
    session.apply({command::Undo{}, ""});
    session.update();
    session.apply({command::Undo{}, ""});
    session.update();
    ASSERT_EQ(files().document, b);
    session.apply({command::SetTexts{{"of b"}, {}}, ""});
    session.update();
    EXPECT_EQ(files().left, nullptr) << "redo is gone, and c is saved";
}

TEST_F(Files, WhatIsLeftTwiceIsGoneBackToOneByOne) {
    const auto a = folder.path() / "a.json", b = folder.path() / "b.json";
    send(command::SaveDocument{b});
    send(command::SaveDocument{a});
    session.apply({command::SetTexts{{"a, changed"}, {}}, ""});
    session.update();
    send(command::OpenFile{b});
    session.apply({command::SetTexts{{"b, changed"}, {}}, ""});
    session.update();
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    session.update();
    EXPECT_EQ(files().left_document, b);
    session.apply({command::GoBackToLeft{}, ""});
    session.update();
    EXPECT_EQ(session.document().texts, (std::vector<std::string>{"b, changed"}));
    EXPECT_EQ(files().left_document, a) << "it is not forgotten on the way";
    session.apply({command::GoBackToLeft{}, ""});
    session.update();
    EXPECT_EQ(session.document().texts, (std::vector<std::string>{"a, changed"}));
    EXPECT_EQ(files().left_document, b);
}

TEST_F(Files, WhatIsSavedIsNotLeftBehind) {
    send(command::SaveDocument{folder.path() / "d.json"});
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    session.update();
    EXPECT_EQ(files().left, nullptr);
}

TEST_F(Files, TheTextToTrainOnStaysInTheDocument) {
    const std::string text = "to be, or\nnot tö be\n";
    send(command::OpenFile{put("hamlet.txt", text)});
    ASSERT_TRUE(files().text.has_value());
    send(command::UseText{command::UseText::As::Training});
    EXPECT_FALSE(files().text.has_value());
    ASSERT_NE(session.document().run.task.text, nullptr);
    const Document again = document_from_json(document_to_json(session.document()), "d");
    EXPECT_EQ(again.run.task.kind, TaskKind::Text);
    EXPECT_EQ(again.run.task.text_name, "hamlet.txt");
    ASSERT_NE(again.run.task.text, nullptr);
    EXPECT_EQ(*again.run.task.text, text);
    Document binary = session.document();
    binary.run.task.text = std::make_shared<const std::string>("\xFF");
    EXPECT_THROW(document_to_json(binary), FileError);
}

TEST_F(Files, ATextCanBeLookedAtOrLeft) {
    std::string text = "\n";
    for (int i = 0; i < 20; ++i) text += "line " + std::to_string(i) + "\n\n";
    const auto path = put("lines.txt", text);
    send(command::OpenFile{path});
    send(command::UseText{command::UseText::As::Nothing});
    EXPECT_EQ(session.document(), open_preset("causal-attention"));
    send(command::OpenFile{path});
    send(command::UseText{command::UseText::As::Probe});
    ASSERT_EQ(session.document().texts.size(), 8U);
    EXPECT_EQ(session.document().texts.front(), "line 0");
    EXPECT_EQ(files().notice, "The first 8 of 20 lines are shown.");
    send(command::OpenFile{put("long.txt", std::string(3000, 'x') + "\n")});
    send(command::UseText{command::UseText::As::Probe});
    EXPECT_EQ(session.document().texts, (std::vector<std::string>{std::string(3000, 'x')})) << "one line has all the room";
    send(command::OpenFile{put("longer.txt", "short\n" + std::string(3000, 'x') + "\n")});
    send(command::UseText{command::UseText::As::Probe});
    EXPECT_EQ(session.document().texts, (std::vector<std::string>{"short", std::string(2048, 'x')}));
    EXPECT_EQ(files().notice, "Of line 2, the first 2,048 of 3,000 bytes are shown.");
    EXPECT_EQ(lines_with_text("äää\nb", 2, 3), (std::vector<std::string>{"ä", "b"}));
    EXPECT_EQ(lines_with_text(" \t\n\r\n").size(), 0U);
}

TEST_F(Files, AFileOfAModelsFolderOpensTheModel) {
    const auto golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2";
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
        send(command::OpenFile{golden / name});
        ASSERT_NE(session.document().model, nullptr) << name << ": " << files().notice;
        EXPECT_EQ(session.document().model->path(), golden.lexically_normal());
        ASSERT_FALSE(files().recent_models.empty());
        EXPECT_EQ(files().recent_models.front(), golden.string());
        send(command::OpenPreset{"causal-attention"});
    }
    EXPECT_EQ(read_any_file(golden / "expected.safetensors").kind, FileKind::Dump);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(golden);
    EXPECT_EQ(read_any_file("config.json").kind, FileKind::Model) << "a name without a folder";
    std::filesystem::current_path(before);
    std::filesystem::copy(golden, folder.path() / "copy");
    std::filesystem::copy_file(golden / "expected.safetensors", folder.path() / "copy/model_trace.safetensors");
    EXPECT_EQ(read_any_file(folder.path() / "copy/model_trace.safetensors").kind, FileKind::Dump);
}

TEST_F(Files, ARunIsTakenUp) {
    {
        Session trained(open_preset("causal-attention"), [] {});
        train(trained, small_run(4));
        save_run(trained, folder.path());
    }
    put("config.json", R"({"model_type": "gpt2"})");
    for (const char* name : {"config.json", "model.safetensors"}) {
        send(command::OpenPreset{"causal-attention"});
        send(command::OpenFile{folder.path() / name});
        session.wait_for_training();
        EXPECT_EQ(files().opened, FileKind::Run) << name;
        ASSERT_NE(session.training().status, nullptr) << name;
        EXPECT_EQ(session.training().status->step, 4) << name;
    }
}

TEST_F(Files, WhatCannotBeReadIsSaidOnceAndChangesNothing) {
    const std::string json = document_to_json(session.document());
    const std::vector<std::pair<std::filesystem::path, std::string>> bad = {
        {folder.path() / "missing.json", "missing.json"},
        {put("broken.json", json.substr(0, json.size() / 2)), "broken.json"},
        {put("other.json", "{\"format\": \"something else\"}"), "other.json"},
        {put("empty.txt", ""), "no text"},
        {put("binary.txt", std::string("a\0b", 3)), "binary.txt"},
        {put("short.safetensors", "1234"), "short.safetensors"},
        {put("torn.safetensors", std::string("\xFF\0\0\0\0\0\0\0{", 9)), "torn.safetensors"},
        {put("noise.safetensors", std::string("\2\0\0\0\0\0\0\0[]", 10)), "noise.safetensors"},
        {put("archive.zip", "PK\x03\x04zzzz"), ".npz"},
        {put("array.npy", "\x93NUMPY......"), "format version"},
        {folder.path(), "model.safetensors"},
        {foreign_folder(), "neither a checkpoint of attnscope nor a GPT-2"},
        {empty_folder(), "holds neither a training run (model.safetensors) nor a published model"},
    };
    const Document before = session.document();
    for (const auto& [path, words] : bad) {
        SCOPED_TRACE(path);
        const std::uint64_t notices = files().notices;
        send(command::OpenFile{path});
        EXPECT_EQ(files().notices, notices + 1);
        EXPECT_TRUE(files().failed);
        EXPECT_NE(files().notice.find(words), std::string::npos) << files().notice;
        EXPECT_EQ(std::count(files().notice.begin(), files().notice.end(), '\n'), 0);
        EXPECT_EQ(session.document(), before);
        EXPECT_TRUE(files().document.empty());
        EXPECT_TRUE(files().recent.empty());
        EXPECT_FALSE(files().text.has_value());
    }
    EXPECT_EQ(files().openings, 0U);
    EXPECT_FALSE(session.can_undo());
}

TEST_F(Files, ARunThatTurnsOutToBeDamagedIsRefusedInTheSamePlace) {
    train(session);
    save_run(session, folder.path() / "run");
    std::fstream(folder.path() / "run" / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary).seekp(-8, std::ios::end)
        << "damaged!";
    const Document before = session.document();
    const std::uint64_t run = session.training().status->run;
    send(command::OpenFile{folder.path() / "run"});
    session.wait_for_training();
    EXPECT_TRUE(files().failed);
    EXPECT_NE(files().notice.find((folder.path() / "run").string()), std::string::npos) << files().notice;
    EXPECT_EQ(session.document(), before);
    EXPECT_EQ(session.training().status->run, run);
}

TEST_F(Files, ADumpIsExamined) {
    session.wait();
    send(command::ExportTensor{folder.path() / "good.safetensors", {{Stage::Weights, 0}, {}, {}, false}});
    send(command::OpenFile{folder.path() / "good.safetensors"});
    EXPECT_EQ(files().opened, FileKind::Dump);
    EXPECT_FALSE(files().failed) << files().notice;
    ASSERT_NE(session.dump(), nullptr);
    session.wait_for_dump();
    EXPECT_EQ(session.dump()->diagnosis.verdict, doctor::Verdict::Correct) << session.dump()->diagnosis.explanation;

    ArrayFile wrong = read_safetensors(folder.path() / "good.safetensors");
    for (NamedArray& array : wrong.arrays)
        if (array.name == "layers.0.attention.weights") array.bytes[0] = std::byte{0x77}, array.bytes[3] = std::byte{0x40};
    write_safetensors(folder.path() / "wrong.safetensors", wrong);
    send(command::OpenFile{folder.path() / "wrong.safetensors"});
    session.wait_for_dump();
    EXPECT_EQ(session.dump()->diagnosis.verdict, doctor::Verdict::Wrong) << session.dump()->diagnosis.explanation;
    EXPECT_EQ(session.document(), open_preset("causal-attention"));
}

TEST_F(Files, NumbersAndOperandsAreExported) {
    session.wait();
    const TensorChoice weights{{Stage::Weights, 0}, 0, 1, false};
    for (const char* name : {"a.csv", "a.npy", "a.safetensors", "a.npz"}) {
        send(command::ExportTensor{folder.path() / name, weights});
        EXPECT_FALSE(files().failed) << files().notice;
        EXPECT_TRUE(std::filesystem::is_regular_file(folder.path() / name));
        EXPECT_NE(files().notice.find(name), std::string::npos);
    }
    EXPECT_NE(read_npz(folder.path() / "a.npz").find("masked"), nullptr);
    EXPECT_NE(read_safetensors(folder.path() / "a.safetensors").find("layers.0.attention.q"), nullptr);
    send(command::ExportTensor{folder.path() / "a.txt", weights});
    EXPECT_TRUE(files().failed);
    send(command::ExportTensor{folder.path() / "nowhere" / "a.csv", weights});
    EXPECT_TRUE(files().failed);
    EXPECT_NE(files().notice.find("nowhere"), std::string::npos);
    send(command::ExportTensor{folder.path() / "b.csv", {{Stage::FfnOut, 0}, {}, {}, false}});
    EXPECT_TRUE(files().failed);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "b.csv"));
}

TEST_F(Files, ASnippetComesToTheClipboard) {
    session.wait();
    send(command::CopySnippet{{Stage::Scores, 0}, false});
    EXPECT_EQ(files().copies, 1U);
    EXPECT_NE(files().clipboard.find("import numpy"), std::string::npos);
    send(command::CopySnippet{{Stage::Scores, 0}, true});
    EXPECT_EQ(files().copies, 2U);
    EXPECT_NE(files().clipboard.find("import torch"), std::string::npos);
    send(command::CopySnippet{{Stage::FfnOut, 0}, true});
    EXPECT_EQ(files().copies, 2U);
    EXPECT_TRUE(files().failed);
}

TEST_F(Files, FoldersAreListed) {
    std::filesystem::create_directory(folder.path() / "zoo");
    put("b.txt", "");
    put(".hidden", "");
    std::filesystem::create_directory(folder.path() / ".cache");
    put("a.txt", "");
    send(command::ListFolder{folder.path()});
    ASSERT_NE(files().listing, nullptr);
    ASSERT_EQ(files().listing->entries.size(), 5U);
    EXPECT_EQ(files().listing->entries[3].name, ".cache") << "hidden ones last";
    EXPECT_EQ(files().listing->entries[4].name, ".hidden");
    EXPECT_EQ(files().listing->entries[0].name, "zoo");
    EXPECT_TRUE(files().listing->entries[0].folder);
    EXPECT_EQ(files().listing->entries[1].name, "a.txt");
    send(command::ListFolder{folder.path() / "missing"});
    EXPECT_FALSE(files().listing->problem.empty());
}

TEST_F(Files, TextsThatAreTooLongAreRefusedWithOneSentence) {
    const Document before = session.document();
    const std::string longest(kTextLimitBytes, 'x');
    session.apply({command::SetTexts{{longest, "y"}, {}}, ""});
    EXPECT_EQ(session.document(), before);
    EXPECT_TRUE(files().failed);
    EXPECT_EQ(files().notice, "the text is 129 KiB long; at most 128 KiB can be shown");
    session.apply({command::SetTexts{{longest}, {}}, ""});
    EXPECT_EQ(session.document().texts, std::vector{longest}) << "as much as the limit is taken";
    Document big = before;
    big.texts = {std::string(900'000, 'x')};
    const std::filesystem::path path = folder.path() / "big.attnscope.json";
    save_document(path, big);
    send(command::OpenFile{path});
    EXPECT_TRUE(files().failed);
    EXPECT_EQ(session.document().texts, std::vector{longest});
}

}  // namespace
}  // namespace attn::app
