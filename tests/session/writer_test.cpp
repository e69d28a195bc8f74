/// The worker that generates text: cancellation, and what it keeps of a text for the next job.

#include "app/session/writer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "app/session/document/model_document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/fake_computation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

/// Generates one token whenever the gate allows it.
struct SlowWriting {
    test::Gate gate;
    Computation engine() {
        Computation computation = Computation::engine();
        computation.write = [this](const Parameters<float>&, const Prompt& prompt, const ForwardSettings&, const SamplingSettings& sampling,
                                   const std::function<void(const DrawnToken&)>& each, const std::stop_token& stop, KeptText*) {
            const std::vector<float> logits(8);
            const std::vector<double> chances(8, 0.125);
            for (std::int64_t i = 0; i < sampling.tokens; ++i) {
                gate.pass(stop);
                each({static_cast<std::int32_t>((prompt.drawn + static_cast<std::uint64_t>(i)) % 8), logits, chances});
            }
        };
        return computation;
    }
};

TEST(WritingStops, AtOnceAndKeepsWhatIsThere) {
    SlowWriting slow;
    slow.gate.close();
    Session session(
        open_preset("stories"), [] {}, slow.engine());
    session.wait();
    session.apply({command::WriteOn{0, 5}, ""});
    slow.gate.await_arrival();
    EXPECT_TRUE(session.is_writing());
    session.apply({command::StopWriting{}, ""});
    EXPECT_FALSE(session.is_writing());
    slow.gate.await_abandoned(1);
    EXPECT_TRUE(session.document().writing.tokens.empty());
    // Any change to the text being continued ends the generation.
    for (const Command& command : {Command{command::SetTexts{{"Lily"}, {}}, ""}, Command{command::Undo{}, ""},
                                   Command{command::WriteToken{0, 3, 0, 0}, ""}, Command{command::ShowWritten{kPrompt}, ""}}) {
        session.apply({command::WriteOn{0, 5}, ""});
        session.wait();
        session.update();
        EXPECT_TRUE(session.is_writing());
        session.apply(command);
        EXPECT_FALSE(session.is_writing()) << command.what.index();
    }
    session.apply({command::WriteOn{0, 3}, ""});
    session.wait();
    session.update();
    slow.gate.open();
    session.wait_for_writing();
    EXPECT_EQ(session.document().writing.tokens.size(), 4U);
}

/// The edit would have no effect, so that other words would follow than the shown ones.
TEST(Writing, IsRefusedWhileAnEditTakesFromAnotherText) {
    Document document = open_preset("stories");
    document.texts = {"Tom has a red ball .", "Lily has a red ball ."};
    document.forward.edits = {
        {.kind = EditKind::TakeRow, .at = {Stage::Context, 0}, .sequence = 0, .head = 0, .from = Edit::kAll, .from_sequence = 1}};
    Session session(document, [] {});
    session.wait();
    const auto write = [&](std::int64_t sequence) {
        session.apply({command::WriteOn{sequence, 2}, ""});
        session.wait();
        session.wait_for_writing();
        return session.document().writing.tokens.size();
    };
    EXPECT_EQ(write(0), 0U);
    EXPECT_NE(session.writing_problem().find("takes numbers from another text"), std::string::npos) << session.writing_problem();
    EXPECT_EQ(write(1), 2U) << "the other text is itself";
}

TEST(WritingStops, NewSettingsApplyToWhatIsStillToCome) {
    SlowWriting slow;
    slow.gate.close();
    Session session(
        open_preset("stories"), [] {}, slow.engine());
    session.wait();
    session.apply({command::WriteOn{0, 6}, ""});
    slow.gate.await_arrival();
    session.apply({command::SetSampling{{.temperature = 0.5}}, ""});
    EXPECT_TRUE(session.is_writing());
    slow.gate.open();
    session.wait_for_writing();
    EXPECT_EQ(session.document().written.ids, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(session.document().sampling.temperature, 0.5);
}

/// What the engine says of overwritten weights is true of no file.
TEST(WritingStops, AtTheFileThatChangedNotAtItsNonsense) {
    namespace fs = std::filesystem;
    const test::TemporaryFolder folder;
    fs::copy(fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2", folder / "model", fs::copy_options::recursive);
    const fs::path weights = folder / "model/model.safetensors";
    Computation computation = Computation::engine();
    computation.write = [&](const Parameters<float>&, const Prompt&, const ForwardSettings&, const SamplingSettings&,
                            const std::function<void(const DrawnToken&)>&, const std::stop_token&, KeptText*) {
        fs::last_write_time(weights, fs::last_write_time(weights) + std::chrono::seconds(1));
        throw Error("the logit of token 0 is NaN: nothing can be drawn");
    };
    Session session(
        document_of_model(OpenedModel::open(folder / "model")), [] {}, computation);
    session.wait();
    session.apply({command::WriteOn{}, ""});
    session.wait_for_writing();
    EXPECT_NE(session.writing_problem().find("model.safetensors: was changed"), std::string::npos) << session.writing_problem();
}

TEST(WritingStops, WhenTheEngineFails) {
    Computation computation = Computation::engine();
    computation.write = [](const Parameters<float>&, const Prompt&, const ForwardSettings&, const SamplingSettings&,
                           const std::function<void(const DrawnToken&)>&, const std::stop_token&,
                           KeptText*) { throw Error("the disk is gone"); };
    Session session(
        open_preset("stories"), [] {}, computation);
    session.wait();
    session.apply({command::WriteOn{}, ""});
    session.wait_for_writing();
    EXPECT_EQ(session.writing_problem(), "the disk is gone");
    EXPECT_FALSE(session.is_writing());
}

/// Records what each engine call is given of the text before it.
struct ObservedWriting {
    std::vector<std::vector<std::int32_t>> given, left;
    Computation engine() {
        Computation computation = Computation::engine();
        const auto write = computation.write;
        computation.write = [this, write](const Parameters<float>& parameters, const Prompt& prompt, const ForwardSettings& forward,
                                          const SamplingSettings& sampling, const std::function<void(const DrawnToken&)>& each,
                                          const std::stop_token& stop, KeptText* kept) {
            given.push_back(kept->cache.text);
            write(parameters, prompt, forward, sampling, each, stop, kept);
            left.push_back(kept->cache.text);
        };
        return computation;
    }
};

TEST(WritingGoesOn, FromWhatIsKnownOfTheTextBefore) {
    ObservedWriting observed;
    Session session(
        open_preset("stories"), [] {}, observed.engine());
    const auto write = [&](std::int64_t tokens) {
        session.apply({command::WriteOn{0, tokens}, ""});
        session.wait_for_writing();
    };
    session.wait();
    write(4);
    write(3);
    ASSERT_EQ(observed.given.size(), 2U);
    EXPECT_TRUE(observed.given[0].empty());
    EXPECT_EQ(observed.given[1], observed.left[0]) << "it is there when the next job begins";
    EXPECT_GT(observed.given[1].size(), 4U);
    // Another model's text is independent of it.
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    session.wait();
    write(2);
    ASSERT_EQ(observed.given.size(), 3U);
    EXPECT_TRUE(observed.given[2].empty());
}

TEST(WritingGoesOn, KeepsNothingBeyondItsBudgetAndNothingOfAModelThatIsGone) {
    for (const double budget : {1e-6, 1000.0}) {
        ObservedWriting observed;
        Writer writer(
            observed.engine().write, [] {}, budget);
        Config config;
        config.vocab_size = 9;
        config.context_length = 40;
        auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
        writer.keep_only(parameters.get());
        const auto write = [&] {
            WritingJob job;
            job.parameters = parameters;
            job.text = {1, 2, 3};
            job.forward.masks.causal = true;
            job.sampling.tokens = 2;
            writer.start(job);
            writer.wait();
        };
        write();
        write();
        EXPECT_EQ(observed.given.at(1).empty(), budget < 1) << budget;
        writer.set_budget(1e-6);
        write();
        EXPECT_EQ(observed.given.at(2).empty(), budget < 1);
        write();
        EXPECT_TRUE(observed.given.at(3).empty()) << "the smaller budget holds from then on";
        writer.set_budget(1000);
        write();
        write();
        EXPECT_FALSE(observed.given.at(5).empty());
        writer.keep_only(nullptr);
        write();
        EXPECT_TRUE(observed.given.at(6).empty());
    }
}

}  // namespace
}  // namespace attn::app
