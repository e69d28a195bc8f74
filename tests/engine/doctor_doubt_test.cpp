/// What a dump leaves unknown: head size, position biases, dropout, names. Correct numbers must not be reported as wrong because of it, and
/// mistakes must still be found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/doctor/doctor.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint8_t kept(bool keep) { return keep ? 1 : 0; }

template <class Kept>
void add_mask(ArrayFile& file, const Sizes& n, const Kept& keep) {
    std::vector<std::uint8_t> cells;
    for (std::int64_t t = 0; t < n.t; ++t)
        for (std::int64_t s = 0; s < n.s; ++s) cells.push_back(kept(keep(t, s)));
    file.arrays.push_back(make_array<std::uint8_t>("mask", {n.t, n.s}, cells));
}

void rename(ArrayFile& file, const std::string& from, const std::string& to) {
    for (NamedArray& array : file.arrays)
        if (array.name == from) array.name = to;
}

/// Softmax over rows of `keys` numbers.
Values softmax_of(const Values& scores, std::int64_t keys) {
    Values out(scores.size());
    for (std::size_t row = 0; row < out.size(); row += static_cast<std::size_t>(keys)) {
        double sum = 0;
        for (std::size_t i = row; i < row + static_cast<std::size_t>(keys); ++i) sum += out[i] = std::exp(scores[i]);
        for (std::size_t i = row; i < row + static_cast<std::size_t>(keys); ++i) out[i] /= sum;
    }
    return out;
}

/// The array rounded to bfloat16.
NamedArray in_bfloat16(const NamedArray& array) {
    NamedArray out{array.name, DType::BF16, array.shape, {}};
    for (const double x : values_as<double>(array, "")) {
        const float value = static_cast<float>(x);
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        const auto upper = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        out.bytes.push_back(static_cast<std::byte>(upper & 0xff));
        out.bytes.push_back(static_cast<std::byte>(upper >> 8));
    }
    return out;
}

/// Adds a bias that depends on head and distance to weights and masked scores.
void add_position_bias(ArrayFile& file, const Sizes& n) {
    Values masked = file.values<double>("masked");
    for (std::size_t i = 0; i < masked.size(); ++i) {
        const auto cell = static_cast<std::int64_t>(i), s = cell % n.s, t = cell / n.s % n.t, h = cell / n.s / n.t % n.h;
        masked[i] -= std::fabs(double(t - s)) / std::pow(2.0, double(h));
    }
    replace(file, "masked", masked);
    replace(file, "weights", softmax_of(masked, n.s));
}

TEST(DoctorInDoubt, TakesAnySizeOfHeadThatNothingTells) {
    for (const std::int64_t d : {1, 3, 16, 64}) {
        ArrayFile file = Example({2, 3, 5, 6, d}, 60, 1 / std::sqrt(double(d)), everywhere).file();
        keep_only(file, {"scores", "weights"});
        EXPECT_EQ(examine(file).verdict, Verdict::Correct) << d << examine(file).explanation;
        const Values values = file.values<double>("weights");
        change(file, "weights", 100, values[100] + 0.01);
        EXPECT_EQ(examine(file).verdict, Verdict::Wrong) << d;
    }
}

TEST(DoctorInDoubt, DividesTheModelWidthByTheHeads) {
    ArrayFile file = Example({2, 3, 5, 6, 4}, 61, 1, everywhere).file();
    keep_only(file, {"scores", "weights"});
    file.metadata["d_model"] = "12";
    EXPECT_EQ(examine(file).bug, Bug::NoScale) << examine(file).explanation;
}

TEST(DoctorInDoubt, NamesASoftmaxOverTheQueriesOfAnyScale) {
    const Sizes n{2, 3, 5, 6, 7};
    ArrayFile file = Example(n, 62, 0.5, everywhere).file();
    Values weights = file.values<double>("scaled");
    for (std::int64_t map = 0; map < n.b * n.h; ++map)
        for (std::int64_t s = 0; s < n.s; ++s) {
            double sum = 0;
            for (std::int64_t t = 0; t < n.t; ++t) sum += std::exp(weights[Example::at((map * n.t + t) * n.s + s)]);
            for (std::int64_t t = 0; t < n.t; ++t) {
                double& w = weights[Example::at((map * n.t + t) * n.s + s)];
                w = std::exp(w) / sum;
            }
        }
    replace(file, "weights", weights);
    keep_only(file, {"scores", "weights"});
    EXPECT_EQ(examine(file).bug, Bug::SoftmaxOverQueries) << examine(file).explanation;
}

TEST(DoctorInDoubt, ReadsAPositionBiasThatTheFileDoesNotHold) {
    const Sizes n{1, 2, 7, 7, 4};
    const std::vector<std::vector<std::string>> subsets = {{"q", "k", "masked"}, {"q", "k", "weights"}, {"scaled", "masked", "weights"}};
    for (const auto& names : subsets) {
        for (const double factor : {0.5, 1.0}) {
            ArrayFile file = Example(n, 63, factor, everywhere).file();
            add_position_bias(file, n);
            keep_only(file, names);
            const Diagnosis diagnosis = examine(file);
            // A missing scale is not visible if the scores before it are not recorded.
            const bool shows = factor == 0.5 || *names.begin() == "scaled";
            EXPECT_EQ(diagnosis.verdict, shows ? Verdict::Correct : Verdict::Wrong) << diagnosis.explanation;
            if (!shows) continue;
            EXPECT_TRUE(std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                    [](const Finding& f) { return f.sentence.find("position bias") != std::string::npos; }));
            const std::string last = file.arrays.back().name;
            const Values values = file.values<double>(last);
            change(file, last.c_str(), 24, values[24] * 1.01);
            EXPECT_EQ(examine(file).verdict, Verdict::Wrong) << last;
        }
    }
}

TEST(DoctorInDoubt, NamesAMistakeBesideAPositionBias) {
    const Sizes n{2, 2, 8, 8, 4};
    ArrayFile file = Example(n, 64, 0.5, [](std::int64_t t, std::int64_t s) { return s <= t + 1; }).file();
    add_position_bias(file, n);
    add_mask(file, n, causal);
    keep_only(file, {"q", "k", "weights", "mask"});
    EXPECT_EQ(examine(file).bug, Bug::CausalLeaksOne) << examine(file).explanation;
}

TEST(DoctorInDoubt, NamesAMistakeBehindShortProducts) {
    // Every q was rounded to 11 bits before the product, as on a GPU; the file contains the exact numbers.
    for (const double factor : {0.5, 1.0}) {
        Example example({2, 3, 6, 6, 4}, 79, factor, everywhere);
        const Values whole = example.q;
        ArrayFile file = example.file();
        Values q = whole;
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = double(float(q[i] * (i % 2 == 0 ? 1 + 4e-4 : 1 - 4e-4)));
        replace(file, "q", q);
        for (const char* name : {"scores", "scaled", "masked", "weights", "context"})
            for (NamedArray& array : file.arrays)
                if (array.name == name) {
                    const Values values = values_as<double>(array, "");
                    array = make_array<float>(name, array.shape, std::vector<float>(values.begin(), values.end()));
                }
        keep_only(file, {"q", "k", "weights"});
        const Diagnosis diagnosis = examine(file);
        if (factor == 1) EXPECT_EQ(diagnosis.bug, Bug::NoScale) << diagnosis.explanation;
        else EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << diagnosis.explanation;
    }
}

TEST(DoctorInDoubt, SharesAPositionBiasWithShorterSequences) {
    // The second sequence has two keys, too few to reveal a bias.
    const Sizes n{2, 2, 7, 7, 4};
    ArrayFile file = Example(n, 80, 0.5, everywhere).file();
    Values masked = file.values<double>("masked");
    std::vector<std::uint8_t> keep;
    for (std::size_t i = 0; i < masked.size(); ++i)
        if (i >= masked.size() / 2 && i % 7 >= 2) masked[i] = -kInfinity;
    for (std::int64_t i = 0; i < n.b * n.t * n.s; ++i) keep.push_back(kept(i < n.t * n.s || i % n.s < 2));
    replace(file, "masked", masked);
    add_position_bias(file, n);
    keep_only(file, {"q", "k", "weights"});
    file.arrays.push_back(make_array<std::uint8_t>("mask", {n.b, 1, n.t, n.s}, keep));
    EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;
}

TEST(DoctorInDoubt, TakesNoNoiseForAPositionBias) {
    const Sizes n{1, 2, 7, 7, 4};
    ArrayFile file = Example(n, 65, 0.5, everywhere).file();
    replace(file, "weights", softmax_of(Example(n, 66, 0.5, everywhere).scaled, n.s));
    keep_only(file, {"q", "k", "weights"});
    EXPECT_EQ(examine(file).bug, Bug::Other) << examine(file).explanation;
}

TEST(DoctorInDoubt, HoldsMaskedScoresAgainstTheMaskAlone) {
    const Sizes n{2, 3, 5, 5, 4};
    const auto inverted = [](std::int64_t t, std::int64_t s) { return s > t || t == 4; };
    ArrayFile right = Example(n, 67, 0.5, causal).file(), missing = Example(n, 67, 0.5, everywhere).file(),
              other = Example(n, 67, 0.5, inverted).file();
    for (ArrayFile* file : {&right, &missing, &other}) {
        keep_only(*file, {"masked", "weights"});
        add_mask(*file, n, causal);
    }
    EXPECT_EQ(examine(right).verdict, Verdict::Correct) << examine(right).explanation;
    EXPECT_EQ(examine(missing).bug, Bug::MaskMissing) << examine(missing).explanation;
    EXPECT_EQ(examine(missing).stage, "masked");
    const Diagnosis diagnosis = examine(other);
    EXPECT_EQ(diagnosis.verdict, Verdict::Wrong);
    EXPECT_THAT(diagnosis.explanation, HasSubstr("where the mask allows attention"));
}

TEST(DoctorInDoubt, NamesAMaskAfterTheSoftmaxWithoutTheScaledScores) {
    const Sizes n{2, 3, 5, 5, 4};
    ArrayFile file = Example(n, 68, 0.5, everywhere).file();
    Values weights = file.values<double>("weights");
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (i % 5 > i / 5 % 5) weights[i] = 0;
    replace(file, "weights", weights);
    keep_only(file, {"masked", "weights"});
    add_mask(file, n, causal);
    EXPECT_EQ(examine(file).bug, Bug::MaskAfterSoftmax) << examine(file).explanation;
}

TEST(DoctorInDoubt, SeesPositionsThatDoNotSeeThemselvesInMapsThatAreNotSquare) {
    const Sizes n{1, 2, 4, 7, 4};
    ArrayFile file = Example(n, 69, 0.5, [](std::int64_t t, std::int64_t s) { return s < t + 3; }).file();
    keep_only(file, {"weights"});
    add_mask(file, n, [](std::int64_t t, std::int64_t s) { return s <= t + 3; });
    EXPECT_EQ(examine(file).bug, Bug::CausalMasksSelf) << examine(file).explanation;
    ArrayFile underflown = Example(n, 69, 0.5, [](std::int64_t t, std::int64_t s) { return s <= t + 3; }).file();
    keep_only(underflown, {"weights"});
    add_mask(underflown, n, [](std::int64_t t, std::int64_t s) { return s <= t + 3; });
    Values weights = underflown.values<double>("weights");
    weights[0] += weights[1];
    weights[1] = 0;
    replace(underflown, "weights", weights);
    EXPECT_EQ(examine(underflown).verdict, Verdict::Correct) << examine(underflown).explanation;
}

TEST(DoctorInDoubt, AnInfiniteWeightIsNoDropout) {
    ArrayFile file = Example({}, 70, 0.5, causal).file();
    keep_only(file, {"v", "weights"});
    change(file, "weights", 20, kInfinity);
    EXPECT_EQ(examine(file).bug, Bug::NonFinite) << examine(file).explanation;
}

TEST(DoctorInDoubt, NanRowsSayNothingAboutColumns) {
    // The first query has no key, so its row is NaN. Some weights of the others were dropped.
    const Sizes n{1, 2, 5, 5, 4};
    const auto padded = [](std::int64_t t, std::int64_t s) { return s <= t && s >= 1; };
    ArrayFile file = Example(n, 81, 0.5, padded).file();
    keep_only(file, {"weights"});
    add_mask(file, n, padded);
    Values weights = file.values<double>("weights");
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i == 12 || i == 44 ? 0 : weights[i] / 0.9;
    replace(file, "weights", weights);
    EXPECT_NE(examine(file).bug, Bug::SoftmaxOverQueries) << examine(file).explanation;
}

TEST(DoctorInDoubt, TakesUniformWeightsForARowWithoutKeysIfNoMaskIsRecorded) {
    const Sizes n{1, 2, 5, 5, 4};
    ArrayFile file = Example(n, 82, 0.5, [](std::int64_t t, std::int64_t s) { return s <= t && s >= 1; }).file();
    Values weights = file.values<double>("weights");
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (std::isnan(weights[i])) weights[i] = 0.2;
    replace(file, "weights", weights);
    keep_only(file, {"q", "k", "weights"});
    EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;
}

TEST(DoctorInDoubt, TellsZerosFromSmallUniformWeightsInFewDigits) {
    // The first query sees nothing and its row was set to 0; 1/32 is within bfloat16 rounding of 1, but not of 1/32.
    const Sizes n{1, 1, 32, 32, 4};
    ArrayFile file = Example(n, 83, 0.5, [](std::int64_t t, std::int64_t s) { return s < t; }).file();
    Values weights = file.values<double>("weights");
    for (double& w : weights)
        if (std::isnan(w)) w = 0;
    replace(file, "weights", weights);
    keep_only(file, {"q", "k", "weights"});
    for (NamedArray& array : file.arrays) array = in_bfloat16(array);
    add_mask(file, n, causal);
    EXPECT_EQ(examine(file).bug, Bug::CausalMasksSelf) << examine(file).explanation;
}

TEST(DoctorInDoubt, OneRowOfAnotherSumIsNoDropout) {
    ArrayFile file = Example({}, 71, 0.5, causal).file();
    keep_only(file, {"weights"});
    change(file, "weights", 20, 1.3);
    EXPECT_EQ(examine(file).bug, Bug::Other) << examine(file).explanation;
}

TEST(DoctorInDoubt, SeesDropoutThatSparedTheOnlyKeyInFewDigits) {
    ArrayFile file = Example({2, 2, 1, 1, 4}, 72, 0.5, everywhere).file();
    keep_only(file, {"q", "k", "weights"});
    for (NamedArray& array : file.arrays) array = in_bfloat16(array);
    EXPECT_EQ(examine(file).verdict, Verdict::Correct);
    replace(file, "weights", Values(4, 1.0546875));
    for (NamedArray& array : file.arrays)
        if (array.dtype == DType::F64) array = in_bfloat16(array);
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong);
}

TEST(DoctorInDoubt, TheSmallestHalvesMayBeRoundedWhenTheyAreDropped) {
    // 2^-24 is the smallest float16: 49 times it divided by 0.95 gives 52 units, not 51.6.
    const double least = 0x1p-24;
    ArrayFile file;
    file.source = "dump.npz";
    const auto add = [&](const char* name, const std::vector<std::uint16_t>& bits) {
        NamedArray array{name, DType::F16, {1, 1, 1, 4}, {}};
        for (const std::uint16_t b : bits) {
            array.bytes.push_back(static_cast<std::byte>(b & 0xff));
            array.bytes.push_back(static_cast<std::byte>(b >> 8));
        }
        file.arrays.push_back(array);
    };
    add("weights", {0x3800, 0x3400, 0x3400, 49});  // 0.5, 0.25, 0.25
    add("dropped", {0x3836, 0x3436, 0x0000, 52});  // divided by 0.95
    ASSERT_EQ(file.values<double>("weights")[3], 49 * least);
    EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;
}

TEST(DoctorInDoubt, DoesNotJudgeTheContextOfATrainingStepWithoutItsDroppedWeights) {
    ArrayFile file = Example({2, 2, 9, 17, 4}, 73, 0.5, everywhere).file();
    Values context = file.values<double>("context");
    for (double& x : context) x *= 1.1;
    replace(file, "context", context);
    keep_only(file, {"q", "k", "v", "context"});
    add_mask(file, {2, 2, 9, 17, 4}, everywhere);
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong) << examine(file).explanation;
    file.metadata["training"] = "true";
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Unknown);
    EXPECT_THAT(diagnosis.explanation, HasSubstr("dropped"));
}

TEST(DoctorInDoubt, ReadsNamesThatStandForSeveralStages) {
    const Sizes n{2, 3, 5, 5, 4};
    ArrayFile file = Example(n, 74, 0.5, causal).file();
    keep_only(file, {"q", "k", "masked", "weights"});
    rename(file, "masked", "scores");  // as masked_fill leaves them
    EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;
    change(file, "scores", 12, -kInfinity);  // in one head only: no mask
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong);

    file = Example(n, 75, 0.5, causal).file();
    keep_only(file, {"q", "k", "weights"});
    rename(file, "weights", "attention_scores");  // Keras
    EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;

    file = Example(n, 76, 0.5, causal).file();
    keep_only(file, {"q", "k", "weights"});
    Values dropped = file.values<double>("weights");
    for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] = i % 3 == 0 ? 0 : dropped[i] / 0.9;
    file.arrays.push_back(make_array<double>("attn_probs", {n.b, n.h, n.t, n.s}, dropped));
    rename(file, "weights", "attn_weights");
    EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;
}

TEST(DoctorInDoubt, LeavesOutTheMeanOverHeads) {
    const Sizes n{2, 3, 5, 5, 4};
    ArrayFile file = Example(n, 77, 0.5, everywhere).file();
    keep_only(file, {"q", "k", "v", "context"});
    file.arrays.push_back(make_array<double>("attn_output_weights", {n.b, n.t, n.s}, Values(50, 0.2)));
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << diagnosis.explanation;
    EXPECT_TRUE(std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                            [](const Finding& f) { return f.sentence.find("may be their mean") != std::string::npos; }));
}

TEST(DoctorInDoubt, SaysWhichNamesItDoesNotKnow) {
    ArrayFile file = Example({}, 78, 0.5, everywhere).file();
    keep_only(file, {"q", "k", "weights"});
    rename(file, "weights", "my_weights");
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Unknown);
    EXPECT_THAT(diagnosis.explanation, HasSubstr("my_weights"));
}

}  // namespace
}  // namespace attn::doctor
