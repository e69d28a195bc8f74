/// For a document with edits saved by the window's code, every command computes the same as the session.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/session/document/document_json.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "engine/io/npy.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/trace/trace.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/window_process.hpp"

namespace attn::test {
namespace {

/// Easily found in a picture's text, and different from all numbers of the example.
constexpr double kPlanted = 77.25;

std::vector<Edit> one_of_each_kind() {
    return {
        {.kind = EditKind::Set, .at = {Stage::Scores, 0}, .head = 0, .row = 2, .column = 1, .value = kPlanted},
        {.kind = EditKind::Scale, .at = {Stage::Context, 0}, .head = 1, .value = 0},
        {.kind = EditKind::Freeze, .at = {Stage::Weights, 1}, .head = 0, .pattern = Pattern::Previous},
        {.kind = EditKind::TakeRow, .at = {Stage::Q, 1}, .row = 3, .from = 1},
        {.kind = EditKind::Set, .at = {Stage::K, 0}, .value = 5, .on = false},
    };
}

/// Saves the document of a session with an edited example.
class EditedDocument : public testing::Test {
protected:
    void SetUp() override {
        app::Session session(app::open_preset("gpt-tiny"), [] {});
        session.apply({app::command::SetTexts{{"one two three four"}, {}}, ""});
        unedited_ = session.wait();
        unedited_document_ = session.document();
        app::save_document(folder_.path("unedited.attnscope.json"), session.document());
        ForwardSettings forward = session.document().forward;
        forward.edits = one_of_each_kind();
        session.apply({app::command::SetForward{forward}, ""});
        edited_ = session.wait();
        edited_document_ = session.document();
        ASSERT_EQ(edited_->problem, "");
        ASSERT_EQ(edited_->trace->settings.edits.size(), 5U);
        app::save_document(path(), session.document());
    }

    std::string path() const { return folder_.path("edited.attnscope.json"); }
    void run(std::vector<std::string> arguments) const {
        const Outcome outcome = attnscope(arguments);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
    }

    ScratchFolder folder_;
    std::shared_ptr<const app::Snapshot> unedited_, edited_;
    app::Document unedited_document_, edited_document_;
};

/// The number of float stages of the trace that differ bitwise in the file; every stage must exist.
int different_stages(const ArrayFile& file, const Trace<float>& trace) {
    int different = 0;
    for (const auto& stage : trace.stages) {
        if (stage.id.stage == Stage::Tokens) continue;
        const NamedArray& array = file.at(tensor_name(stage.id));
        const auto values = stage.value.values();
        EXPECT_EQ(array.bytes.size(), values.size_bytes()) << array.name;
        different += array.bytes.size() != values.size_bytes() || std::memcmp(array.bytes.data(), values.data(), values.size_bytes()) != 0;
    }
    return different;
}

TEST_F(EditedDocument, IsReadBackEqual) {
    const app::Document back = app::load_document(path());
    EXPECT_EQ(back, edited_document_);
    EXPECT_EQ(back.forward.edits, one_of_each_kind());
}

TEST_F(EditedDocument, IsReadWithoutAPinnedStateWhoseModelIsGone) {
    const std::filesystem::path model = folder_.path("model");
    std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2", model);
    const app::Document shown = app::document_of_model(app::OpenedModel::open(model));
    edited_document_.pins.b = app::State{std::make_shared<const app::Setup>(shown), app::Drawn{}};
    app::save_document(path(), edited_document_);
    std::filesystem::remove_all(model);
    const Outcome outcome = attnscope({"trace", "--document", path(), "--out", folder_.path("trace.safetensors")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("attnscope: Pinned B is left out, because its model cannot be opened: " + model.string()), std::string::npos)
        << outcome.err;
    EXPECT_EQ(different_stages(read_safetensors(folder_.path("trace.safetensors")), *edited_->trace), 0);
    const WindowViewer viewer;
    if (viewer.can_see()) {
        EXPECT_NE(viewer.open({path()}, folder_.path("")).title, "") << "the window opens, too";
    }
}

TEST_F(EditedDocument, SaysWhereItsModelWasFoundInstead) {
    const std::filesystem::path was = folder_.path("models/tiny"), is = folder_.path("tiny");
    std::filesystem::create_directories(was);
    std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2", was);
    app::save_document(path(), app::document_of_model(app::OpenedModel::open(was)));
    run({"trace", "--document", path(), "--out", folder_.path("trace.safetensors")});
    std::filesystem::rename(was, is);
    const Outcome outcome = attnscope({"trace", "--document", path(), "--out", folder_.path("trace.safetensors")});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err,
              "attnscope: The model at " + was.string() + " cannot be opened, so the one at " + is.string() + " is used instead.\n");
}

TEST_F(EditedDocument, OfAModelThatIsGoneIsRefusedWithThePlacesLookedAt) {
    const std::filesystem::path model = folder_.path("model");
    std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2", model);
    app::save_document(path(), app::document_of_model(app::OpenedModel::open(model)));
    const auto trace = [&] { return attnscope({"trace", "--document", path(), "--out", folder_.path("trace.safetensors")}); };
    EXPECT_EQ(trace().exit_code, 0);
    std::filesystem::rename(model, folder_.path("away"));
    const Outcome outcome = trace();
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(model.string()), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("none like it in " + model.parent_path().string()), std::string::npos) << outcome.err;
}

TEST_F(EditedDocument, IsTracedWithTheSessionsNumbers) {
    run({"trace", "--document", path(), "--out", folder_.path("trace.safetensors")});
    const ArrayFile file = read_safetensors(folder_.path("trace.safetensors"));
    EXPECT_EQ(different_stages(file, *edited_->trace), 0);
    EXPECT_GT(different_stages(file, *unedited_->trace), 20) << "the negative control: the edits reach most stages";
}

TEST_F(EditedDocument, IsContinuedWithItsEdits) {
    const auto written = [&](const std::string& document, const std::string& prompt) {
        std::vector<std::string> arguments{"sample", "--document", document, "--tokens", "3", "--temperature", "0", "--json"};
        if (!prompt.empty()) arguments.insert(arguments.end(), {"--prompt", prompt});
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out);
    };
    const nlohmann::json line = written(path(), "");
    EXPECT_EQ(line["prompt"], "one two three four");
    const auto logits = edited_->trace->find({Stage::Logits, -1})->value.values();
    const std::size_t vocabulary = edited_->vocabulary.size();
    const auto row = logits.last(vocabulary);
    const auto likeliest = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    EXPECT_EQ(line["tokens"][0]["id"], likeliest);
    EXPECT_EQ(line["tokens"][0]["text"], edited_->vocabulary[likeliest]);
    EXPECT_EQ(written(path(), "two three")["prompt"], "two three");
    EXPECT_NE(line["tokens"], written(folder_.path("unedited.attnscope.json"), "")["tokens"]) << "the edits count";
}

/// What a document is continued with, as JSON; with a prompt of its own if one is given.
nlohmann::json continued(const std::string& document, const char* tokens, const char* prompt = nullptr) {
    std::vector<std::string> arguments{"sample", "--document", document, "--tokens", tokens, "--temperature", "0", "--json"};
    if (prompt != nullptr) arguments.insert(arguments.end(), {"--prompt", prompt});
    const Outcome outcome = attnscope(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
}

/// The document after these tokens were written on in one of its texts.
app::Document written_on(app::Document document, std::int64_t text, const std::vector<std::int32_t>& ids) {
    document.written = {text, ids};
    document.writing.sequence = text;
    for (const std::int32_t id : ids)
        document.writing.shown = document.writing.end = app::put_token(document.writing, {.id = id, .after = document.writing.end});
    return document;
}

TEST_F(EditedDocument, IsContinuedAfterWhatWasWritten) {
    const nlohmann::json all = continued(path(), "4"), expected = all["tokens"];
    const std::string written = folder_.path("written.attnscope.json");
    app::save_document(written, written_on(edited_document_, 0, {expected[0]["id"], expected[1]["id"]}));
    const nlohmann::json rest = continued(written, "2");
    EXPECT_EQ(rest["tokens"], nlohmann::json::array({expected[2], expected[3]}));
    EXPECT_EQ(rest["prompt"].get<std::string>() + " " + rest["text"].get<std::string>(),
              all["prompt"].get<std::string>() + " " + all["text"].get<std::string>());
}

TEST_F(EditedDocument, ASecondTextIsContinuedWithItsOwnEdits) {
    app::Document two = edited_document_;
    two.texts.emplace_back("two three one");
    const std::string path = folder_.path("two.attnscope.json");
    app::save_document(path, two);
    const nlohmann::json expected = continued(path, "4", "two three one")["tokens"];
    two = written_on(std::move(two), 1, {expected[0]["id"], expected[1]["id"]});
    const auto rest_with_edit_of = [&](std::int64_t text) {
        app::Document edited = two;
        edited.forward.edits.push_back({.kind = EditKind::Scale, .at = {Stage::Embedding}, .sequence = text, .value = -20});
        app::save_document(path, edited);
        return continued(path, "2")["tokens"];
    };
    EXPECT_EQ(rest_with_edit_of(0), nlohmann::json::array({expected[2], expected[3]})) << "the edit is of the other text";
    EXPECT_NE(rest_with_edit_of(1), nlohmann::json::array({expected[2], expected[3]})) << "the negative control: its own edit counts";
}

TEST_F(EditedDocument, IsExportedWithTheSessionsNumbers) {
    const StageId scores{Stage::Scores, 0}, logits{Stage::Logits, -1};
    for (const StageId& id : {scores, logits}) {
        run({"export", "--document", path(), "--stage", tensor_name(id), "--out", folder_.path("one.npy")});
        const NamedArray array = read_npy(folder_.path("one.npy"));
        const auto edited = edited_->trace->find(id)->value.values(), unedited = unedited_->trace->find(id)->value.values();
        ASSERT_EQ(array.bytes.size(), edited.size_bytes()) << tensor_name(id);
        EXPECT_EQ(std::memcmp(array.bytes.data(), edited.data(), edited.size_bytes()), 0) << tensor_name(id);
        EXPECT_NE(std::memcmp(array.bytes.data(), unedited.data(), unedited.size_bytes()), 0) << tensor_name(id);
    }
}

TEST_F(EditedDocument, OpensWhereItWasSaved) {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
    app::Document document = unedited_document_;
    document.look = app::Look{};
    document.look->view = app::View::Lines;
    document.look->stage = {Stage::Weights, 1};
    document.look->head = 2;
    app::save_document(folder_.path("looked.attnscope.json"), document);
    const auto drawn = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"render", "--document", folder_.path("looked.attnscope.json"), "--out", folder_.path("looked.svg")});
        return attnscope(more).out;
    };
    EXPECT_NE(drawn({}).find("lines of layer 1"), std::string::npos) << drawn({});
    EXPECT_NE(drawn({"--layer", "0"}).find("lines of layer 0"), std::string::npos) << "options change what they name";
    EXPECT_NE(drawn({"--view", "step"}).find("layers.1.attention.weights, head 2"), std::string::npos) << drawn({"--view", "step"});
    EXPECT_NE(drawn({"--view", "step", "--head", "0"}).find("layers.1.attention.weights, head 0"), std::string::npos);
    EXPECT_NE(drawn({"--view", "totals"}).find("attention rollout"), std::string::npos);
    document.look->rollout = false;
    document.look->up_to = 1;
    app::save_document(folder_.path("looked.attnscope.json"), document);
    EXPECT_NE(drawn({"--view", "totals"}).find("mean attention of layers 0 to 1"), std::string::npos) << drawn({"--view", "totals"});
}

TEST_F(EditedDocument, IsComparedWithItsPinnedState) {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
    app::Document document = edited_document_;
    document.pins.a = app::State{std::make_shared<const app::Setup>(unedited_document_), app::Drawn{}};
    app::save_document(path(), document);
    const std::string svg = folder_.path("pinned.svg");
    const auto drawn = [&](const std::string& compared) {
        run({"render", "--document", path(), "--stage", "residual_2", "--compare", compared, "--out", svg});
        return read_bytes(svg);
    };
    EXPECT_NE(drawn("pinned").find("pinned"), std::string::npos);
    EXPECT_EQ(drawn("unedited").find("pinned"), std::string::npos) << "the negative control";
}

TEST_F(EditedDocument, IsDrawnWithTheSessionsNumbers) {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
    for (const auto& [document, planted] : {std::pair{path(), true}, std::pair{folder_.path("unedited.attnscope.json"), false}}) {
        run({"render", "--document", document, "--stage", "scores", "--out", folder_.path("scores.svg")});
        EXPECT_EQ(read_bytes(folder_.path("scores.svg")).find(">77.2") != std::string::npos, planted) << document;
    }
}

TEST_F(EditedDocument, AnEditThatChangesNothingIsNamedAndNothingIsWritten) {
    const std::vector<std::pair<Edit, std::string>> idle = {
        {{.kind = EditKind::Set, .at = {Stage::Weights, 9}, .row = 0, .column = 0, .value = 1}, "layers.9.attention.weights"},
        {{.kind = EditKind::Set, .at = {Stage::Scores, 0}, .row = 50, .column = 0, .value = 1},
         "there is no position 50: there are only 4 positions, 0 to 3"},
        {{.kind = EditKind::Set, .at = {Stage::Weights, 0}, .row = 0, .column = 3, .value = 1}, "masked"},
        {{.kind = EditKind::Scale, .at = {Stage::Context, 0}, .head = 9, .value = 0}, "there is no head 9: there are only 4 heads, 0 to 3"},
        {{.kind = EditKind::Set, .at = {Stage::Scores, 0}, .row = 0, .column = 3, .value = 1}, "masked: takes no part"},
    };
    const std::string document = folder_.path("idle.attnscope.json"), never = folder_.path("never");
    for (const auto& [edit, words] : idle) {
        app::Document bad = unedited_document_;
        bad.forward.edits = {one_of_each_kind()[0], edit};
        app::save_document(document, bad);
        for (const std::vector<std::string>& command :
             std::vector<std::vector<std::string>>{{"trace", "--out", never + ".safetensors"},
                                                   {"export", "--stage", "weights", "--out", never + ".csv"},
                                                   {"snippet"},
                                                   {"sample"},
                                                   {"render", "--out", never + ".svg"},
                                                   {"doctor", "--leak", "2"}}) {
            std::vector<std::string> arguments = command;
            arguments.insert(arguments.end(), {"--document", document});
            const Outcome outcome = attnscope(arguments);
            EXPECT_EQ(outcome.exit_code, 2) << command[0];
            EXPECT_EQ(outcome.out, "");
            EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
            for (const std::string& part : {std::string("idle.attnscope.json, /forward/edits/1: "), words})
                EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
        }
        bad.forward.edits[1].on = false;
        app::save_document(document, bad);
        run({"trace", "--document", document, "--out", folder_.path("off.safetensors")});
    }
    for (const char* extension : {".safetensors", ".csv", ".svg"}) EXPECT_FALSE(std::filesystem::exists(never + extension));
}

}  // namespace
}  // namespace attn::test
