/// Deliberate mistakes and the doctor in a session.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/difference.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/session/values/verification.hpp"
#include "engine/reference/verification.hpp"
#include "engine/trace/trace_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

Command with_mistake(const Session& session, Mistake mistake) {
    ForwardSettings forward = session.document().forward;
    forward.mistake = mistake;
    return {command::SetForward{forward}, ""};
}

TEST(MistakeSession, ShowsTheMistakeBesideTheRightNumbers) {
    Session session(open_preset("causal-attention"), [] {});
    const auto right = session.wait();
    EXPECT_EQ(session.states().correct, nullptr);
    const auto report = session.get(facet::Doctor{});
    EXPECT_EQ(report->diagnosis.verdict, doctor::Verdict::Correct) << report->diagnosis.explanation;
    for (const FutureTest& test : report->future) EXPECT_TRUE(test.moved.empty()) << test.changed;
    for (const MistakeInfo& info : mistakes()) {
        session.apply(with_mistake(session, info.mistake));
        const auto broken = session.wait();
        ASSERT_EQ(broken->problem, "") << info.name;
        ASSERT_NE(session.states().correct, nullptr) << info.name;
        EXPECT_EQ(session.states().correct, right->state) << "the state that was shown before";
        const auto correct = session.compute(session.states().correct, facet::Trace{});
        EXPECT_EQ(correct->trace->settings.mistake, Mistake::None);
        const StageId weights{Stage::Weights, 0};
        const auto numbers = correct->trace->find(weights)->value.values(), before = right->trace->find(weights)->value.values();
        EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), before.begin(), before.end())) << info.name;
        EXPECT_TRUE(session.get(facet::Verification{})->ok) << info.name << ": the reference makes the same mistake";
    }
    EXPECT_EQ(document_from_json(document_to_json(session.document()), "d"), session.document());
    while (session.can_undo()) session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.document().forward.mistake, Mistake::None);
}

TEST(MistakeSession, SaysWhenItChangesNothing) {
    int idle = 0, acting = 0;
    for (const char* preset : {"self-attention", "multi-head", "encoder-block", "gpt-tiny", "encoder-decoder"}) {
        Session session(open_preset(preset), [] {});
        for (const MistakeInfo& info : mistakes()) {
            session.apply(with_mistake(session, info.mistake));
            const auto snapshot = session.wait();
            const StateRef correct_state = session.states().correct;
            ASSERT_NE(correct_state, nullptr) << info.name;
            const auto correct = session.compute(correct_state, facet::Trace{});
            std::optional<StageId> first;
            for (std::size_t i = 0; i < snapshot->trace->stages.size() && !first; ++i) {
                const auto a = snapshot->trace->stages[i].value.values(), b = correct->trace->stages[i].value.values();
                if (!std::equal(a.begin(), a.end(), b.begin(), b.end())) first = snapshot->trace->stages[i].id;
            }
            const bool same = !first;
            EXPECT_EQ(*session.get(facet::SameNumbers{correct_state}), same) << preset << ", " << info.name;
            EXPECT_EQ(*session.get(facet::FirstDifference{correct_state}), first) << preset << ", " << info.name;
            ++(same ? idle : acting);
        }
        session.apply(with_mistake(session, Mistake::None));
        session.wait();
        EXPECT_EQ(session.states().correct, nullptr) << "there is none";
    }
    EXPECT_GT(idle, 5);
    EXPECT_GT(acting, 30);
}

TEST(MistakeSession, TheDoctorNamesItAndSeesTheFuture) {
    Session session(open_preset("causal-attention"), [] {});
    session.apply(with_mistake(session, Mistake::CausalLeaksOne));
    const auto report = session.get(facet::Doctor{});
    EXPECT_EQ(report->diagnosis.bug, doctor::Bug::CausalLeaksOne);
    ASSERT_FALSE(report->future.empty());
    const FutureTest& last = report->future.back();
    ASSERT_FALSE(last.moved.empty());
    EXPECT_EQ(last.moved.back().position, last.changed - 1);
}

TEST(MistakeSession, ReadsADumpAwayFromTheWindow) {
    const test::TemporaryFolder folder;
    Session session(open_preset("causal-attention"), [] {});
    session.apply(with_mistake(session, Mistake::NoScale));
    const auto snapshot = session.wait();
    EXPECT_EQ(session.dump(), nullptr);
    TokenTexts texts;
    for (const std::int64_t length : snapshot->trace->tokens.lengths) texts.emplace_back(static_cast<std::size_t>(length), "x");
    const auto path = folder.path() / "dump.safetensors";
    write_trace(path, *snapshot->trace, texts);
    session.apply({command::OpenDump{path}, ""});
    ASSERT_NE(session.dump(), nullptr);
    EXPECT_EQ(session.dump()->file, path.string());
    session.wait_for_dump();
    EXPECT_FALSE(session.dump()->reading);
    EXPECT_EQ(session.dump()->diagnosis.bug, doctor::Bug::NoScale);
    std::ofstream(folder.path() / "bad.npz") << "no zip";
    session.apply({command::OpenDump{folder.path() / "bad.npz"}, ""});
    session.apply({command::OpenDump{folder.path() / "missing.npz"}, ""});
    session.wait_for_dump();
    EXPECT_NE(session.dump()->problem.find("missing.npz"), std::string::npos) << "the newest file counts";
    EXPECT_FALSE(session.can_undo() && !session.document().forward.mistaken()) << "a file is no change of the document";
}

}  // namespace
}  // namespace attn::app
