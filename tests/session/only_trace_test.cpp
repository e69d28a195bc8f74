/// A command has computed what it writes, and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "app/session/analyst.hpp"
#include "app/session/presets.hpp"
#include "app/session/session.hpp"

namespace attn::app {
namespace {

/// A document that has everything beside its trace: an edit, a mistake, a head to write with.
Document demanding_document() {
    Document document = open_preset("gpt-tiny");
    document.forward.mistake = Mistake::NoScale;
    Edit edit;
    edit.at = {Stage::Weights, 0};
    edit.value = 0.5;
    document.forward.edits = {edit};
    return document;
}

struct Counted {
    std::atomic<int> passes{0}, gradients{0};
};

Computation counting(Computation computation, Counted& counted) {
    computation.forward = [&counted, forward = computation.forward](const auto& parameters, const auto& tokens, const auto& source,
                                                                    const auto& settings, const auto& stop) {
        ++counted.passes;
        return forward(parameters, tokens, source, settings, stop);
    };
    if (computation.gradients)
        computation.gradients = [&counted, gradients = computation.gradients](const auto& trace, const auto& stop) {
            ++counted.gradients;
            return gradients(trace, stop);
        };
    return computation;
}

TEST(OnlyTrace, IsOneForwardPassAndWhatIsAskedFor) {
    for (const bool gradients : {false, true}) {
        Counted counted;
        Session session(
            demanding_document(), [] {}, counting(Computation::only_trace(gradients), counted));
        const auto snapshot = session.wait(true);
        EXPECT_EQ(snapshot->problem, "");
        EXPECT_EQ(counted.passes, 1);
        EXPECT_EQ(counted.gradients, gradients ? 1 : 0);
        EXPECT_EQ(snapshot->gradients != nullptr, gradients);
        EXPECT_NE(snapshot->trace, nullptr);
        EXPECT_EQ(snapshot->plain, nullptr);
        EXPECT_EQ(snapshot->unmasked, nullptr);
        EXPECT_EQ(snapshot->correct, nullptr);
        EXPECT_EQ(snapshot->sample, nullptr);
        EXPECT_EQ(snapshot->readings, nullptr);
        EXPECT_EQ(snapshot->verification, nullptr);
        EXPECT_EQ(snapshot->doctor, nullptr);
    }
}

TEST(OnlyTrace, HasTheNumbersThatTheWindowShows) {
    Session all(demanding_document(), [] {}), only(
                                                  demanding_document(), [] {}, Computation::only_trace(true));
    const auto shown = all.wait(false), written = only.wait(false);
    ASSERT_EQ(shown->trace->stages.size(), written->trace->stages.size());
    for (std::size_t i = 0; i < shown->trace->stages.size(); ++i) {
        const auto a = shown->trace->stages[i].value.values(), b = written->trace->stages[i].value.values();
        EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
    ASSERT_EQ(shown->gradients->stages.size(), written->gradients->stages.size());
    for (std::size_t i = 0; i < shown->gradients->stages.size(); ++i) {
        const auto a = shown->gradients->stages[i].value.values(), b = written->gradients->stages[i].value.values();
        EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
    // The window has more: were it not so, the first test would prove nothing.
    EXPECT_TRUE(shown->plain != nullptr && shown->unmasked != nullptr && shown->correct != nullptr && shown->sample != nullptr);
}

}  // namespace
}  // namespace attn::app
