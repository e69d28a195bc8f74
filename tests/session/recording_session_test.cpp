/// A recording in the session: what is shown of it, what it refuses, and how it is followed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/session.hpp"
#include "app/session/values/explanation.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/recording_report.hpp"
#include "app/session/values/verification.hpp"
#include "engine/io/npy.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/recording/logged.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;

constexpr std::string_view kDescription =
    R"({"format": "attnscope-recording/1", "run": 1, "tokens": [["a", "b"]], "graphs": [{"attentions": [{
  "name": "heads", "source": "my.py:3", "axes": {"B": 1, "H": 1, "G": 1, "T": 2, "S": 2, "D": 1}, "stages": [
  {"name": "scores", "op": "given", "axes": "BHTS"},
  {"name": "weights", "op": "softmax", "inputs": ["scores"], "axes": "BHTS", "over": "S", "line": "my.py:7"}]}]}]})";

class RecordingSession : public testing::Test {
protected:
    RecordingSession() {
        std::filesystem::create_directory(folder());
        describe();
        write_step(0, 0.25F);
    }
    std::filesystem::path folder() const { return place_ / "run.attn"; }
    void describe() const { std::ofstream(folder() / "recording.json") << kDescription; }
    /// The first query's weight on the first key; the scores are those that give it.
    void write_step(std::int64_t step, float weight, float told = 0) const {
        ArrayFile file;
        file.metadata = {{"format", "attnscope-recording/1"}, {"graph", "0"}};
        const std::vector<std::int64_t> map{1, 1, 2, 2};
        file.arrays.push_back(make_array<float>("heads/scores", map, std::vector<float>{std::log(weight), std::log(1 - weight), 0, 0}));
        file.arrays.push_back(make_array<float>("heads/weights", map, std::vector<float>{weight + told, 1 - weight, 0.5F, 0.5F}));
        // As attnscope.py does it: whole, under its name.
        const std::filesystem::path temporary = folder() / ".new";
        write_safetensors(temporary, file);
        std::filesystem::rename(temporary, folder() / fmt::format("run1-step{:08}-rank0.safetensors", step));
    }
    static float first_weight(const Session& session) { return session.snapshot()->trace->find({Stage::Weights, 0})->value.data()[0]; }
    template <class Condition>
    static bool comes_true(Session& session, const Condition& condition) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (; !condition() && std::chrono::steady_clock::now() < until; session.update())
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return condition();
    }
    std::unique_ptr<Session> opened() const {
        auto session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->apply({command::OpenFile{folder()}, ""});
        session->wait_for_files();
        session->wait();
        return session;
    }

    /// Its settings with one number of the scores changed.
    static ForwardSettings with_score(const Document& document, std::int64_t row, std::int64_t column, double value) {
        Edit edit{.kind = EditKind::Set, .at = {Stage::Scores, 0}};
        edit.sequence = 0, edit.head = 0, edit.row = row, edit.column = column, edit.value = value;
        ForwardSettings forward = document.forward;
        forward.edits.push_back(edit);
        return forward;
    }

    test::TemporaryFolder place_;
};

TEST_F(RecordingSession, OpensWithItsNumbersAndWords) {
    const auto session = opened();
    ASSERT_TRUE(session->document().recorded) << session->files().notice;
    EXPECT_EQ(session->snapshot()->problem, "");
    EXPECT_EQ(first_weight(*session), 0.25F);
    EXPECT_EQ(session->snapshot()->tokens.at(0).at(1).text, "b");
    EXPECT_EQ(weights_origin(session->document()).text, "recorded");
    EXPECT_EQ(session->states().unmasked, nullptr) << "nothing can be computed without its masks";
    const auto report = session->get(facet::RecordingReport{});
    ASSERT_EQ(report->attentions.size(), 1U);
    EXPECT_EQ(report->attentions[0].source, "my.py:3");
    const auto why = session->get(facet::Explanation{{{Stage::Weights, 0}, "", {0, 0, 0, 0}}});
    EXPECT_NEAR(why->provenance.result, 0.25, 1e-6);
}

TEST_F(RecordingSession, SaysWhatFollowsAndWhatDiffers) {
    const auto checked = opened()->get(facet::Verification{});
    EXPECT_TRUE(checked->ok);
    ASSERT_EQ(checked->stages.size(), 1U) << "of the scores nothing is known";
    write_step(0, 0.25F, 0.01F);
    const auto wrong = opened()->get(facet::Verification{});
    ASSERT_NE(wrong->first_failure(), nullptr);
    EXPECT_EQ(wrong->first_failure()->id.stage, Stage::Weights);
    EXPECT_THAT(wrong->first_failure()->problem, HasSubstr("[0,0,0,0] is 0.26"));
}

TEST_F(RecordingSession, DoesNotRun) {
    const auto session = opened();
    const auto refuses = [&](const auto& facet) {
        const auto answer = session->compute(facet);
        return !answer && answer.problem.find("not a model that runs") != std::string::npos;
    };
    EXPECT_TRUE(refuses(facet::Lens{}));
    EXPECT_TRUE(refuses(facet::KnockOut{}));
    EXPECT_TRUE(refuses(facet::NextWords{}));
    EXPECT_TRUE(refuses(facet::Gradients{}));
    const Document before = session->document();
    ForwardSettings forward = before.forward;
    forward.masks.causal = true;
    Config config = before.config;
    config.num_layers = 3;
    for (const Command& command :
         {Command{command::SetForward{forward}, ""}, Command{command::SetTexts{{"b"}, {}}, ""}, Command{command::SetConfig{config}, ""},
          Command{command::WriteOn{}, ""}, Command{command::ShowUntrained{}, ""}}) {
        session->apply(command);
        EXPECT_THAT(session->message(), HasSubstr("a recording holds numbers")) << command.what.index();
        EXPECT_EQ(session->document(), before) << command.what.index();
    }
}

TEST_F(RecordingSession, OneThatTheProgramCarriesNeedsNoFolder) {
    const Document document = document_of_recording(OpenedRecording::shipped("my-attention"), 0);
    EXPECT_FALSE(document.recorded->recording->has_grown());
    const std::string json = document_to_json(document, place_.path());
    EXPECT_EQ(json.find("\"path\""), std::string::npos) << json;
    EXPECT_EQ(document_from_json(json, "saved").recorded, document.recorded);
    Session session(document, [] {});
    EXPECT_EQ(session.wait()->problem, "");
    const auto report = session.get(facet::RecordingReport{});
    ASSERT_EQ(report->attentions.at(0).findings.size(), 1U);
    EXPECT_EQ(report->attentions[0].findings[0].bug, "no_scale");
    EXPECT_THROW(OpenedRecording::shipped("nobody"), Error);
    EXPECT_THROW(OpenedRecording::shipped("../models"), Error);
}

TEST_F(RecordingSession, GoesFromStepToStepAndBack) {
    write_step(50, 0.75F);
    const auto session = opened();
    EXPECT_EQ(session->document().recorded->step, 50);
    EXPECT_EQ(first_weight(*session), 0.75F);
    session->apply({command::ShowRecorded{0}, ""});
    session->wait();
    EXPECT_EQ(first_weight(*session), 0.25F);
    session->apply({command::Undo{}, ""});
    session->wait();
    EXPECT_EQ(session->document().recorded->step, 50);
    EXPECT_EQ(first_weight(*session), 0.75F);
    session->apply({command::ShowRecorded{7}, ""});
    EXPECT_NE(session->message(), "") << "there is no step 7";
    EXPECT_EQ(session->document().recorded->step, 50);
}

/// Two steps, or two recordings: what is pinned stays beside what is shown.
TEST_F(RecordingSession, IsComparedWithAnotherStepAndAnotherRecording) {
    write_step(50, 0.75F);
    const auto session = opened();
    session->apply({command::Pin{false, session->snapshot()->state}, ""});
    const auto weight_of_a = [&] {
        session->wait();
        if (session->states().pinned_a == nullptr) return -1.0F;  // nothing is pinned any more
        const auto pinned = session->compute(session->states().pinned_a, facet::Trace{});
        return pinned ? pinned->trace->find({Stage::Weights, 0})->value.data()[0] : -1.0F;
    };
    session->apply({command::ShowRecorded{0}, ""});
    EXPECT_EQ(weight_of_a(), 0.75F);
    EXPECT_EQ(first_weight(*session), 0.25F);
    const std::filesystem::path other = place_ / "other.attn";
    std::filesystem::copy(folder(), other);
    std::filesystem::remove(other / "run1-step00000050-rank0.safetensors");
    session->apply({command::OpenFile{other}, ""});
    session->wait_for_files();
    ASSERT_EQ(session->document().recorded->recording->name(), "other.attn");
    EXPECT_EQ(weight_of_a(), 0.75F);
    EXPECT_EQ(first_weight(*session), 0.25F);
}

TEST_F(RecordingSession, IsFollowedWhereTheNewestStepIsShown) {
    const auto session = opened();
    write_step(1, 0.5F);
    EXPECT_TRUE(comes_true(*session, [&] { return session->document().recorded->step == 1; }));
    session->wait();
    EXPECT_EQ(first_weight(*session), 0.5F);
    session->apply({command::ShowRecorded{0}, ""});
    write_step(2, 0.75F);
    EXPECT_TRUE(comes_true(*session, [&] { return session->document().recorded->recording->steps().size() == 3; }));
    session->wait();
    EXPECT_EQ(session->document().recorded->step, 0) << "an earlier step is looked at";
    EXPECT_EQ(first_weight(*session), 0.25F);
}

TEST_F(RecordingSession, SaysWhatItNamesButDoesNotHold) {
    std::string more(kDescription);
    more.insert(more.find(R"(  {"name": "weights")"),
                R"({"name": "scaled", "op": "given", "called": "rescale", "inputs": ["scores"], "axes": "BHTS", "have": "no",
   "reason": "not asked for"},
  {"name": "masked", "op": "mask", "inputs": ["scaled"], "axes": "BHTS", "have": "follows"},)");
    std::ofstream(folder() / "recording.json") << more;
    const auto session = opened();
    EXPECT_EQ(session->snapshot()->trace->find({Stage::Scaled, 0}), nullptr);
    const auto report = session->get(facet::RecordingReport{});
    const auto& missing = report->attentions.at(0).missing;
    ASSERT_EQ(missing.size(), 2U);
    EXPECT_EQ(missing[0].id, (StageId{Stage::Scaled, 0}));
    EXPECT_EQ(missing[0].name, "scaled");
    EXPECT_EQ(missing[0].why, "not asked for");
    EXPECT_THAT(missing[1].why, HasSubstr("cannot be computed"));
}

/// One number of the scores is changed: the weights follow from it, and the recorded state stays there to be compared with.
TEST_F(RecordingSession, ANumberCanBeChangedAndChangedBack) {
    write_step(50, 0.75F);
    const auto session = opened();
    const Document before = session->document();
    EXPECT_EQ(session->states().unedited, nullptr);
    session->apply({command::SetForward{with_score(before, 1, 0, std::log(3))}, ""});
    EXPECT_EQ(session->message(), "");
    const auto edited = session->wait();
    EXPECT_EQ(edited->problem, "");
    const auto number = [](const Snapshot& snapshot, Stage stage, std::int64_t cell) {
        return snapshot.trace->find({stage, 0})->value.data()[cell];
    };
    EXPECT_EQ(number(*edited, Stage::Scores, 2), std::log(3.0F));
    EXPECT_NEAR(number(*edited, Stage::Weights, 2), 0.75, 1e-7);
    EXPECT_NEAR(number(*edited, Stage::Weights, 3), 0.25, 1e-7);
    EXPECT_EQ(number(*edited, Stage::Weights, 0), 0.75F) << "the other row";
    ASSERT_NE(session->states().unedited, nullptr);
    EXPECT_EQ(number(*session->compute(session->states().unedited, facet::Trace{}).value, Stage::Weights, 2), 0.5F);
    EXPECT_EQ(session->states().unmasked, nullptr);
    EXPECT_THAT(edited->edits_in_vain, testing::ElementsAre(""));
    const auto why = session->get(facet::Explanation{{{Stage::Scores, 0}, "", {0, 0, 1, 0}}});
    EXPECT_TRUE(why->provenance.edited);
    EXPECT_TRUE(session->get(facet::Verification{})->ok);

    session->apply({command::ShowRecorded{0}, ""});
    EXPECT_NEAR(number(*session->wait(), Stage::Weights, 2), 0.75, 1e-7) << "the edit goes along";
    EXPECT_EQ(first_weight(*session), 0.25F);
    for (int step = 0; step < 2; ++step) session->apply({command::Undo{}, ""});
    EXPECT_EQ(session->document(), before);
    EXPECT_EQ(number(*session->wait(), Stage::Weights, 2), 0.5F);
    session->apply({command::Redo{}, ""});
    EXPECT_NEAR(number(*session->wait(), Stage::Weights, 2), 0.75, 1e-7);
}

TEST_F(RecordingSession, OnlyEditsChangeIt) {
    const auto session = opened();
    const Document before = session->document();
    ForwardSettings both = with_score(before, 0, 0, 1);
    both.temperature = 2;
    session->apply({command::SetForward{both}, ""});
    EXPECT_THAT(session->message(), HasSubstr("a recording holds numbers"));
    EXPECT_EQ(session->document(), before);
}

/// Another step of what is followed keeps the edit; attentions of other sizes do not get it.
TEST_F(RecordingSession, EditsStayWithTheirAttentions) {
    const auto session = opened();
    session->apply({command::SetForward{with_score(session->document(), 1, 0, std::log(3))}, ""});
    session->wait();
    write_step(1, 0.5F);
    ASSERT_TRUE(comes_true(*session, [&] { return session->document().recorded->step == 1; }));
    EXPECT_NEAR(session->wait()->trace->find({Stage::Weights, 0})->value.data()[2], 0.75, 1e-7);
    EXPECT_EQ(first_weight(*session), 0.5F);
    const Document elsewhere = moved_to(session->document().recorded->recording, {}, 1, session->document());
    EXPECT_TRUE(elsewhere.forward.edits.empty());
}

TEST_F(RecordingSession, EditsAreSavedInADocument) {
    Document document = document_of_recording(OpenedRecording::open(folder()), 0);
    document.forward = with_score(document, 1, 1, std::log(3));
    const std::filesystem::path file = place_ / "edited.attnscope.json";
    save_document(file, document);
    const Document again = load_document(file);
    EXPECT_EQ(again.forward, document.forward);
    EXPECT_EQ(again.recorded, document.recorded);
    Session session(again, [] {});
    EXPECT_NEAR(session.wait()->trace->find({Stage::Weights, 0})->value.data()[3], 0.75, 1e-7);
    EXPECT_EQ(session.snapshot()->problem, "");
}

/// What cannot be computed from the edited number has no number, and says why.
TEST_F(RecordingSession, WhatAnEditMakesUnknownIsMissing) {
    std::string more(kDescription);
    more.replace(more.find(R"("op": "softmax")"), std::string_view(R"("op": "softmax")").size(), R"("op": "given", "called": "entmax")");
    std::ofstream(folder() / "recording.json") << more;
    const auto session = opened();
    ASSERT_EQ(first_weight(*session), 0.25F);
    session->apply({command::SetForward{with_score(session->document(), 1, 0, 2)}, ""});
    EXPECT_EQ(session->wait()->trace->find({Stage::Weights, 0}), nullptr);
    const auto report = session->get(facet::RecordingReport{});
    const auto& missing = report->attentions.at(0).missing;
    ASSERT_EQ(missing.size(), 1U);
    EXPECT_EQ(missing[0].id, (StageId{Stage::Weights, 0}));
    EXPECT_THAT(missing[0].why, HasSubstr("no arithmetic for entmax"));
    EXPECT_TRUE(missing[0].after_edit);
    session->apply({command::Undo{}, ""});
    session->wait();
    EXPECT_EQ(first_weight(*session), 0.25F);
    EXPECT_TRUE(session->get(facet::RecordingReport{})->attentions.at(0).missing.empty());
}

/// What the code logs appears while it runs, in whole lines only.
TEST_F(RecordingSession, ShowsWhatIsLoggedAsItComes) {
    const auto session = opened();
    EXPECT_EQ(session->files().logged, nullptr);
    const auto append = [&](const char* file, std::string_view text) { std::ofstream(folder() / file, std::ios::app) << text; };
    append("curves-run1-rank0.jsonl", "{\"step\": 0, \"time\": 1.5, \"loss\": 2.5}\n{\"step\": 1, \"time\": 1.6, \"loss\": 2");
    ASSERT_TRUE(comes_true(*session, [&] { return session->files().logged != nullptr; }));
    ASSERT_EQ(session->files().logged->curves.size(), 1U);
    EXPECT_EQ(session->files().logged->curves[0].name, "loss");
    EXPECT_THAT(session->files().logged->curves[0].steps, testing::ElementsAre(0));
    append("curves-run1-rank0.jsonl", ".25, \"lr\": null}\nnonsense\n{\"step\": 2, \"loss\": \"inf\", \"name\": \"x\"}\n");
    append("texts-run1-rank0.jsonl", "{\"step\": 2, \"texts\": [\"once upon\"], \"prompt\": \"once\"}\n");
    ASSERT_TRUE(
        comes_true(*session, [&] { return !session->files().logged->texts.empty() && session->files().logged->curves.size() == 2; }));
    const recording::Logged& logged = *session->files().logged;
    EXPECT_THAT(logged.curves[0].steps, testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(logged.curves[0].values[1], 2.25F);
    EXPECT_TRUE(std::isinf(logged.curves[0].values[2]));
    EXPECT_TRUE(std::isnan(logged.curves[1].values[0]));
    EXPECT_THAT(logged.texts[0].texts, testing::ElementsAre("once upon", "prompt: once"));
    const auto again = opened();
    again->update();
    ASSERT_NE(again->files().logged, nullptr) << "at once, not with the first look";
    EXPECT_EQ(again->files().logged->curves[0].values, logged.curves[0].values);
}

/// What code logs may be of any size; a window that shows it stays usable.
TEST(Logged, NumbersAndTextsHaveBounds) {
    const attn::test::TemporaryFolder folder;
    std::ofstream(folder / "curves-run1-rank0.jsonl") << R"({"step": 0, "loss": 1e300})"
                                                         "\n"
                                                         R"({"step": 1, "loss": -1e300})"
                                                         "\n";
    std::string most = "a";  // the limit falls into a letter of two bytes
    while (most.size() < 3 * recording::kMostLoggedText) most += "é";
    std::string many = R"({"step": 0, "prompt": ")" + most + R"(", "texts": [)";
    for (int i = 0; i < 40; ++i) many += i == 0 ? R"("x")" : R"(, "x")";
    std::ofstream(folder / "texts-run1-rank0.jsonl") << many << "]}\n";
    const auto logged = recording::read_logged(folder.path(), 1);
    ASSERT_NE(logged, nullptr);
    ASSERT_EQ(logged->curves.size(), 1U);
    EXPECT_THAT(logged->curves[0].values,
                testing::ElementsAre(std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()));
    ASSERT_EQ(logged->texts.size(), 1U);
    EXPECT_EQ(logged->texts[0].texts.size(), recording::kMostTextsOfStep);
    const std::string& cut = logged->texts[0].texts[0];
    EXPECT_TRUE(cut.starts_with("prompt: aé")) << cut;
    EXPECT_TRUE(cut.ends_with("é …")) << cut.substr(cut.size() - 12);
    EXPECT_LE(cut.size(), recording::kMostLoggedText + std::string_view(" …").size());
}

/// Arrays without meaning, in any file that holds arrays; what the doctor knows stays his.
TEST_F(RecordingSession, AnyArraysAreShownAsMatrices) {
    ArrayFile file;
    file.arrays.push_back(make_array<float>("gram", {3, 3}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    file.arrays.push_back(make_array<float>("gram2", {3, 3}, std::vector<float>(9, 0.5F)));
    file.arrays.push_back(make_array<float>("long", {2, 40}, std::vector<float>(80, 2)));
    write_safetensors(place_ / "arrays.safetensors", file);
    const std::vector<ArrayView> views{view_of(file.arrays[0]), view_of(file.arrays[1]), view_of(file.arrays[2])};
    write_npz(place_ / "arrays.npz", views);
    write_npy(place_ / "gram.npy", view_of(file.arrays.front()));
    for (const char* name : {"arrays.safetensors", "arrays.npz", "gram.npy"}) {
        Session session(open_preset("causal-attention"), [] {});
        session.apply({command::OpenFile{place_ / name}, ""});
        session.wait_for_files();
        const auto snapshot = session.wait();
        ASSERT_TRUE(session.document().recorded) << name << ": " << session.files().notice;
        EXPECT_EQ(snapshot->problem, "") << name;
        EXPECT_EQ(session.document().look->stage, (StageId{Stage::Other, 0}));
        EXPECT_EQ(snapshot->trace->find({Stage::Other, 0})->value.data()[5], 6);
        const auto report = session.get(facet::RecordingReport{});
        EXPECT_EQ(report->attentions.size(), std::string(name) == "gram.npy" ? 1U : 2U);
        EXPECT_TRUE(session.get(facet::Verification{})->ok);
    }
    file.arrays.push_back(make_array<float>("attn.weights", {1, 1, 2, 2}, std::vector<float>(4, 0.5F)));
    write_safetensors(place_ / "dump.safetensors", file);
    EXPECT_EQ(read_any_file(place_ / "dump.safetensors").kind, FileKind::Dump);
}

TEST_F(RecordingSession, IsSavedInADocument) {
    write_step(50, 0.75F);
    const Document document = document_of_recording(OpenedRecording::open(folder()), 0);
    const std::string json = document_to_json(document, place_.path());
    const Document again = document_from_json(json, "saved");
    ASSERT_TRUE(again.recorded);
    EXPECT_EQ(again.recorded, document.recorded);
    EXPECT_EQ(again.texts, document.texts);
    const Session session(again, [] {});
    EXPECT_EQ(document_to_json(session.document(), place_.path()), json);

    const std::filesystem::path elsewhere = place_ / "moved";
    std::filesystem::create_directory(elsewhere);
    std::filesystem::rename(folder(), elsewhere / "run.attn");
    ModelPlaces places;
    places.document_folder = elsewhere;
    EXPECT_EQ(document_from_json(json, "saved", nullptr, places).recorded->recording->path(), elsewhere / "run.attn");
    EXPECT_THROW(document_from_json(json, "saved"), Error);
}

/// A small language model that PyTorch recorded.
class RecordedLanguageModel : public RecordingSession {
protected:
    RecordedLanguageModel() { std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/recorded/run.attn", own()); }
    std::filesystem::path own() const { return place_ / "language.attn"; }
    std::unique_ptr<Session> with_model() const {
        auto session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->apply({command::OpenFile{own()}, ""});
        session->wait_for_files();
        session->wait();
        open_as_model(*session);
        return session;
    }
    void describe_words(const std::string& words) const {
        std::ifstream in(own() / "recording.json");
        std::string text{std::istreambuf_iterator<char>(in), {}};
        const std::size_t begin = text.find(R"("tokens":)"), end = text.find(R"(,"source_tokens")");
        text.replace(begin, end - begin, R"("tokens":)" + words);
        std::ofstream(own() / "recording.json") << text;
    }
    static void open_as_model(Session& session) {
        session.apply({command::OpenAsModel{}, ""});
        session.wait_for_files();
        session.wait();
    }
};

TEST_F(RecordedLanguageModel, OpensAsAModelWithTheRecordedTokens) {
    const auto session = with_model();
    const Document& document = session->document();
    ASSERT_NE(document.model, nullptr) << session->files().notice;
    EXPECT_THAT(session->files().notice, HasSubstr("as a model. All 39 stages of layers 0 to 1 equal the recording within"));
    EXPECT_FALSE(session->files().failed);
    EXPECT_THAT(document.texts, testing::ElementsAre("3 1 4 1 5", "9 2 6 5 3"));
    EXPECT_TRUE(document.forward.masks.causal);
    const ArrayFile recorded = read_safetensors(own() / "run1-step00000000-rank0.safetensors");
    const std::vector<float> expected = recorded.values<float>("logits");
    const auto logits = session->snapshot()->trace->find({Stage::Logits})->value.values();
    ASSERT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 2e-6F) << i;
}

TEST_F(RecordedLanguageModel, AgainItIsTheSameModel) {
    const auto session = with_model();
    const ModelRef first = session->document().model;
    session->apply({command::Undo{}, ""});
    ASSERT_TRUE(session->document().recorded);
    open_as_model(*session);
    EXPECT_EQ(session->document().model, first);
}

/// The recording is pinned as A, and the model's own numbers stand beside it.
TEST_F(RecordedLanguageModel, IsComparedWithWhatWasRecorded) {
    const auto session = with_model();
    const std::optional<State> pinned = session->document().pins.a;
    ASSERT_TRUE(pinned && recorded_in(*pinned) != nullptr);
    ASSERT_NE(session->states().pinned_a, nullptr);
    const auto recorded = session->compute(session->states().pinned_a, facet::Trace{});
    ASSERT_TRUE(recorded) << recorded.problem;
    for (const StageId id : {StageId{Stage::Q, 1}, StageId{Stage::Weights, 0}, StageId{Stage::AttentionOut, 1}}) {
        const auto theirs = recorded->trace->find(id)->value.values(), ours = session->snapshot()->trace->find(id)->value.values();
        ASSERT_EQ(theirs.size(), ours.size());
        for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(theirs[i], ours[i], 2e-6F) << i;
    }
}

TEST_F(RecordedLanguageModel, OpensWhereTheRecordingWasLookedAt) {
    const auto session = with_model();
    Look look;
    look.view = View::Grid;
    look.stage = {Stage::Context, 1};
    look.head = 1;
    session->apply({command::Undo{}, ""});
    session->apply({command::OpenAsModel{look}, ""});
    session->wait_for_files();
    session->wait();
    ASSERT_NE(session->document().model, nullptr);
    EXPECT_EQ(session->document().look, look);
}

TEST_F(RecordedLanguageModel, SpeaksTheRecordedWords) {
    describe_words(R"([["cat","sat","on","sat","the"],["dog","ran","to","the","cat"]])");
    const auto session = with_model();
    EXPECT_FALSE(session->document().model->text().conventions().ids);
    EXPECT_THAT(session->document().texts, testing::ElementsAre("cat sat on sat the", "dog ran to the cat"));
    EXPECT_THAT(session->snapshot()->trace->tokens.ids, testing::ElementsAre(3, 1, 4, 1, 5, 9, 2, 6, 5, 3));
    session->apply({command::SetTexts{{"the dog sat <0>"}, {}}, ""});
    session->wait();
    EXPECT_THAT(session->snapshot()->trace->tokens.ids, testing::ElementsAre(5, 9, 1, 0)) << "an id that was not recorded is typed";
    session->apply({command::SetTexts{{"the mouse"}, {}}, ""});
    session->wait();
    EXPECT_THAT(session->snapshot()->problem, HasSubstr("\"mouse\" is not in the vocabulary"));
}

/// The code was recorded anew, with other words or without any: the folder of the model has none of the old ones.
TEST_F(RecordedLanguageModel, SpeaksTheWordsOfTheNewestRecording) {
    describe_words(R"([["cat","sat","on","sat","the"],["dog","ran","to","the","cat"]])");
    const auto session = with_model();
    for (const auto& [words, text] : {std::pair(R"([["Cat","sat","on","sat","the"],["dog","ran","to","the","Cat"]])", "Cat sat on sat the"),
                                      std::pair("null", "3 1 4 1 5")}) {
        describe_words(words);
        session->apply({command::OpenFile{own()}, ""});
        session->wait_for_files();
        session->wait();
        open_as_model(*session);
        EXPECT_EQ(session->document().texts.front(), text);
    }
}

TEST_F(RecordedLanguageModel, SpeaksIdsWhereAWordWouldHaveTwo) {
    describe_words(R"([["cat","sat","on","sat","the"],["cat","ran","to","the","cat"]])");
    const auto session = with_model();
    EXPECT_TRUE(session->document().model->text().conventions().ids);
    EXPECT_THAT(session->document().texts, testing::ElementsAre("3 1 4 1 5", "9 2 6 5 3"));
}

TEST_F(RecordedLanguageModel, WhatIsPinnedStays) {
    auto session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
    session->apply({command::OpenFile{own()}, ""});
    session->wait_for_files();
    session->wait();
    session->apply({command::Pin{false, session->snapshot()->state}, ""});
    open_as_model(*session);
    ASSERT_NE(session->document().model, nullptr);
    EXPECT_TRUE(session->document().pins.a.has_value());
}

TEST_F(RecordingSession, WhatIsNoModelSaysWhyAndStays) {
    const auto session = opened();
    session->apply({command::OpenAsModel{}, ""});
    session->wait_for_files();
    EXPECT_TRUE(session->files().failed);
    EXPECT_THAT(session->files().notice, HasSubstr("heads/scores is given, which an attention of ours does not have there"));
    EXPECT_TRUE(session->document().recorded);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), std::filesystem::directory_iterator()), 2);
}

}  // namespace
}  // namespace attn::app
