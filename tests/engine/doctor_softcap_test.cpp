/// Soft-capped scores: known from the file, or found in the numbers, and never taken for anything else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/doctor/doctor.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr double kScaleBeforeCap = 0.5;  // 1/√4

std::vector<std::string> warnings_of(const Diagnosis& diagnosis) {
    std::vector<std::string> out;
    for (const Finding& finding : diagnosis.findings)
        if (finding.severity == Severity::Warning) out.push_back(finding.sentence);
    return out;
}

/// Causal attention with capped scores, in plain loops and 32 bits. `times` makes q, and so the scores, larger.
ArrayFile capped_file(double cap, double times, const Sizes& n = {2, 3, 8, 8, 4}) {
    Example example(n, 7, kScaleBeforeCap, causal);
    for (double& x : example.q) x *= times;
    Example capped(example, kScaleBeforeCap, causal);  // q, k and v of the other
    for (double& x : capped.masked)
        if (std::isfinite(x)) x = cap * std::tanh(x / cap);
    const std::size_t keys = Example::at(n.s), size = Example::at(n.d);
    for (std::size_t row = 0; row < capped.weights.size() / keys; ++row) {
        double sum = 0;
        for (std::size_t s = 0; s < keys; ++s) sum += capped.weights[row * keys + s] = std::exp(capped.masked[row * keys + s]);
        for (std::size_t s = 0; s < keys; ++s) capped.weights[row * keys + s] /= sum;
        for (std::size_t d = 0; d < size; ++d) {
            double total = 0;
            for (std::size_t s = 0; s < keys; ++s)
                total += capped.weights[row * keys + s] * capped.v[(row / Example::at(n.t) * keys + s) * size + d];
            capped.context[row * size + d] = total;
        }
    }
    ArrayFile out = capped.file();
    for (NamedArray& array : out.arrays) {
        const Values wide = values_as<double>(array, "");
        array = make_array<float>(array.name, array.shape, std::vector<float>(wide.begin(), wide.end()));
    }
    out.metadata["causal"] = "true";
    return out;
}

/// A stated cap may change small scores by less than their products are rounded; the numbers after it still show where it was applied.
TEST(DoctorSoftcap, AStatedCapOfSmallScoresIsNotMissed) {
    for (const double times : {0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2})
        for (const std::string& capped : {std::string("scores"), std::string("scaled")}) {
            ArrayFile file = capped_file(50, times, {2, 3, 8, 8, 64});
            NamedArray numbers;
            for (const NamedArray& array : file.arrays)
                if (array.name == "scaled") numbers = array;
            std::vector<float> after;
            for (const double x : values_as<double>(numbers, "")) after.push_back(static_cast<float>(50 * std::tanh(x / 50)));
            for (NamedArray& array : file.arrays)
                if (array.name == capped) array = make_array<float>(capped, array.shape, after);
            keep_only(file, {"q", "k", "v", capped, "masked", "weights"});
            file.metadata["softcap"] = "50";
            file.metadata["scale"] = "0.5";
            const Diagnosis diagnosis = examine(file);
            EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << capped << " " << times << ": " << diagnosis.explanation;
        }
}

TEST(DoctorSoftcap, ACapThatTheFileDoesNotStateIsFound) {
    for (const double cap : {4.0, 30.0, 50.0})
        for (const auto& names : std::vector<std::vector<std::string>>{{"q", "k", "v", "scores", "scaled", "masked", "weights", "context"},
                                                                       {"scores", "weights"},
                                                                       {"q", "k", "v", "weights", "context"}}) {
            ArrayFile file = capped_file(cap, 3);
            keep_only(file, names);
            if (names.front() == "scores") file.metadata["head_dim"] = "4";
            const Diagnosis diagnosis = examine(file);
            EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << cap << " " << names.size() << ": " << diagnosis.explanation;
            EXPECT_THAT(warnings_of(diagnosis), Contains(HasSubstr("softcap = " + std::to_string(static_cast<int>(cap)) + " fits")));
            file.metadata["softcap"] = std::to_string(cap);
            EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;
            EXPECT_THAT(warnings_of(examine(file)), Not(Contains(HasSubstr("softcap"))));
        }
}

/// Slightly capped scores differ as little as TF32 does.
TEST(DoctorSoftcap, IsNotTakenForShortProducts) {
    for (double times = 0.25; times < 5; times *= 1.3)
        for (const Sizes& n : {Sizes{1, 1, 3, 3, 4}, Sizes{1, 2, 4, 4, 4}, Sizes{2, 3, 8, 8, 4}})
            for (const double cap : {10.0, 50.0}) {
                const Diagnosis diagnosis = examine(capped_file(cap, times, n));
                EXPECT_THAT(warnings_of(diagnosis), Not(Contains(HasSubstr("TF32")))) << times << " " << n.t << " " << cap;
                EXPECT_THAT(warnings_of(diagnosis), Not(Contains(HasSubstr("position bias")))) << times << " " << n.t << " " << cap;
            }
}

TEST(DoctorSoftcap, AStatedCapShowsTheScale) {
    for (const char* stage : {"weights", "masked"}) {
        ArrayFile file = capped_file(4, 3);
        keep_only(file, {"scores", stage});
        file.metadata["softcap"] = "4";
        EXPECT_EQ(examine(file).verdict, Verdict::Correct) << stage << examine(file).explanation;
    }
}

TEST(DoctorSoftcap, AnotherCapThanDeclaredIsAMistake) {
    ArrayFile file = capped_file(20, 3);
    file.metadata["attn_logit_softcapping"] = "50.0";
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Wrong);
    EXPECT_THAT(diagnosis.explanation, HasSubstr("soft-capped at 20, but the file says softcap = 50"));
}

TEST(DoctorSoftcap, ASingleSmallerScoreIsNotACap) {
    ArrayFile file = Example({1, 2, 4, 4, 4}, 9, kScaleBeforeCap, everywhere).file();
    const Values scaled = values_as<double>(*file.find("scaled"), "");
    change(file, "scaled", 3, scaled[3] * 0.9);
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong);
    EXPECT_EQ(examine(file).stage, "scaled");
}

}  // namespace
}  // namespace attn::doctor
