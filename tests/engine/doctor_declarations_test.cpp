/// What a dump declares and what it holds without being understood: the doctor says so instead of passing over it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/doctor/doctor.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> warnings(const Diagnosis& diagnosis) {
    std::vector<std::string> out;
    for (const Finding& finding : diagnosis.findings)
        if (finding.severity == Severity::Warning) out.push_back(finding.sentence);
    return out;
}

void add(ArrayFile& file, const std::string& name, const std::vector<std::int64_t>& shape, const Values& values) {
    file.arrays.push_back(make_array<double>(name, shape, values));
}

/// The softmax of each row, in plain loops.
Values softmax_of_rows(const Values& rows, std::int64_t keys) {
    Values out = rows;
    for (std::size_t first = 0; first < rows.size(); first += Example::at(keys)) {
        double sum = 0;
        for (std::size_t i = first; i < first + Example::at(keys); ++i) sum += out[i] = std::exp(rows[i]);
        for (std::size_t i = first; i < first + Example::at(keys); ++i) out[i] /= sum;
    }
    return out;
}

constexpr double kHalf = 0.5;  // 1/√4

TEST(DoctorDeclarations, WhatIsNotReadIsListedEvenIfTheRestIsCorrect) {
    ArrayFile file = Example({}, 1, kHalf, everywhere).file();
    EXPECT_THAT(warnings(examine(file)), IsEmpty());
    add(file, "out", {2, 5, 12}, Values(120, 7));
    add(file, "Causal", {}, {1});
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Correct);
    EXPECT_THAT(warnings(diagnosis), testing::ElementsAre(HasSubstr("out, Causal were not read")));
    ArrayFile known = Example({}, 1, kHalf, causal).file();
    add(known, "causal", {}, {1});
    EXPECT_THAT(warnings(examine(known)), IsEmpty());
}

TEST(DoctorDeclarations, CausalWeightsContradictCausalFalse) {
    for (const bool is_causal : {true, false}) {
        ArrayFile file = (is_causal ? Example({}, 2, kHalf, causal) : Example({}, 2, kHalf, everywhere)).file();
        file.metadata["causal"] = "false";
        const Diagnosis diagnosis = examine(file);
        EXPECT_EQ(diagnosis.verdict, Verdict::Correct);
        EXPECT_EQ(!warnings(diagnosis).empty(), is_causal);
    }
}

/// Half-split or interleaved rotary positions in plain loops; `direction` -1: by the negative angles.
Values rotated(const Values& rows, const Sizes& n, double base, bool halves, double direction = 1) {
    Values out = rows;
    for (std::size_t row = 0; row < rows.size() / Example::at(n.d); ++row)
        for (std::int64_t i = 0; i < n.d / 2; ++i) {
            const std::size_t a = row * Example::at(n.d) + Example::at(halves ? i : 2 * i), b = a + Example::at(halves ? n.d / 2 : 1);
            const double angle =
                direction * static_cast<double>(static_cast<std::int64_t>(row) % n.t) * std::pow(base, -2.0 * double(i) / double(n.d));
            out[a] = rows[a] * std::cos(angle) - rows[b] * std::sin(angle);
            out[b] = rows[b] * std::cos(angle) + rows[a] * std::sin(angle);
        }
    return out;
}

/// Attention of rotated queries and keys, with both before and after.
ArrayFile rotary_file(const Values& q_rotated, const Values& k_rotated, const Example& plain) {
    Example turned = plain;
    turned.q = q_rotated;
    turned.k = k_rotated;
    ArrayFile file = Example(turned, kHalf, everywhere).file();
    replace(file, "q", plain.q);
    replace(file, "k", plain.k);
    add(file, "q_rotated", {plain.n.b, plain.n.h, plain.n.t, plain.n.d}, q_rotated);
    add(file, "k_rotated", {plain.n.b, plain.n.h, plain.n.s, plain.n.d}, k_rotated);
    return file;
}

TEST(DoctorDeclarations, AnotherRotaryBaseThanDeclaredIsAMistake) {
    const Example plain({}, 3, kHalf, everywhere);
    const auto with_base = [&](double base) {
        return rotary_file(rotated(plain.q, plain.n, base, true), rotated(plain.k, plain.n, base, true), plain);
    };
    ArrayFile file = with_base(10000);
    for (const bool shown : {true, false}) {
        if (!shown) keep_only(file, {"q", "k", "v", "scores", "weights", "context"});
        file.metadata["rope_theta"] = "10000";
        EXPECT_EQ(examine(file).verdict, Verdict::Correct) << shown << examine(file).explanation;
        file.metadata["rope_theta"] = "500000";
        const Diagnosis diagnosis = examine(file);
        EXPECT_EQ(diagnosis.verdict, Verdict::Wrong) << shown;
        EXPECT_THAT(diagnosis.explanation, HasSubstr("rotated with base 10000, but the file says rope_theta = 500000"));
    }
    // Scaled frequencies are nobody's mistake, but not what was declared, either.
    ArrayFile unusual = with_base(777);
    unusual.metadata["rope_theta"] = "10000";
    const Diagnosis doubted = examine(unusual);
    EXPECT_EQ(doubted.verdict, Verdict::Correct) << doubted.explanation;
    EXPECT_THAT(warnings(doubted), Contains(HasSubstr("by other angles than rope_theta = 10000 gives")));
    // Nothing is rotated.
    ArrayFile none = plain.file();
    none.metadata["rope_theta"] = "10000";
    EXPECT_THAT(warnings(examine(none)), Contains(HasSubstr("used as they are")));
}

/// A declared base is no reason to doubt what is excused without it.
TEST(DoctorDeclarations, ADeclaredBaseAccusesNothingThatIsExcusedWithoutIt) {
    Example biased({}, 9, kHalf, everywhere);
    for (std::size_t i = 0; i < biased.scaled.size(); ++i) {  // a bias for each distance, as in T5
        const auto t = static_cast<double>(i / 5 % 5), s = static_cast<double>(i % 5);
        biased.masked[i] = biased.scaled[i] + std::cos(1.7 * (t - s));
    }
    biased.weights = softmax_of_rows(biased.masked, 5);
    for (const bool declared : {false, true}) {
        ArrayFile file = biased.file();
        keep_only(file, {"q", "k", "scores", "scaled", "weights"});
        if (declared) file.metadata["rope_theta"] = "500000";
        const Diagnosis diagnosis = examine(file);
        EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << declared << diagnosis.explanation;
        EXPECT_THAT(warnings(diagnosis), Contains(HasSubstr("position bias")));
    }
}

TEST(DoctorDeclarations, WhatConcernsTheWholeFileIsSaidOnce) {
    ArrayFile file;
    file.source = "dump.npz";
    for (const char* prefix : {"layers.0.", "layers.1."})
        for (NamedArray array : Example({}, 1, kHalf, everywhere).file().arrays) {
            array.name = prefix + array.name;
            file.arrays.push_back(std::move(array));
        }
    add(file, "seed", {}, {1});
    add(file, "layers.1.step", {}, {1});
    EXPECT_THAT(warnings(examine(file)), testing::ElementsAre(HasSubstr("seed was not read"), HasSubstr("layers.1.step was not read")));
}

TEST(DoctorDeclarations, AWholeColumnIsNotACausalMask) {
    ArrayFile file = Example({}, 2, kHalf, [](std::int64_t, std::int64_t s) { return s == 0; }).file();
    file.metadata["causal"] = "false";
    EXPECT_THAT(warnings(examine(file)), Not(Contains(HasSubstr("causal = false"))));
}

TEST(DoctorDeclarations, QueriesAndKeysThatAreRotatedDifferentlyAreNamed) {
    const Example plain({}, 4, kHalf, everywhere);
    const Values q = rotated(plain.q, plain.n, 10000, true), k = rotated(plain.k, plain.n, 10000, true);
    const auto found = [&](const Values& queries, const Values& keys) { return examine(rotary_file(queries, keys, plain)); };
    EXPECT_EQ(found(q, k).verdict, Verdict::Correct);
    const Diagnosis q_only = found(q, plain.k), k_only = found(plain.q, k), mixed = found(q, rotated(plain.k, plain.n, 10000, false)),
                    bases = found(q, rotated(plain.k, plain.n, 500000, true));
    for (const Diagnosis* diagnosis : {&q_only, &k_only, &mixed, &bases}) EXPECT_EQ(diagnosis->verdict, Verdict::Wrong);
    EXPECT_EQ(q_only.stage, "k_rotated") << "the tensor that is not rotated is to blame";
    EXPECT_THAT(q_only.explanation, HasSubstr("Only q is rotated"));
    EXPECT_EQ(k_only.stage, "q_rotated");
    EXPECT_THAT(k_only.explanation, HasSubstr("Only k is rotated"));
    EXPECT_THAT(mixed.explanation, HasSubstr("q is rotated half-split with base 10000, but k interleaved with base 10000"));
    EXPECT_THAT(bases.explanation, HasSubstr("but k half-split with base 500000"));
    const Diagnosis k_back = found(q, rotated(plain.k, plain.n, 10000, true, -1)),
                    q_back = found(rotated(plain.q, plain.n, 10000, true, -1), k);
    EXPECT_EQ(k_back.stage, "k_rotated");
    EXPECT_THAT(k_back.explanation, HasSubstr("but k by the negative angles, half-split with base 10000"));
    EXPECT_EQ(q_back.stage, "q_rotated");
    EXPECT_THAT(q_back.explanation, HasSubstr("q is rotated by the negative angles, half-split with base 10000, but k half-split"));
}

TEST(DoctorDeclarations, ARotationInTheWrongDirectionIsNamed) {
    const Example plain({}, 4, kHalf, everywhere);
    for (const bool halves : {true, false})
        for (const double base : {10000.0, 777.0}) {
            const auto file_of = [&](double direction) {
                return rotary_file(rotated(plain.q, plain.n, base, halves, direction), rotated(plain.k, plain.n, base, halves, direction),
                                   plain);
            };
            for (const bool declared : {false, true}) {
                ArrayFile right = file_of(1), backward = file_of(-1);
                if (declared) right.metadata["rope_theta"] = backward.metadata["rope_theta"] = std::to_string(base);
                EXPECT_EQ(examine(right).verdict, Verdict::Correct) << base << halves << declared;
                if (base != 10000 && !declared) continue;  // with an unknown base the direction is not known, either
                const Diagnosis diagnosis = examine(backward);
                EXPECT_EQ(diagnosis.verdict, Verdict::Wrong) << base << halves << declared << diagnosis.explanation;
                EXPECT_EQ(diagnosis.stage, "q_rotated");
                EXPECT_THAT(diagnosis.explanation, HasSubstr("rotated by the negative angles of their positions"));
                // What is expected is the number that the right rotation gives.
                const auto& cell = diagnosis.cell;
                const Sizes& n = plain.n;
                const auto at = static_cast<std::size_t>(((cell[0] * n.h + cell[1]) * n.t + cell[2]) * n.d + cell[3]);
                const std::size_t words = diagnosis.explanation.find(", but ");
                ASSERT_NE(words, std::string::npos);
                EXPECT_NEAR(std::stod(diagnosis.explanation.substr(words + 6)), rotated(plain.q, n, base, halves)[at], 1e-4);
            }
        }
}

TEST(DoctorDeclarations, RotatedValuesAreNamedWhereverTheRotationIsRecorded) {
    const Example plain({}, 6, kHalf, everywhere);
    const auto turn = [&](const Values& rows) { return rotated(rows, plain.n, 10000, true); };
    Values projected(plain.v.size());  // [B,S,H*D]
    for (std::size_t i = 0; i < projected.size(); ++i) {
        const auto d = i % Example::at(plain.n.d), s = i / Example::at(plain.n.d) % Example::at(plain.n.s),
                   h = i / Example::at(plain.n.d * plain.n.s) % Example::at(plain.n.h),
                   b = i / Example::at(plain.n.d * plain.n.s * plain.n.h);
        projected[((b * Example::at(plain.n.s) + s) * Example::at(plain.n.h) + h) * Example::at(plain.n.d) + d] = plain.v[i];
    }
    for (const bool turns_values : {false, true}) {
        Example given = plain;
        if (turns_values) given.v = turn(plain.v);
        ArrayFile file = rotary_file(turn(plain.q), turn(plain.k), given);
        add(file, "v_proj", {plain.n.b, plain.n.s, plain.n.h * plain.n.d}, projected);
        const Diagnosis diagnosis = examine(file);
        if (!turns_values) {
            EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << diagnosis.explanation;
            continue;
        }
        EXPECT_EQ(diagnosis.bug, Bug::RotatedValues) << diagnosis.explanation;
        EXPECT_EQ(diagnosis.stage, "v");
    }
}

TEST(DoctorDeclarations, ASlidingWindowIsNoMistake) {
    const auto verdict_on = [](const Example& example) {
        ArrayFile file = example.file();
        file.metadata["causal"] = "true";
        return examine(file);
    };
    const Diagnosis window = verdict_on(Example({}, 7, kHalf, [](std::int64_t t, std::int64_t s) { return s <= t && t - s < 3; }));
    EXPECT_EQ(window.verdict, Verdict::Correct) << window.explanation;
    EXPECT_THAT(warnings(window), Contains(HasSubstr("only the last 3 keys, as in a sliding window")));
    const Diagnosis holes = verdict_on(Example({}, 7, kHalf, [](std::int64_t t, std::int64_t s) { return s <= t && (t + s) % 2 == 0; }));
    EXPECT_EQ(holes.verdict, Verdict::Wrong);
    EXPECT_THAT(holes.explanation, HasSubstr("More is masked than the file says"));
}

TEST(DoctorDeclarations, AMaskedScoreThatIsNotLowEnoughIsSaidToBeThat) {
    Example example({}, 7, kHalf, causal);
    for (double& score : example.masked)
        if (std::isinf(score)) score = -9;
    example.weights = softmax_of_rows(example.masked, example.n.s);
    ArrayFile file = example.file();
    file.metadata["causal"] = "true";
    EXPECT_THAT(examine(file).explanation, HasSubstr("must be minus infinity, or so low"));
}

TEST(DoctorDeclarations, TransposedWeightsAreNoSoftmaxOverQueries) {
    const Example right({}, 5, kHalf, everywhere);
    ArrayFile file = right.file();
    Values across = right.weights;
    for (std::size_t i = 0; i < across.size(); ++i) across[i / 25 * 25 + i % 5 * 5 + i / 5 % 5] = right.weights[i];
    replace(file, "weights", across);
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Wrong);
    EXPECT_EQ(diagnosis.bug, Bug::Other);
    EXPECT_EQ(diagnosis.stage, "weights");
    EXPECT_THAT(diagnosis.explanation, HasSubstr("transposed"));
    keep_only(file, {"weights", "v", "context"});
    EXPECT_THAT(examine(file).explanation, HasSubstr("transposed")) << "the context tells, too";
    keep_only(file, {"weights"});
    EXPECT_EQ(examine(file).bug, Bug::SoftmaxOverQueries) << "nothing else tells";
}

TEST(DoctorDeclarations, ASoftmaxAppliedTwiceIsNamed) {
    for (const bool masked_again : {false, true}) {
        Example example({}, 8, kHalf, causal);
        Values again = example.weights;
        for (std::size_t i = 0; i < again.size() && masked_again; ++i)
            if (i % 5 > i / 5 % 5) again[i] = -std::numeric_limits<double>::infinity();
        example.weights = softmax_of_rows(again, example.n.s);
        for (std::size_t row = 0; row < example.weights.size() / 5; ++row)
            for (std::size_t d = 0; d < 4; ++d) {
                double sum = 0;
                for (std::size_t s = 0; s < 5; ++s) sum += example.weights[row * 5 + s] * example.v[row / 5 * 20 + s * 4 + d];
                example.context[row * 4 + d] = sum;
            }
        ArrayFile file = example.file();
        file.metadata["causal"] = "true";
        EXPECT_EQ(examine(file).bug, Bug::SoftmaxTwice) << examine(file).explanation;
        EXPECT_EQ(examine(file).stage, "weights");
        keep_only(file, {"q", "k", "v", "context"});
        EXPECT_EQ(examine(file).bug, Bug::SoftmaxTwice) << examine(file).explanation;
    }
}

/// So long that mistakes are tried on one head first.
TEST(DoctorDeclarations, MistakesInLongMapsAreNamedAsInShortOnes) {
    const Sizes n{1, 4, 260, 260, 4};
    ArrayFile file = Example(n, 10, 1, everywhere).file();
    keep_only(file, {"q", "k", "v", "weights", "context"});
    EXPECT_EQ(examine(file).bug, Bug::NoScale) << examine(file).explanation;
    // A head may be wrong in one way and the others right: then nothing explains all of them.
    const Example right(n, 11, kHalf, everywhere), wrong(right, 1, everywhere);
    Values mixed = right.weights;
    std::copy_n(wrong.weights.begin() + 2 * 260 * 260, 260 * 260, mixed.begin() + 2 * 260 * 260);
    ArrayFile one = right.file();
    replace(one, "weights", mixed);
    keep_only(one, {"q", "k", "weights"});
    const Diagnosis diagnosis = examine(one);
    EXPECT_EQ(diagnosis.bug, Bug::Other) << diagnosis.explanation;
    EXPECT_EQ(diagnosis.cell.at(1), 2);
    // Heads that are mixed are judged together.
    Example over_heads(n, 12, kHalf, everywhere);
    for (std::size_t i = 0; i < 260 * 260; ++i) {
        double sum = 0;
        for (std::size_t h = 0; h < 4; ++h) sum += std::exp(over_heads.masked[h * 260 * 260 + i]);
        for (std::size_t h = 0; h < 4; ++h) over_heads.weights[h * 260 * 260 + i] = std::exp(over_heads.masked[h * 260 * 260 + i]) / sum;
    }
    ArrayFile across = over_heads.file();
    keep_only(across, {"q", "k", "weights"});
    EXPECT_EQ(examine(across).bug, Bug::SoftmaxOverHeads) << examine(across).explanation;
}

TEST(DoctorDeclarations, ALeakingHeadIsNotUniform) {
    Example leaking({}, 6, kHalf, everywhere);
    for (std::size_t i = 0; i < 20; ++i) leaking.q[i] = leaking.q[60 + i] = 20 * leaking.q[i];  // head 0 makes a choice
    ArrayFile file = Example(leaking, kHalf, everywhere).file();
    keep_only(file, {"q", "k", "v", "weights", "context"});
    file.metadata["causal"] = "true";
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.bug, Bug::MaskMissing);
    EXPECT_THAT(warnings(diagnosis), Not(Contains(HasSubstr("uniform"))));
    ArrayFile equal = Example({}, 6, 0, causal).file();
    equal.metadata["scale"] = "0";
    keep_only(equal, {"weights"});
    EXPECT_THAT(warnings(examine(equal)), Contains(HasSubstr("uniform"))) << "heads that are";
}

TEST(DoctorDeclarations, ARowOfNanIsNotAMaskedRow) {
    Example broken({}, 7, kHalf, causal);
    broken.q[3 * 4] = std::numeric_limits<double>::quiet_NaN();
    ArrayFile file = Example(broken, kHalf, causal).file();
    keep_only(file, {"q", "k", "v", "weights", "context"});
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.bug, Bug::NonFinite);
    EXPECT_THAT(warnings(diagnosis), Not(Contains(HasSubstr("fully masked"))));
}

}  // namespace
}  // namespace attn::doctor
