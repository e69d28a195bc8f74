/// Mistakes between the weights and the context: dropout that does not scale, and transposed weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/doctor/doctor.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kContextScale = 0.5;  // 1/√4

Values context_of(const Values& weights, const Example& example) {
    const std::size_t keys = Example::at(example.n.s), size = Example::at(example.n.d), rows = Example::at(example.n.t);
    Values out;
    for (std::size_t row = 0; row < weights.size() / keys; ++row)
        for (std::size_t d = 0; d < size; ++d) {
            out.push_back(0);
            for (std::size_t s = 0; s < keys; ++s) out.back() += weights[row * keys + s] * example.v[(row / rows * keys + s) * size + d];
        }
    return out;
}

/// `factor` 1: not scaled.
Values with_dropout(const Values& weights, double rate, double factor) {
    std::mt19937 engine(5);
    std::uniform_real_distribution<double> uniform;
    Values out = weights;
    for (double& x : out) x = uniform(engine) < rate ? 0 : x * factor;
    return out;
}

TEST(DoctorContext, DropoutWithoutScalingIsNamed) {
    for (const bool is_causal : {true, false})
        for (const std::int64_t heads : {1, 3}) {
            const Sizes n{2, heads, 6, 6, 4};
            const Example example = is_causal ? Example(n, 11, kContextScale, causal) : Example(n, 11, kContextScale, everywhere);
            for (const double factor : {1.0, 1 / 0.7}) {
                const Values after = with_dropout(example.weights, 0.3, factor);
                ArrayFile file = example.file();
                file.arrays.push_back(make_array<double>("dropped", {n.b, n.h, n.t, n.s}, after));
                replace(file, "context", context_of(after, example));
                ArrayFile in_weights = example.file();
                replace(in_weights, "weights", after);
                replace(in_weights, "context", context_of(after, example));
                ArrayFile in_context = example.file();
                replace(in_context, "context", context_of(after, example));
                for (ArrayFile* each : {&file, &in_weights, &in_context}) {
                    if (is_causal) each->metadata["causal"] = "true";
                    const Diagnosis found = examine(*each);
                    const std::string& explanation = found.explanation;
                    const bool is_training = factor != 1 && each == &file;  // what dropout does between weights and dropped
                    EXPECT_EQ(found.verdict, is_training ? Verdict::Correct : Verdict::Wrong) << is_causal << heads << explanation;
                    const std::optional<Bug> bug = factor == 1   ? std::optional(Bug::Other)
                                                   : is_training ? std::nullopt
                                                                 : std::optional(Bug::DropoutLeftOn);
                    EXPECT_EQ(found.bug, bug) << is_causal << heads << explanation;
                    const bool unscaled = factor == 1;
                    if (unscaled) EXPECT_THAT(explanation, HasSubstr("did not divide the others by 1 - rate")) << is_causal << heads;
                    else EXPECT_THAT(explanation, Not(HasSubstr("did not divide"))) << is_causal << heads;
                }
            }
        }
}

/// A context that is slightly off lacks nothing.
TEST(DoctorContext, ASmallErrorIsNoDropout) {
    for (const std::int64_t size : {4, 16})
        for (const double factor : {1.00001, 1.002, 1.009}) {
            const Example example({1, 2, 6, 6, size}, 14, 1 / std::sqrt(static_cast<double>(size)), causal);
            Values context = example.context;
            for (double& x : context) x *= factor;
            ArrayFile file = example.file();
            keep_only(file, {"q", "k", "v", "context"});
            replace(file, "context", context);
            file.metadata["causal"] = "true";
            const Diagnosis found = examine(file);
            EXPECT_NE(found.verdict, Verdict::Correct) << size << ' ' << factor;
            EXPECT_THAT(found.explanation, Not(HasSubstr("ropout"))) << size << ' ' << factor;
        }
}

/// Weights that a mask set to 0 after the softmax are not dropped.
TEST(DoctorContext, AMaskAfterTheSoftmaxIsNoDropout) {
    for (const std::int64_t heads : {1, 3}) {
        const Sizes n{1, heads, 6, 6, 4};
        const Example example(n, 12, kContextScale, everywhere);
        Values masked = example.weights;
        for (std::size_t i = 0; i < masked.size(); ++i)
            if (i % 6 > i / 6 % 6) masked[i] = 0;
        ArrayFile file = example.file();
        keep_only(file, {"q", "k", "v", "scores", "scaled", "weights", "context"});
        replace(file, "weights", masked);
        replace(file, "context", context_of(masked, example));
        EXPECT_EQ(examine(file).bug, Bug::MaskAfterSoftmax) << examine(file).explanation;
    }
}

TEST(DoctorContext, TransposedWeightsInTheContextAreNamed) {
    for (const bool is_causal : {true, false}) {
        const Sizes n{2, 2, 5, 5, 4};
        const Example example = is_causal ? Example(n, 13, kContextScale, causal) : Example(n, 13, kContextScale, everywhere);
        Values turned = example.weights;
        for (std::size_t i = 0; i < turned.size(); ++i) turned[i / 25 * 25 + i % 5 * 5 + i / 5 % 5] = example.weights[i];
        for (const auto& names : std::vector<std::vector<std::string>>{{"q", "k", "v", "scores", "scaled", "masked", "weights", "context"},
                                                                       {"q", "k", "v", "weights", "context"},
                                                                       {"v", "weights", "context"}}) {
            ArrayFile file = example.file();
            replace(file, "context", context_of(turned, example));
            keep_only(file, names);
            const Diagnosis diagnosis = examine(file);
            EXPECT_EQ(diagnosis.verdict, Verdict::Wrong);
            EXPECT_EQ(diagnosis.stage, "context");
            EXPECT_THAT(diagnosis.explanation, HasSubstr("computed from the transposed weights")) << names.size();
        }
    }
}

}  // namespace
}  // namespace attn::doctor
