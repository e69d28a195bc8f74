/// The drawn curves of runs: incremental updates, and names that distinguish runs.

#include "app/panels/state/train_curves.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/train_words.hpp"
#include "engine/train/long_curve.hpp"
#include "tests/support/fake_training.hpp"

namespace attn::app::test {
namespace {

void expect_same(const Curve& a, const Curve& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a.x()[i], b.x()[i]);
        EXPECT_EQ(a.raw().values()[i], b.raw().values()[i]);
        EXPECT_EQ(a.smoothed().values()[i], b.smoothed().values()[i]);
    }
}

TEST(TrainCurves, GrowByWhatIsNew) {
    const TrainingReport all = fake_report({{.run = 1, .steps = 500}});
    TrainingReport part = all;
    TrainCurves grown, whole;
    for (const std::size_t points : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{250}, std::size_t{500}}) {
        RunCurves& run = part.runs[0];
        run.losses.assign(all.runs[0].losses.begin(), all.runs[0].losses.begin() + static_cast<std::ptrdiff_t>(points));
        const std::size_t evaluations = points == 500 ? all.runs[0].validations.size() : points / 25;
        run.validations.assign(all.runs[0].validations.begin(), all.runs[0].validations.begin() + static_cast<std::ptrdiff_t>(evaluations));
        run.heads.assign(all.runs[0].heads.begin(), all.runs[0].heads.begin() + static_cast<std::ptrdiff_t>(evaluations));
        grown.update(part, 0.8);
        ASSERT_EQ(grown.runs()[0].loss.size(), points);
    }
    whole.update(all, 0.8);
    const RunLines &a = grown.runs()[0], &b = whole.runs()[0];
    expect_same(a.loss, b.loss);
    expect_same(a.gradient_norm, b.gradient_norm);
    expect_same(a.learning_rate, b.learning_rate);
    expect_same(a.validation_accuracy, b.validation_accuracy);
    ASSERT_EQ(a.heads.size(), 8U);
    for (std::size_t h = 0; h < 8; ++h)
        for (int p = 1; p < kHeadPatterns; ++p)
            expect_same(a.heads[h].curve(static_cast<HeadPattern>(p)), b.heads[h].curve(static_cast<HeadPattern>(p)));
}

/// Expects the lines to equal those of a run, of which `report` contains only the points that remain after thinning.
void expect_lines_of(const TrainCurves& curves, const TrainingReport& report) {
    TrainCurves fresh;
    fresh.update(report, 0.8);
    const RunLines &a = curves.runs().at(0), &b = fresh.runs().at(0);
    expect_same(a.loss, b.loss);
    expect_same(a.learning_rate, b.learning_rate);
    expect_same(a.validation_loss, b.validation_loss);
    ASSERT_EQ(a.heads.size(), b.heads.size());
    for (std::size_t h = 0; h < a.heads.size(); h += 40) expect_same(a.heads[h].by_pattern[1], b.heads[h].by_pattern[1]);
}

TEST(TrainCurves, FollowALongRunOfWhichOlderPointsGo) {
    TrainingReport report = fake_report({{.run = 1, .steps = 0}});
    RunCurves& run = report.runs[0];
    run.heads.clear();
    // Updated every frame at first, or as rarely as the view is opened.
    TrainCurves often, rarely;
    for (std::int64_t step = 1; step <= 2 * static_cast<std::int64_t>(kMostCurvePoints); ++step) {
        const auto s = static_cast<double>(step);
        add_point(run.losses, {.step = step, .loss = std::sin(s / 999), .learning_rate = s});
        if (step % 20 == 0) add_point(run.validations, {step, s});
        if (step % 100 == 0) {
            HeadPoint point{step, std::vector<HeadScore>(200)};
            point.scores[40].previous_token = 1 / s;
            add_point(run.heads, std::move(point));
        }
        if (step % 1'000 == 0) often.update(report, 0.8);
        if (step % 90'007 == 0) rarely.update(report, 0.8);
    }
    ASSERT_LT(run.losses.size(), kMostCurvePoints);
    ASSERT_LE(run.heads.size(), kFewestHeadPoints);
    for (TrainCurves* curves : {&often, &rarely}) {
        curves->update(report, 0.8);
        expect_lines_of(*curves, report);
        ASSERT_EQ(curves->runs()[0].heads.size(), 200U);
        const auto steps = curves->runs()[0].heads[40].by_pattern[1].x();
        for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<double>(run.heads[i].step));
    }
}

TEST(TrainCurves, HeadPointsAloneThatGoAreNoticed) {
    TrainingReport report = fake_report({{.run = 1, .steps = 500}});
    TrainCurves curves;
    curves.update(report, 0.8);
    std::vector<HeadPoint>& heads = report.runs[0].heads;
    heads.erase(heads.begin() + 1);
    heads.push_back(heads.back());
    heads.back().step += 25;
    curves.update(report, 0.8);
    expect_lines_of(curves, report);
}

TEST(TrainCurves, FollowRunsThatComeAndGo) {
    TrainCurves curves;
    curves.update(fake_report({{.run = 1, .steps = 60}, {.run = 2, .steps = 40}}), 0.5);
    ASSERT_NE(curves.find(1), nullptr);
    EXPECT_EQ(curves.find(1)->last_step(), 60);
    curves.update(fake_report({{.run = 2, .steps = 45}}), 0.5);
    EXPECT_EQ(curves.find(1), nullptr);
    ASSERT_NE(curves.find(2), nullptr);
    EXPECT_EQ(curves.find(2)->loss.size(), 45U);
    // A resumed run has the same number but other points.
    TrainingReport other = fake_report({{.run = 2, .steps = 200}});
    other.runs[0].losses.erase(other.runs[0].losses.begin(), other.runs[0].losses.begin() + 100);
    curves.update(other, 0.5);
    ASSERT_EQ(curves.find(2)->loss.size(), 100U);
    EXPECT_EQ(curves.find(2)->loss.x().front(), 101);
}

TEST(TrainCurves, AHeadFormsWhereItStaysAboveAHalf) {
    Curve curve;
    for (const float value : {0.1F, 0.7F, 0.4F, 0.6F, 0.8F}) curve.append(static_cast<double>(curve.size() * 10), value);
    EXPECT_EQ(forms_at(curve), 30);
    curve.append(50, 0.2F);
    EXPECT_LT(forms_at(curve), 0);
    EXPECT_LT(forms_at(Curve{}), 0);
    TrainCurves curves;
    curves.update(fake_report({{.run = 1, .steps = 1200}}), 0.5);
    const HeadCurves &previous = curves.runs()[0].heads[1], &induction = curves.runs()[0].heads[6];
    EXPECT_EQ(previous.strongest, HeadPattern::PreviousToken);
    EXPECT_EQ(induction.strongest, HeadPattern::Induction);
    EXPECT_NEAR(forms_at(previous.curve(HeadPattern::Strongest)), 330, 26);
    EXPECT_NEAR(forms_at(induction.curve(HeadPattern::Strongest)), 520, 26);
}

/// What a branch begins with has formed before it, where no curve of its own shows that.
TEST(TrainCurves, InABranchTheStrongestHeadCounts) {
    TrainingReport report;
    report.runs.resize(1);
    RunCurves& run = report.runs[0];
    run.run = 2;
    const auto point = [](std::int64_t step, double risen) {
        HeadPoint heads{step, std::vector<HeadScore>(3)};
        for (std::size_t head = 0; head < 3; ++head) heads.scores[head].head = static_cast<std::int64_t>(head);
        heads.scores[0].previous_token = risen;
        heads.scores[2].previous_token = 0.9;
        return heads;
    };
    run.heads = {point(400, 0.1), point(401, 0.2)};
    TrainCurves curves;
    curves.update(report, 0);
    EXPECT_EQ(curves.runs()[0].forming, 0U);
    run.origin = RunOrigin{1, 400};
    curves = {};
    curves.update(report, 0);
    EXPECT_EQ(curves.runs()[0].forming, 2U);
}

TEST(Labels, HeadsAreNamedByTheirAttention) {
    EXPECT_EQ(attention_name({Stage::Weights, 2}, 3), "L2 H3");
    EXPECT_EQ(attention_name({Stage::Context, 0, Stack::Encoder}, 1), "encoder L0 H1");
    EXPECT_EQ(attention_name({Stage::Weights, 0, Stack::Decoder}, 1, true), "dec L0 H1");
    EXPECT_EQ(attention_name({Stage::Context, 1, Stack::Decoder, kCrossAttention}, {}, true), "cross L1");
}

TEST(TrainWords, RunsAreNamedByWhatDistinguishesThem) {
    TrainingReport report = fake_report({{.run = 1, .steps = 1, .rate = 1e-3}, {.run = 4, .steps = 1, .rate = 3e-3}});
    EXPECT_EQ(run_names(report.runs), (std::vector<std::string>{"run 1 · lr 1e−3", "run 4 · lr 3e−3"}));
    report.runs[1].settings.model.num_heads = 1;
    EXPECT_EQ(run_names(report.runs)[1], "run 4 · 1 head · lr 3e−3");
    report.runs[1].settings = report.runs[0].settings;
    Config& model = report.runs[1].settings.model;
    model.position = PositionKind::Rotary;
    model.norm_kind = NormKind::Rms;
    model.ffn_gated = true;
    model.activation = Activation::Silu;
    EXPECT_EQ(run_names(report.runs)[1], "run 4 · rotary with base 10,000 · RMSNorm · gated SiLU feed-forward");
    model.num_kv_heads = 1;
    model.rotary_base = 1e6;
    EXPECT_EQ(run_names(report.runs)[1].find("run 4 · 1 K/V head · rotary with base 1,000,000 · "), 0U) << run_names(report.runs)[1];
    report.runs[1].settings = report.runs[0].settings;
    for (RunCurves& run : report.runs) run.settings.task.kind = TaskKind::Text;
    report.runs[1].settings.task.tokenizer = TokenizerKind::Bpe;
    report.runs[1].settings.task.vocab = 1024;
    EXPECT_EQ(run_names(report.runs), (std::vector<std::string>{"run 1 · characters", "run 4 · 1,024 pieces"}));
    report.runs.pop_back();
    EXPECT_EQ(run_names(report.runs), (std::vector<std::string>{"run 1"}));
}

/// A setting that was moved once a run had ended has trained no step of it.
TEST(TrainWords, ARunIsNamedByWhatTrainedIt) {
    TrainingReport report = fake_report({{.run = 1, .steps = 40, .rate = 1e-3}});
    RunCurves& run = report.runs[0];
    RunSettings other = run.settings;
    other.train.schedule.rate = 3e-3;
    run.changes = {{run.losses.back().step, other}};
    EXPECT_EQ(run_names(report.runs), (std::vector<std::string>{"run 1"}));
    EXPECT_EQ(settings_of_step(run, run.losses.back().step + 1), other);
    run.changes[0].step -= 1;
    EXPECT_EQ(run_names(report.runs), (std::vector<std::string>{"run 1 · lr 1e−3 → lr 3e−3"}));
}

TEST(TrainWords, ABranchSaysWhereItCameFrom) {
    EXPECT_EQ(origin_words({3, 400}), "branched off run 3");
    EXPECT_EQ(origin_words({3, 400, "warm"}), "branched off “warm”");
    EXPECT_EQ(origin_words({3, 400, "", true}), "branched off run 3 of the session that saved it");
}

TEST(TrainWords, AValueOfAnotherStepSaysWhich) {
    const std::vector<double> steps = {1, 64, 1024, 1025};
    EXPECT_EQ(other_step(steps, 1), "");
    EXPECT_EQ(other_step(steps, 63.6), "");
    EXPECT_EQ(other_step(steps, 63.4), " at step 64");
    EXPECT_EQ(other_step(steps, 900), " at step 1,024");
    EXPECT_EQ(other_step(steps, 1e18), " at step 1,025");
    EXPECT_EQ(other_step({}, 5), "");
}

TEST(TrainWords, Durations) {
    EXPECT_EQ(duration(0), "0:00");
    EXPECT_EQ(duration(20.4), "0:20");
    EXPECT_EQ(duration(59.9), "1:00");
    EXPECT_EQ(duration(3725), "1:02:05");
    EXPECT_EQ(duration(-3), "0:00");
}

}  // namespace
}  // namespace attn::app::test
