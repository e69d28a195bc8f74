#include "app/panels/state/morph.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "app/panels/frame/frame.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

constexpr double kFrame = 1.0 / 60;
const ShownMap kScores{{Stage::Scores, 0}, 0, 0, 5, 5, 1};
const ShownMap kWeightsMap{{Stage::Weights, 0}, 0, 0, 5, 5, 1};

TEST(Morph, PassesFromOneMapToTheNextAndEnds) {
    Morph morph;
    morph.show(kScores, 10, true);
    EXPECT_FALSE(morph.moving(10)) << "there is nothing to come from";
    EXPECT_EQ(morph.share(10), 1);
    morph.show(kWeightsMap, 20, true);
    EXPECT_TRUE(morph.moving(20));
    EXPECT_EQ(morph.from(), kScores);
    float before = -1;
    for (double t = 20; t < 20.15; t += 0.01) {
        morph.show(kWeightsMap, t, true);
        EXPECT_GT(morph.share(t), before) << "it never goes back";
        EXPECT_LT(morph.share(t), 1);
        before = morph.share(t);
    }
    EXPECT_FALSE(morph.moving(20.151));
    EXPECT_EQ(morph.share(20.151), 1);
}

TEST(Morph, OnlyBetweenMapsThatCanLieOnEachOther) {
    const auto moves = [](auto change, bool wanted = true) {
        Morph morph;
        morph.show(kScores, 10, true);
        ShownMap next = kWeightsMap;
        change(next);
        morph.show(next, 20, wanted);
        return morph.moving(20);
    };
    EXPECT_TRUE(moves([](ShownMap&) {}));
    EXPECT_TRUE(moves([](ShownMap& map) { map.stage.layer = 3; }));
    EXPECT_FALSE(moves([](ShownMap& map) { map.rows = 4; }));
    EXPECT_FALSE(moves([](ShownMap& map) { map.cols = 6; }));
    EXPECT_FALSE(moves([](ShownMap& map) { map.serial = 2; })) << "the numbers before are gone";
    EXPECT_FALSE(moves([](ShownMap& map) { map.batch = 1; })) << "other words stand beside it";
    EXPECT_FALSE(moves([](ShownMap&) {}, false)) << "it is switched off";
}

class MorphTest : public InterfaceFixture {
protected:
    /// The number of translucent maps in the central picture of the last frame.
    int see_through() const {
        int count = 0;
        for (const auto& call : canvas.calls) count += call.request.opacity < 1;
        return count;
    }
    /// The number of frames until nothing moves; -1 if that never happens.
    int frames_to_rest() {
        for (int i = 0; i < 60; ++i) {
            if (seconds_at_rest(view, now) > 0) return i;
            frame(ui_frame);
        }
        return -1;
    }
    /// That the colours mean other numbers is said for some seconds, after which one more frame is drawn.
    void rest_of_range_note() {
        const double rest = seconds_at_rest(view, now);
        if (rest > 1e9) return;
        EXPECT_GT(rest, 3) << "nothing moves";
        now += rest;
        frame(ui_frame);
    }
    void turn_to(Stage stage) {
        view.stage.stage = stage;
        canvas.calls.clear();
        frame(ui_frame);
    }
};

TEST_F(MorphTest, EndsAfterItsTimeAndAsksForNoMoreFrames) {
    open_example("causal-attention");
    view.stage = {Stage::Scores, 0};
    frames(20, ui_frame);
    EXPECT_GT(seconds_at_rest(view, now), 1e9);
    for (const Stage next : {Stage::Scaled, Stage::Masked, Stage::Weights, Stage::Dropped, Stage::Scores}) {
        turn_to(next);
        EXPECT_EQ(see_through(), 1) << stage_name({next});
        EXPECT_EQ(seconds_at_rest(view, now - kFrame), 0);
        const int frames = frames_to_rest();
        EXPECT_GT(frames, 3) << "of 60 a second, 150 ms are nine";
        EXPECT_LE(frames, 10);
        canvas.calls.clear();
        frame(ui_frame);
        EXPECT_EQ(see_through(), 0);
        rest_of_range_note();
        EXPECT_GT(seconds_at_rest(view, now), 1e9) << "nothing moves and nothing is drawn";
    }
}

/// The map below is the previous one as in the trace; the map on top and the numbers in the cells are the new one's.
TEST_F(MorphTest, BothMapsAreRealAndAtTheSamePlace) {
    open_example("causal-attention");
    view.stage = {Stage::Masked, 0};
    view.head = 1;
    frames(20, ui_frame);
    turn_to(Stage::Weights);
    std::size_t upper = 0;
    for (std::size_t i = 0; i < canvas.calls.size(); ++i)
        if (canvas.calls[i].request.opacity < 1) upper = i;
    ASSERT_GT(upper, 0U);
    const NullCanvas::Call &over = canvas.calls[upper], &under = canvas.calls[upper - 1];
    EXPECT_EQ(over.min.x, under.min.x);
    EXPECT_EQ(over.max.y, under.max.y);
    EXPECT_EQ(under.request.opacity, 1);
    const auto offset = [&](const NullCanvas::Call& call, Stage stage) {
        return call.request.data.values - trace().find({stage, 0})->value.data();
    };
    EXPECT_EQ(offset(over, Stage::Weights), 100) << "the second head of ten by ten";
    EXPECT_EQ(offset(under, Stage::Masked), 100);
    // The same keys as without an animation, so that nothing is uploaded for it.
    const std::uint64_t key = over.request.data.key;
    canvas.calls.clear();
    frames_to_rest();
    canvas.calls.clear();
    frame(ui_frame);
    int drawn = 0;
    for (const auto& call : canvas.calls) drawn += call.request.data.key == key;
    EXPECT_GE(drawn, 1);
}

TEST_F(MorphTest, CanBeSwitchedOff) {
    open_example("causal-attention");
    view.stage = {Stage::Scores, 0};
    view.morphing = false;
    frames(3, ui_frame);
    turn_to(Stage::Scaled);
    EXPECT_EQ(see_through(), 0);
    rest_of_range_note();
    EXPECT_GT(seconds_at_rest(view, now), 1e9);
}

TEST_F(MorphTest, AllHeadsChangeTogether) {
    open_example("causal-attention");
    view.view = View::Heads;
    view.heads.stage = Stage::Scores;
    frames(20, ui_frame);
    view.heads.stage = Stage::Masked;
    canvas.calls.clear();
    frame(ui_frame);
    EXPECT_EQ(see_through(), trace().config.num_heads);
    EXPECT_GT(frames_to_rest(), 3);
}

TEST_F(MorphTest, NothingIsTranslucentInComparisonsAndGradients) {
    open_example("causal-attention");
    view.stage = {Stage::Scores, 0};
    frames(3, ui_frame);
    view.compare.choose(Compare::Unmasked);
    turn_to(Stage::Scaled);
    EXPECT_EQ(see_through(), 0);
    view.compare.choose(Compare::Off);
    view.gradients = true;
    turn_to(Stage::Masked);
    EXPECT_EQ(see_through(), 0);
}

}  // namespace
}  // namespace attn::app::test
