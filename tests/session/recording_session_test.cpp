/// A recording in the session: what is shown of it, what it refuses, and how it is followed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/session.hpp"
#include "app/session/values/explanation.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/recording_report.hpp"
#include "app/session/values/verification.hpp"
#include "engine/io/safetensors.hpp"
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

}  // namespace
}  // namespace attn::app
