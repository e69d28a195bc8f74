/// Rounding is not reported as a mistake, and mistakes hidden in it are still found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/doctor/doctor.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

/// The numbers rounded to float.
Values shortened(Values values) {
    for (double& x : values) x = static_cast<double>(static_cast<float>(x));
    return values;
}

/// For nearly uniform 16-bit weights, many mistakes are within rounding, but the one made is closest.
TEST(DoctorRounding, OfMistakesWithinRoundingTheClosestIsNamed) {
    const Sizes n{1, 3, 12, 12, 2};
    int named = 0;
    for (double size = 0.01; size < 4; size *= 1.2) {
        // Scaled by d_head; with the root of d_model the factor would be 0.41 instead of 0.5.
        Example example(n, 5, size / 2, everywhere);
        for (double& x : example.q) x *= size;
        for (double& x : example.scores) x *= size;
        ArrayFile file = example.file();
        keep_only(file, {"q", "k"});
        file.arrays.push_back(as_bfloat16("weights", {n.b, n.h, n.t, n.s}, example.weights));
        const Diagnosis diagnosis = examine(file);
        if (diagnosis.verdict == Verdict::Correct) continue;  // the correct result is within rounding too
        if (diagnosis.verdict == Verdict::Unknown) {          // the same, but not as close
            EXPECT_THAT(diagnosis.explanation, testing::HasSubstr("scaled_twice")) << size;
            continue;
        }
        EXPECT_EQ(diagnosis.bug, Bug::ScaledTwice) << size << ": " << diagnosis.explanation;
        ++named;
    }
    EXPECT_GT(named, 5);
}

TEST(DoctorRounding, ASoftmaxOf32BitsAmong64IsRight) {
    for (const Sizes& n : {Sizes{1, 1, 2, 2, 3}, Sizes{2, 3, 5, 5, 4}, Sizes{1, 2, 9, 4, 16}}) {
        const Example example(n, 3, 1 / std::sqrt(static_cast<double>(n.d)), everywhere);
        ArrayFile file = example.file();
        replace(file, "weights", shortened(example.weights));
        const Diagnosis diagnosis = examine(file);
        EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << diagnosis.explanation;
    }
}

TEST(DoctorRounding, AMistakeIsNamedBesideIt) {
    const Example example({}, 3, 1, everywhere);
    ArrayFile file = example.file();
    replace(file, "weights", shortened(example.weights));
    EXPECT_EQ(examine(file).bug, Bug::NoScale);
}

TEST(DoctorRounding, OneCellOfMoreErrorThanTheOthersIsWrong) {
    const Example example({}, 3, 0.5, everywhere);
    ArrayFile file = example.file();
    Values weights = shortened(example.weights);
    weights[17] += 1e-3;
    replace(file, "weights", weights);
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong);
}

/// A context computed with dropped weights that the file does not contain. The rows are saturated, so that many weights are small compared
/// with the rounding of the others.
TEST(DoctorRounding, NamesHiddenDropoutAmongSmallWeights) {
    const Sizes n{1, 2, 24, 24, 64};
    for (const double rate : {0.1, 0.2, 0.5}) {
        const Example example(n, 7, 1 / std::sqrt(64.0), causal);
        const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
        std::mt19937 random(11);
        std::bernoulli_distribution drops(rate);
        // Scores four times as far apart.
        Values q = example.q, scores = example.scores, weights(example.weights.size()), context(example.context.size(), 0);
        for (double& x : q) x *= 4;
        for (double& x : scores) x *= 4;
        for (std::int64_t row = 0; row < n.h * n.t; ++row) {
            double sum = 0;
            for (std::int64_t s = 0; s <= row % n.t; ++s) sum += weights[at(row * n.s + s)] = std::exp(scores[at(row * n.s + s)] / 8);
            for (std::int64_t s = 0; s <= row % n.t; ++s) {
                double& weight = weights[at(row * n.s + s)];
                weight /= sum;
                if (drops(random)) continue;
                for (std::int64_t d = 0; d < n.d; ++d)
                    context[at(row * n.d + d)] += weight / (1 - rate) * example.v[at((row / n.t * n.s + s) * n.d + d)];
            }
        }
        ArrayFile file;
        file.source = "dump.npz";
        const auto add = [&](const char* name, std::int64_t columns, const Values& values) {
            const Values shorter = shortened(values);
            file.arrays.push_back(make_array<float>(name, {n.b, n.h, n.t, columns}, std::vector<float>(shorter.begin(), shorter.end())));
        };
        add("q", n.d, q);
        add("k", n.d, example.k);
        add("v", n.d, example.v);
        add("weights", n.s, weights);
        add("context", n.d, context);
        const Diagnosis diagnosis = examine(file);
        EXPECT_EQ(diagnosis.bug, Bug::DropoutLeftOn) << rate << ": " << diagnosis.explanation;
        change(file, "context", 200, 3);
        EXPECT_NE(examine(file).bug, Bug::DropoutLeftOn) << rate;
    }
}

}  // namespace
}  // namespace attn::doctor
