/// Keys and sheets of the File menu, which produce commands and picture requests.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "app/panels/export/copy.hpp"
#include "app/panels/files/desktop_sheet.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/widgets/number.hpp"
#include "engine/model/knock_out.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

class FilesPanel : public InterfaceFixture {
protected:
    FilesPanel() {
        carry_out = false;
        session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->wait();
        frames(3, ui_frame);
    }
};

TEST_F(FilesPanel, TypingReplacesTheProposedName) {
    control('S');
    const std::string folder = view.files.path.text.substr(0, view.files.path.text.rfind('/') + 1);
    frames(3, ui_frame);
    type("mine", ui_frame);
    EXPECT_EQ(view.files.path.text, folder + "mine");
    type(".", ui_frame);
    EXPECT_EQ(view.files.path.text, folder + "mine.") << "once";
}

TEST_F(FilesPanel, SaveAsksOnceWhereAndThenKnows) {
    control('S');
    ASSERT_EQ(view.files.task, FileTask::Save);
    EXPECT_TRUE(view.files.path.text.ends_with("causal-attention.attnscope.json"));
    view.files.path.text = "/elsewhere/";
    view.files.path.focus = true;
    ImGui::ClearActiveID();
    frames(3, ui_frame);
    type("c.json", ui_frame);
    EXPECT_TRUE(all<command::SetForward>().empty()) << "letters that are typed are no shortcuts";
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::SaveDocument>().size(), 1U);
    EXPECT_EQ(all<command::SaveDocument>()[0].path, "/elsewhere/c.json");
    EXPECT_EQ(view.files.task, FileTask::None);

    files.document = "/elsewhere/c.json";
    control('S');
    EXPECT_EQ(view.files.task, FileTask::None);
    EXPECT_EQ(all<command::SaveDocument>().size(), 2U);
    control('S', true);
    EXPECT_EQ(view.files.task, FileTask::Save);
}

TEST_F(FilesPanel, OpenListsFoldersAndCompletesNames) {
    files.recent = {"/data/old/run.safetensors"};
    control('O');
    ASSERT_EQ(view.files.task, FileTask::Open);
    ASSERT_FALSE(all<command::ListFolder>().empty());
    EXPECT_EQ(all<command::ListFolder>().back().folder, "/data/old/");
    auto listing = std::make_shared<FolderListing>();
    listing->folder = "/data/old/";
    listing->entries = {{"runs", true}, {"run.safetensors", false}, {"text.txt", false}};
    files.listing = listing;
    frames(2, ui_frame);
    type("ru", ui_frame);
    ASSERT_EQ(view.files.path.completions.size(), 2U);
    press(Key::Tab, ui_frame);
    EXPECT_EQ(view.files.path.text, "/data/old/run");
    press(Key::Down, ui_frame);
    press(Key::Down, ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/data/old/run.safetensors");
}

TEST_F(FilesPanel, WhatIsTypedFiltersAndEnterOpensTheFirst) {
    files.recent = {"/data/old/run.safetensors", "/data/new/run.safetensors"};
    control('O');
    auto listing = std::make_shared<FolderListing>();
    listing->folder = "/data/old/";
    listing->entries = {{"models", true}, {"Hamlet.txt", false, 12}, {"run.safetensors", false, 4000}, {"a.attnscope.json", false, 9}};
    files.listing = listing;
    frames(2, ui_frame);
    EXPECT_EQ(view.files.path.completions.size(), 5U) << "the recent file from elsewhere first, then the folder";
    EXPECT_EQ(view.files.path.completions.front(), "/data/new/run.safetensors");
    view.files.filter = FileFilter::Documents;
    frames(2, ui_frame);
    EXPECT_EQ(view.files.path.completions, (std::vector<std::string>{"/data/old/models/", "/data/old/a.attnscope.json"}));
    view.files.filter = FileFilter::All;
    type("ml", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.files.path.completions, (std::vector<std::string>{"/data/old/Hamlet.txt"})) << "no name begins so: one has it in it";
    ASSERT_FALSE(all<command::PreviewFile>().empty());
    EXPECT_EQ(all<command::PreviewFile>().back().path, "/data/old/Hamlet.txt") << "what Enter takes is lit and described";
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/data/old/Hamlet.txt");
}

TEST_F(FilesPanel, OnlyModelsAreOfferedWhereAModelIsChosen) {
    files.recent = {"/data/new/other.gguf", "/data/new/text.txt"};
    view.files.filter = FileFilter::Texts;  // as chosen when something else was opened
    auto listing = std::make_shared<FolderListing>();
    listing->folder = "/data/old/";
    listing->entries = {{"models", true}, {"hamlet.txt", false, 12}, {"q4.gguf", false, 4000}, {"dump.npz", false, 9}};
    files.listing = listing;
    for (const auto& begin : {begin_beside, begin_choosing_model}) {
        with_context(begin);
        view.files.shelf = false;
        view.files.path.text = view.files.opened_at = "/data/old/";
        frames(3, ui_frame);
        EXPECT_EQ(view.files.path.completions,
                  (std::vector<std::string>{"/data/new/other.gguf", "/data/old/models/", "/data/old/q4.gguf"}));
        with_context([](PanelContext& context) { ask_desktop(context, DesktopQuestion::What::OpenFile); });
        ASSERT_EQ(view.files.desktop.question->filters.size(), 1U);
        EXPECT_EQ(view.files.desktop.question->filters[0].patterns, (std::vector<std::string>{"*.safetensors", "*.gguf"}));
        EXPECT_EQ(view.files.desktop.question->filter, 0U);
    }
}

TEST_F(FilesPanel, ATypedFolderOffersOnlyRecentFilesBelowIt) {
    files.recent = {"/data/old/run.safetensors", "/data/new/run.safetensors", "/usr/share/words/text.txt"};
    control('O');
    frames(2, ui_frame);
    const std::vector<std::string> elsewhere{"/data/new/run.safetensors", "/usr/share/words/text.txt"};
    EXPECT_EQ(view.files.path.completions, elsewhere);
    view.files.path.text = "/usr/";
    ImGui::ClearActiveID();
    auto listing = std::make_shared<FolderListing>();
    listing->folder = "/usr/";
    listing->entries = {{"bin", true}};
    files.listing = listing;
    frames(2, ui_frame);
    EXPECT_EQ(view.files.path.completions, (std::vector<std::string>{"/usr/share/words/text.txt", "/usr/bin/"}));
}

TEST_F(FilesPanel, HiddenNamesAreOfferedToThoseWhoTypeADot) {
    files.recent = {"/data/old/run.safetensors"};
    control('O');
    auto listing = std::make_shared<FolderListing>();
    listing->folder = "/data/old/";
    listing->entries = {{"cache", true}, {".cache", true}, {".config", true}};
    files.listing = listing;
    frames(2, ui_frame);
    EXPECT_EQ(view.files.path.completions, (std::vector<std::string>{"/data/old/cache/"}));
    type(".ca", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.files.path.completions, (std::vector<std::string>{"/data/old/.cache/"}));
}

TEST_F(FilesPanel, BackspaceBehindAFolderLeavesIt) {
    files.recent = {"/data/old/run.safetensors"};
    control('O');
    ASSERT_EQ(view.files.path.text, "/data/old/");
    press(Key::Backspace, ui_frame);
    EXPECT_EQ(view.files.path.text, "/data/");
    EXPECT_EQ(all<command::ListFolder>().back().folder, "/data/");
    press(Key::Backspace, ui_frame);
    EXPECT_EQ(view.files.path.text, "/");
    type("xy", ui_frame);
    press(Key::Backspace, ui_frame);
    EXPECT_EQ(view.files.path.text, "/x") << "within a name it takes a letter";
}

TEST_F(FilesPanel, WhatIsChosenIsLookedAtBeforeItIsOpened) {
    files.recent = {"/data/old/run.safetensors"};
    control('O');
    auto listing = std::make_shared<FolderListing>();
    listing->folder = "/data/old/";
    listing->entries = {{"gpt2", true}, {"text.txt", false, 5}};
    files.listing = listing;
    frames(2, ui_frame);
    for (int i = 0; i < 3; ++i) press(Key::Down, ui_frame);
    ASSERT_FALSE(all<command::PreviewFile>().empty());
    EXPECT_EQ(all<command::PreviewFile>().back().path, "/data/old/text.txt");
    const std::size_t asked = all<command::PreviewFile>().size();
    frames(5, ui_frame);
    EXPECT_EQ(all<command::PreviewFile>().size(), asked) << "once each";
    // A folder is listed, and opened only if it is a model or a run.
    press(Key::Up, ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.files.path.text, "/data/old/gpt2/");
    EXPECT_EQ(all<command::PreviewFile>().back().path, "/data/old/gpt2/");
    press(Key::Enter, ui_frame);
    EXPECT_TRUE(all<command::OpenFile>().empty()) << "nothing is known of it yet";
    files.preview = std::make_shared<const FilePreview>(FilePreview{"/data/old/gpt2/", "GPT-2 model: 2 layers of 4 heads", false});
    frames(3, ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/data/old/gpt2");
}

TEST_F(FilesPanel, AWholePathBehindTheOfferedFolderTakesItsPlace) {
    files.recent = {"/data/old/run.safetensors"};
    control('O');
    ASSERT_EQ(view.files.path.text, "/data/old/");
    type("/elsewhere/x.json", ui_frame);
    EXPECT_EQ(view.files.path.text, "/elsewhere/x.json");
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/elsewhere/x.json");
}

TEST_F(FilesPanel, EnterHeldDownDoesNotConfirmThePathThatIsOffered) {
    hold(Key::Enter, true);  // as after choosing a palette line with it
    frames(2, ui_frame);
    view.files.task = FileTask::Save;
    view.files.path.text = "/elsewhere/c.json";
    view.files.path.focus = true;
    frames(60, ui_frame);
    EXPECT_TRUE(all<command::SaveDocument>().empty());
    EXPECT_EQ(view.files.task, FileTask::Save);
    hold(Key::Enter, false);
    frames(2, ui_frame);
    press(Key::Enter, ui_frame);
    EXPECT_EQ(all<command::SaveDocument>().size(), 1U);
}

TEST_F(FilesPanel, WhatIsSavedWithoutAnEndingGetsItsOwn) {
    for (const auto& [typed, saved] :
         {std::pair{"/elsewhere/mine", "/elsewhere/mine.attnscope.json"}, std::pair{"/elsewhere/mine.json", "/elsewhere/mine.json"}}) {
        view.files.task = FileTask::Save;
        view.files.path.text = typed;
        view.files.path.focus = true;
        frames(3, ui_frame);
        press(Key::Enter, ui_frame);
        ASSERT_FALSE(all<command::SaveDocument>().empty());
        EXPECT_EQ(all<command::SaveDocument>().back().path, saved);
    }
    // A run is a folder, whatever part of it is typed.
    for (const char* typed : {"/elsewhere/run", "/elsewhere/run.safetensors", "/elsewhere/run/model.safetensors"}) {
        view.files.task = FileTask::SaveRun;
        view.files.saved_run = 1;
        view.files.path.text = typed;
        view.files.path.focus = true;
        frames(3, ui_frame);
        press(Key::Enter, ui_frame);
        ASSERT_FALSE(all<command::SaveRun>().empty());
        EXPECT_EQ(all<command::SaveRun>().back().folder, "/elsewhere/run") << typed;
        EXPECT_EQ(all<command::SaveRun>().back().run, 1U);
    }
}

/// Copying the selected number has the usual key; row, map and program have actions of their own.
TEST_F(FilesPanel, CopiesWhatIsAskedFor) {
    open_example("causal-attention");
    view.stage = {Stage::Weights, 0};
    view.head = 1;
    view.locked.set(Axis::T, 4);
    view.locked.set(Axis::S, 2);
    frames(2, ui_frame);
    const Tensor<float>& weights = trace().find(view.stage)->value;
    control('C');
    EXPECT_EQ(std::string(ImGui::GetClipboardText()), format_exact(weights(0, 1, 4, 2)));
    with_context([](PanelContext& context) { copy_numbers(context, CopyPart::Row); });
    const std::string row = ImGui::GetClipboardText();
    EXPECT_EQ(std::count(row.begin(), row.end(), '\t'), weights.shape()[3].size - 1);
    EXPECT_TRUE(row.starts_with(format_exact(weights(0, 1, 4, 0)) + "\t"));
    EXPECT_TRUE(row.ends_with("\t")) << "masked cells are empty";
    with_context([](PanelContext& context) { copy_numbers(context, CopyPart::Map); });
    const std::string map = ImGui::GetClipboardText();
    EXPECT_EQ(std::count(map.begin(), map.end(), '\n'), weights.shape()[2].size);
    view.locked.set(Axis::S, 9);
    frames(2, ui_frame);
    ImGui::SetClipboardText("as it was");
    control('C');
    EXPECT_STREQ(ImGui::GetClipboardText(), "as it was") << "a masked cell has no number";
}

/// What a view computes by itself is copied and exported, even if stages were last exported whole.
TEST_F(FilesPanel, KnockOutLensAndTotalsGiveTheirOwnNumbers) {
    session = std::make_unique<Session>(open_preset("gpt-tiny"), [] {});
    session->wait();
    view.files.whole_tensor = true;
    view.files.exported_as = ExportAs::Csv;
    const auto exported = [&](View shown) {
        view.view = shown;
        frames(3, ui_frame);
        session->wait();
        frames(3, ui_frame);
        commands.clear();
        control('E');
        press(Key::Enter, ui_frame);
        EXPECT_TRUE(all<command::ExportTensor>().empty());
        const std::vector<command::ExportTable> tables = all<command::ExportTable>();
        return tables.size() == 1 ? tables.front().table : nullptr;
    };
    const auto heads = exported(View::KnockOut);
    ASSERT_NE(heads, nullptr);
    const auto worth = get(facet::KnockOut{KnockOutQuestion{}});
    ASSERT_EQ(heads->numbers.size(), worth->parts.size());
    for (std::size_t i = 0; i < worth->parts.size(); ++i)
        EXPECT_EQ(heads->numbers[i], static_cast<float>(worth->parts[i].without - worth->with_all));
    EXPECT_EQ(heads->row_texts.front(), "layer 0");
    EXPECT_EQ(heads->column_texts.back(), "H" + std::to_string(trace().config.num_heads - 1));
    with_context([](PanelContext& context) { copy_numbers(context, CopyPart::Value); });
    const std::string copied = ImGui::GetClipboardText();
    EXPECT_TRUE(copied.starts_with(heads->row_axis + "\tH0")) << copied;
    EXPECT_EQ(heads->row_axis.rfind("change from " + format_exact(static_cast<float>(worth->with_all), true), 0), 0U) << heads->row_axis;
    EXPECT_NE(copied.find("\nlayer 0\t" + format_exact(heads->numbers.front(), true)), std::string::npos) << copied;

    const auto lens = exported(View::Lens);
    ASSERT_NE(lens, nullptr);
    const Tensor<float>& chances = trace().find({Stage::Probabilities, -1})->value;
    const std::int64_t length = trace().tokens.lengths[0];
    ASSERT_EQ(lens->columns, length);
    const float* last = lens->numbers.data() + (lens->rows - 1) * length;
    for (std::int64_t t = 0; t + 1 < length; ++t)
        EXPECT_NEAR(last[t], chances(0, t, trace().tokens.ids[static_cast<std::size_t>(t + 1)]), 1e-6);
    EXPECT_TRUE(std::isnan(last[length - 1])) << "nothing follows";

    const auto totals = exported(View::Totals);
    ASSERT_NE(totals, nullptr);
    EXPECT_EQ(totals->rows, length);
}

TEST_F(FilesPanel, EscapeLeavesEverythingAsItWas) {
    control('O');
    press(Key::Escape, ui_frame);
    press(Key::Escape, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::None);
    EXPECT_TRUE(all<command::OpenFile>().empty());
}

TEST_F(FilesPanel, ExportMakesAPictureOrNumbers) {
    view.stage = {Stage::Weights, 0};
    control('E');
    ASSERT_EQ(view.files.task, FileTask::Export);
    EXPECT_TRUE(view.files.path.text.ends_with("weights.png"));
    press(Key::Enter, ui_frame);
    ASSERT_TRUE(view.files.picture.has_value());
    EXPECT_EQ(view.files.picture->scale, 2);
    EXPECT_EQ(view.files.picture->path.extension(), ".png");

    view.head = 1;
    control('E');
    view.files.format = ExportAs::Csv;
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::Export) << "the name does not fit the format";
    frames(3, ui_frame);
    for (int i = 0; i < 3; ++i) press(Key::Backspace, ui_frame);
    type("csv", ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::ExportTensor>().size(), 1U);
    const TensorChoice choice = all<command::ExportTensor>()[0].choice;
    EXPECT_EQ(choice.stage, view.stage);
    EXPECT_EQ(choice.head, 1);
    EXPECT_EQ(choice.batch, 0);
}

TEST_F(FilesPanel, ExportsGoWhereTheLastOneWentAndNotBesideAPublishedModel) {
    view.stage = {Stage::Weights, 0};
    files.recent = {"/models/gpt2", "/home/mine/a.txt"};
    files.recent_models = {"/models/gpt2"};
    const auto offered = [&] {
        control('E');
        return std::exchange(view.files.path.text, "");
    };
    EXPECT_EQ(offered(), "/home/mine/weights.png");
    view.files.task = FileTask::None;
    control('E');
    frames(2, ui_frame);
    for (int i = 0; i < 40; ++i) press(Key::Backspace, ui_frame);
    type("/elsewhere/one.png", ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_EQ(view.files.task, FileTask::None);
    EXPECT_EQ(offered(), "/elsewhere/weights.png");
    // The format of the last export is offered again, where there are numbers to write.
    view.files.task = FileTask::None;
    view.files.exported_as = ExportAs::Csv;
    EXPECT_EQ(offered(), "/elsewhere/weights.csv");
    EXPECT_EQ(view.files.format, ExportAs::Csv);
    view.files.task = FileTask::None;
    view.view = View::Doctor;
    EXPECT_EQ(offered(), "/elsewhere/doctor.png");
}

TEST_F(FilesPanel, WhoHasOpenedNothingExportsToTheFolderThatTheProgramWasStartedFrom) {
    view.stage = {Stage::Weights, 0};
    const std::filesystem::path before = std::filesystem::current_path();
    const auto offered = [&](const std::filesystem::path& folder) {
        std::filesystem::current_path(folder);
        control('E');
        std::filesystem::current_path(before);
        view.files.task = FileTask::None;
        return std::exchange(view.files.path.text, "");
    };
    const TemporaryFolder folder;
    EXPECT_EQ(offered(folder.path()), (std::filesystem::canonical(folder.path()) / "weights.png").string());
    EXPECT_EQ(offered("/"), std::string(std::getenv("HOME")) + "/weights.png");
}

TEST_F(FilesPanel, AFolderThatCannotBeReadKeepsTheSheetOpen) {
    view.stage = {Stage::Weights, 0};
    control('E');
    frames(2, ui_frame);
    for (int i = 0; i < 60; ++i) press(Key::Backspace, ui_frame);
    type("/nowhere/one.png", ui_frame);
    frames(2, ui_frame);
    const auto enter_with = [&](const char* problem) {
        auto listing = std::make_shared<FolderListing>();
        listing->folder = "/nowhere/";
        listing->problem = problem;
        files.listing = listing;
        frames(2, ui_frame);
        press(Key::Enter, ui_frame);
        return view.files.task;
    };
    EXPECT_EQ(enter_with("No such file or directory"), FileTask::Export);
    EXPECT_FALSE(view.files.picture);
    EXPECT_EQ(enter_with(""), FileTask::None);
    EXPECT_TRUE(view.files.picture);
}

TEST_F(FilesPanel, TheProgramIsCopiedByAKeyOfItsOwn) {
    view.stage = {Stage::Scaled, 0};
    control('C');
    EXPECT_TRUE(all<command::CopySnippet>().empty()) << "this copies a number";
    control('C', true);
    ASSERT_EQ(all<command::CopySnippet>().size(), 1U);
    EXPECT_EQ(all<command::CopySnippet>()[0].stage.stage, Stage::Scaled);
    EXPECT_FALSE(all<command::CopySnippet>()[0].torch);
    EXPECT_TRUE(all<command::SetForward>().empty()) << "C alone is the causal mask";
}

/// Enter closes the message and does not change the cell behind it.
TEST_F(FilesPanel, EnterClosesARefusal) {
    view.stage = {Stage::Scores, 0};
    view.locked.set(Axis::T, 1);
    view.locked.set(Axis::S, 1);
    files.notice = "/elsewhere/folder: this folder holds no training run of attnscope";
    files.failed = true;
    files.notices = 1;
    frames(2, ui_frame);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    with_context([](const PanelContext& context) { EXPECT_FALSE(context.view.files.notices.shows_error()); });
    EXPECT_FALSE(any_popup_open());
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_TRUE(any_popup_open()) << "then it opens the number's field";
}

TEST_F(FilesPanel, ARefusalStaysUntilItIsDismissed) {
    with_context([](const PanelContext& context) { EXPECT_FALSE(context.view.files.notices.shows_error()); });
    const auto shown = [&] {
        bool is_shown = false;
        with_context([&](const PanelContext& context) { is_shown = context.view.files.notices.shows_error(); });
        return is_shown;
    };
    files.notice = "/elsewhere/folder: this folder holds no training run of attnscope";
    files.failed = true;
    files.notices = 1;
    frames(2, ui_frame);
    now += 1000;
    frames(2, ui_frame);
    EXPECT_TRUE(shown());
    files.notice = "Copied.";
    files.failed = false;
    files.notices = 2;
    frames(2, ui_frame);
    EXPECT_FALSE(shown()) << "it has been there long enough";
    const ImGuiWindow *news = find_window("##notice"), *strip = find_window("##strip");
    ASSERT_TRUE(news != nullptr && strip != nullptr);
    EXPECT_LT(news->Rect().Max.y, strip->Rect().Min.y) << "the stages can be seen and clicked meanwhile";
    files.failed = true;
    files.notices = 3;
    frames(2, ui_frame);
    files.failed = false;
    files.notices = 4;
    frames(60, ui_frame);
    EXPECT_TRUE(shown()) << "it can still be read";
    now += 6;
    frames(2, ui_frame);
    EXPECT_FALSE(shown());
    files.failed = true;
    files.notices = 5;
    frames(2, ui_frame);
    EXPECT_TRUE(shown());
    view.locked.set(Axis::T, 1);
    press(Key::Escape, ui_frame);
    EXPECT_FALSE(shown());
    EXPECT_EQ(view.locked.on(Axis::T), 1) << "Escape does one thing at a time";
    press(Key::Escape, ui_frame);
    EXPECT_FALSE(view.locked.on(Axis::T).has_value());

    files.notice = "Saved.";
    files.failed = false;
    files.notices = 2;
    frames(2, ui_frame);
    EXPECT_FALSE(shown()) << "what went well goes by itself";
}

TEST_F(FilesPanel, ANoticeHidesNothingThatIsReadAndMakesWayForTheMouse) {
    const auto tell = [&] {
        files.notice = "Copied.";
        ++files.notices;
        frames(2, ui_frame);
    };
    move_mouse(1, 1);
    tell();
    const ImGuiWindow *news = find_window("##notice"), *texts = find_window("##text");
    ASSERT_TRUE(news != nullptr && texts != nullptr);
    EXPECT_GE(news->Rect().Min.y, texts->Rect().Max.y) << "under the title, not over the tabs or the text";
    EXPECT_TRUE(find_window("##centre")->Rect().Contains(news->Rect()));
    canvas.calls.clear();
    frame(ui_frame);
    for (const auto& map : canvas.calls) EXPECT_FALSE(news->Rect().Overlaps({map.min, map.max})) << "nor over the picture";
    const ImVec2 middle = news->Rect().GetCenter();
    move_mouse(middle.x, middle.y);
    frames(3, ui_frame);
    EXPECT_EQ(find_window("##notice"), nullptr) << "the mouse wants what is below";
    tell();
    move_mouse(middle.x + 1, middle.y);
    frames(3, ui_frame);
    EXPECT_NE(find_window("##notice"), nullptr) << "the mouse was there already, so the words can be read";
    click(middle.x, middle.y, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(find_window("##notice"), nullptr);
}

TEST_F(FilesPanel, ALongExportIsShownAndCancelled) {
    const auto line = [] { return find_window("##export_line"); };
    frames(2, ui_frame);
    EXPECT_EQ(line(), nullptr);
    files.exporting = ExportUnderWay{"/elsewhere/trace.safetensors", 0.25};
    frames(2, ui_frame);
    EXPECT_EQ(line(), nullptr) << "most are done before one could read it";
    EXPECT_LE(seconds_at_rest(view, now), 0.3) << "then the window is drawn again";
    now += 0.3;
    frames(2, ui_frame);
    ASSERT_NE(line(), nullptr);
    EXPECT_LT(line()->Rect().Max.y, find_window("##strip")->Rect().Min.y) << "the stages can be seen and clicked meanwhile";
    files.notice = "Copied.";
    files.notices = 1;
    frames(2, ui_frame);
    ASSERT_NE(find_window("##notice"), nullptr);
    EXPECT_LE(find_window("##notice")->Rect().Max.y, line()->Rect().Min.y) << "neither covers the other";
    const auto cancel = find_item("##export_line", {"Cancel"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(cancel.has_value());
    click(cancel->x, cancel->y, ui_frame);
    EXPECT_EQ(all<command::CancelExport>().size(), 1U);
    files.exporting.reset();
    frames(2, ui_frame);
    EXPECT_EQ(line(), nullptr);
    files.exporting = ExportUnderWay{"/elsewhere/next.csv", 0};
    frames(2, ui_frame);
    EXPECT_EQ(line(), nullptr) << "each has its own time";
}

TEST_F(FilesPanel, ATextIsAskedAbout) {
    files.text = OpenedText{"/elsewhere/hamlet.txt", std::make_shared<const std::string>("to be")};
    frames(2, ui_frame);
    type("c", ui_frame);
    EXPECT_TRUE(all<command::SetForward>().empty());
    press(Key::Enter, ui_frame);
    ASSERT_FALSE(all<command::UseText>().empty());
    EXPECT_EQ(all<command::UseText>()[0].as, command::UseText::As::Probe);
}

TEST(PathField, CommonBeginning) {
    EXPECT_EQ(common_beginning({}), "");
    EXPECT_EQ(common_beginning({"abc"}), "abc");
    EXPECT_EQ(common_beginning({"abc", "abd", "ab"}), "ab");
    EXPECT_EQ(common_beginning({"x", "y"}), "");
}

TEST(WindowTitle, NamesTheFileAndMarksChanges) {
    FilesState files;
    EXPECT_EQ(window_title(files), "attnscope");
    files.document = "/a/b.attnscope.json";
    EXPECT_EQ(window_title(files), "b.attnscope.json - attnscope");
    files.unsaved = true;
    EXPECT_EQ(window_title(files), "\u2022 b.attnscope.json - attnscope");
}

}  // namespace
}  // namespace attn::app::test
