/// Deliberate mistakes in the window: where they are shown, and training with and without them.

#include "app/panels/settings/mistakes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

class MistakesTest : public InterfaceFixture {
protected:
    void break_it(Mistake mistake) {
        with_context([mistake](PanelContext& context) { set_mistake(context, mistake); });
        frames(2, ui_frame);
    }
    template <class What>
    bool sent() const {
        return std::any_of(commands.begin(), commands.end(), [](const Command& c) { return std::holds_alternative<What>(c.what); });
    }
    /// Whether the shown stage differs from the one without the mistake.
    bool shows_a_difference() {
        const auto snapshot = session->snapshot(), correct = computed(session->states().correct);
        const auto *broken = snapshot->trace->find(view.stage), *right = correct->trace->find(view.stage);
        const auto a = broken->value.values(), b = right->value.values();
        return !std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
};

TEST_F(MistakesTest, TheStageWhereItActsIsShownBesideTheRightOne) {
    open_example("gpt-tiny");
    session->apply({command::SetTexts{{"a few words of a text", "fewer words"}, {}}, ""});
    session->wait();
    for (const MistakeInfo& info : mistakes()) {
        view.stage = {Stage::Tokens, -1};
        break_it(info.mistake);
        EXPECT_EQ(view.compare.source, Compare::Correct);
        ASSERT_NE(session->states().correct, nullptr) << info.name;
        EXPECT_TRUE(shows_a_difference()) << info.name << " at " << tensor_name(view.stage);
    }
    break_it(Mistake::None);
    EXPECT_FALSE(view.compare.on());
}

TEST_F(MistakesTest, OneCallTrainsRightAndBroken) {
    open_example("causal-attention");
    carry_out = false;
    with_context([](PanelContext& context) { train_both(context, Mistake::NoResidual); });
    EXPECT_TRUE(sent<command::TrainBoth>());
    ASSERT_TRUE(sent<command::SetRun>());
    EXPECT_EQ(std::get<command::SetRun>(commands.front().what).run.train.forward.mistake, Mistake::NoResidual);
    EXPECT_EQ(view.view, View::Train);
}

}  // namespace
}  // namespace attn::app::test
