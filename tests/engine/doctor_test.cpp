#include "engine/doctor/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/io/file_error.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
TEST(Doctor, FindsNothingWrongWithRightNumbers) {
    unsigned seed = 1;
    for (const Sizes& n : {Sizes{}, Sizes{1, 1, 1, 1, 1}, Sizes{1, 1, 1, 7, 3}, Sizes{2, 1, 7, 1, 3}, Sizes{1, 8, 3, 3, 1}}) {
        const Diagnosis diagnosis = examine(Example(n, ++seed, 1 / std::sqrt(double(n.d)), everywhere).file());
        EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << diagnosis.explanation;
        EXPECT_FALSE(diagnosis.bug.has_value());
        EXPECT_LT(diagnosis.max_error, 1e-12);
    }
    EXPECT_EQ(examine(Example({}, 9, 0.5, causal).file()).verdict, Verdict::Correct);
}

TEST(Doctor, NamesTheFirstStageAndCellThatDiffer) {
    struct Change {
        const char* stage;
        std::size_t place;
        std::vector<std::int64_t> cell;
    };
    for (const Change& c : {Change{"scores", 0, {0, 0, 0, 0}}, Change{"scaled", 149, {1, 2, 4, 4}}, Change{"weights", 75, {1, 0, 0, 0}},
                            Change{"context", 119, {1, 2, 4, 3}}}) {
        ArrayFile file = Example({}, 3, 0.5, everywhere).file();
        Values values = file.values<double>(c.stage);
        change(file, c.stage, c.place, values[c.place] + 1e-9);
        const Diagnosis diagnosis = examine(file);
        EXPECT_EQ(diagnosis.verdict, Verdict::Wrong) << c.stage;
        EXPECT_EQ(diagnosis.bug, Bug::Other) << c.stage;
        EXPECT_EQ(diagnosis.stage, c.stage) << diagnosis.explanation;
        EXPECT_EQ(diagnosis.cell, c.cell) << diagnosis.explanation;
        EXPECT_NEAR(diagnosis.max_error, 1e-9, 1e-12);
    }
}

TEST(Doctor, NamesAMissingScale) {
    const Diagnosis diagnosis = examine(Example({}, 4, 1, everywhere).file());
    EXPECT_EQ(diagnosis.bug, Bug::NoScale);
    EXPECT_EQ(diagnosis.stage, "scaled");
    EXPECT_EQ(diagnosis.cell, (std::vector<std::int64_t>{0, 0, 0, 0}));
    EXPECT_THAT(diagnosis.explanation, HasSubstr("not divided by"));
    EXPECT_THAT(diagnosis.explanation, Not(HasSubstr("throughout")));
}

TEST(Doctor, AFileMayStateItsScale) {
    ArrayFile file = Example({}, 4, 1, everywhere).file();
    file.metadata["scale"] = "1";
    EXPECT_EQ(examine(file).verdict, Verdict::Correct);
}

TEST(Doctor, TakesAScaleThatShowsForAChoiceAndAHiddenOneForADifference) {
    ArrayFile file = Example({}, 4, 0.3, causal).file();
    const Diagnosis shown = examine(file);
    EXPECT_EQ(shown.verdict, Verdict::Correct) << shown.explanation;
    ASSERT_FALSE(shown.findings.empty());
    EXPECT_THAT(shown.findings[0].sentence, HasSubstr("scale = 0.3"));
    keep_only(file, {"q", "k", "v", "weights"});
    const Diagnosis hidden = examine(file);
    EXPECT_EQ(hidden.verdict, Verdict::Wrong);
    EXPECT_EQ(hidden.bug, Bug::Other);
    EXPECT_THAT(hidden.explanation, HasSubstr("scale = 0.3"));
    file.metadata["scale"] = "0.3";
    EXPECT_EQ(examine(file).verdict, Verdict::Correct);
    // A factor that varies is not a scaling choice.
    file = Example({}, 4, 0.3, causal).file();
    change(file, "scaled", 7, 0.1);
    EXPECT_EQ(examine(file).bug, Bug::Other);
}

TEST(Doctor, NamesNoMistakeThatShapesOfOneCannotShow) {
    unsigned seed = 40;
    for (const Sizes& n : {Sizes{1, 1, 1, 1, 8}, Sizes{3, 1, 1, 1, 8}, Sizes{1, 4, 1, 1, 4}, Sizes{1, 1, 1, 6, 4}, Sizes{2, 1, 6, 1, 4}}) {
        ArrayFile file = Example(n, ++seed, 1 / std::sqrt(double(n.d)), everywhere).file();
        EXPECT_EQ(examine(file).verdict, Verdict::Correct);
        keep_only(file, {"q", "k", "weights"});
        change(file, "weights", 0, 0);
        const Diagnosis diagnosis = examine(file);
        EXPECT_NE(diagnosis.bug, Bug::NoScale) << diagnosis.explanation;
        EXPECT_NE(diagnosis.bug, Bug::HeadsSplitWithoutTranspose) << diagnosis.explanation;
    }
    // A softmax over a single query gives ones, which must not be taken for the uniform weights of a masked row.
    ArrayFile file = Example({1, 2, 1, 5, 4}, 50, 0.5, everywhere).file();
    keep_only(file, {"q", "k", "scores", "weights"});
    for (std::size_t i = 0; i < 10; ++i) change(file, "weights", i, 1);
    EXPECT_EQ(examine(file).bug, Bug::SoftmaxOverQueries);
}

TEST(Doctor, TakesAPositionBiasInTheMaskedScoresForAChoice) {
    ArrayFile file = Example({2, 2, 5, 5, 4}, 51, 0.5, everywhere).file();
    Values masked = file.values<double>("masked");
    for (std::size_t i = 0; i < masked.size(); ++i) masked[i] += 0.5 * (double(i % 5) - double(i / 5 % 5));
    for (std::size_t i = 0; i < masked.size(); ++i) change(file, "masked", i, masked[i]);
    keep_only(file, {"q", "k", "scores", "scaled", "masked"});
    EXPECT_EQ(examine(file).verdict, Verdict::Correct);
    change(file, "scaled", 3, 0.25);
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong);
}

TEST(Doctor, SaysWhereTheFirstNanIs) {
    for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        ArrayFile file = Example({}, 5, 0.5, everywhere).file();
        change(file, "v", 7, odd);
        const Diagnosis diagnosis = examine(file);
        EXPECT_EQ(diagnosis.bug, Bug::NonFinite);
        EXPECT_EQ(diagnosis.stage, "v");
        EXPECT_EQ(diagnosis.cell, (std::vector<std::int64_t>{0, 0, 1, 3}));
    }
}

TEST(Doctor, TellsOfRowsThatDoNotSumToOne) {
    ArrayFile file = Example({}, 6, 0.5, everywhere).file();
    keep_only(file, {"weights"});
    EXPECT_EQ(examine(file).verdict, Verdict::Correct);
    change(file, "weights", 0, 0.9);
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Wrong);
    EXPECT_EQ(diagnosis.stage, "weights");
    EXPECT_TRUE(std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                            [](const Finding& f) { return f.sentence.find("do not sum to 1") != std::string::npos; }));
}

TEST(Doctor, TellsOfSaturatedAndUniformHeads) {
    ArrayFile file;
    file.source = "dump.npz";
    const Values weights = {0.999, 0.001, 0.002, 0.998, 0.5, 0.5, 0.5, 0.5};  // head 0 attends to keys, head 1 is uniform
    file.arrays.push_back(make_array<double>("weights", {1, 2, 2, 2}, weights));
    std::string saturated, uniform;
    for (const Finding& finding : examine(file).findings) {
        if (finding.head == 0) saturated += finding.sentence;
        if (finding.head == 1) uniform += finding.sentence;
    }
    EXPECT_THAT(saturated, HasSubstr("saturated"));
    EXPECT_THAT(uniform, HasSubstr("uniform"));
}

TEST(Doctor, TellsOfRowsWithoutAnyKey) {
    // Causal, with the first token padded: the first query has nothing to attend to.
    ArrayFile file = Example({1, 1, 4, 4, 2}, 7, std::sqrt(0.5), [](std::int64_t t, std::int64_t s) { return s <= t && s >= 1; }).file();
    keep_only(file, {"q", "k", "weights"});
    for (std::size_t i = 0; i < 4; ++i) change(file, "weights", i, 0);
    const std::vector<std::uint8_t> keep = {0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1};
    file.arrays.push_back(make_array<std::uint8_t>("mask", {4, 4}, keep));
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << diagnosis.explanation;
    ASSERT_FALSE(diagnosis.findings.empty());
    EXPECT_THAT(diagnosis.findings[0].sentence, HasSubstr("fully masked"));
}

TEST(Doctor, UnderstandsOtherNamesAndPrefixes) {
    for (const auto& [name, alias] : std::vector<std::pair<std::string, std::string>>{{"weights", "attn_weights"},
                                                                                      {"weights", "attention_probs"},
                                                                                      {"weights", "Attn_Weights"},
                                                                                      {"q", "query"},
                                                                                      {"context", "context_layer"}}) {
        for (const char* prefix : {"", "layers.0.attention.", "model/layer_3/self_attn/"}) {
            for (const double factor : {0.5, 1.0}) {
                ArrayFile file = Example({}, 8, factor, everywhere).file();
                keep_only(file, {"q", "k", "v", "weights", "context"});
                for (NamedArray& array : file.arrays) array.name = prefix + (array.name == name ? alias : array.name);
                const Diagnosis diagnosis = examine(file);
                EXPECT_EQ(diagnosis.verdict, factor == 1 ? Verdict::Wrong : Verdict::Correct) << prefix << alias << diagnosis.explanation;
            }
        }
    }
}

TEST(Doctor, JudgesEveryAttentionOfAFile) {
    ArrayFile file = Example({}, 10, 0.5, everywhere).file();
    for (NamedArray& array : file.arrays) array.name = "layers.2.attention." + array.name;
    ArrayFile wrong = Example({}, 11, 1, everywhere).file();
    for (NamedArray& array : wrong.arrays) {
        array.name = "layers.10.attention." + array.name;
        file.arrays.push_back(array);
    }
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.bug, Bug::NoScale);
    EXPECT_EQ(diagnosis.attention, "layers.10.attention");
    EXPECT_THAT(diagnosis.explanation, HasSubstr("1 of 2 attentions"));
}

TEST(Doctor, DoesNotJudgeWhatItCannot) {
    ArrayFile file = Example({}, 12, 1, everywhere).file();
    keep_only(file, {"q", "k", "v"});
    const Diagnosis diagnosis = examine(file);
    EXPECT_EQ(diagnosis.verdict, Verdict::Unknown);
    EXPECT_THAT(diagnosis.explanation, HasSubstr("weights"));
    EXPECT_EQ(examine(ArrayFile{}).verdict, Verdict::Unknown);
}

TEST(Doctor, RefusesTensorsThatDoNotFitTogether) {
    ArrayFile file = Example({}, 13, 0.5, everywhere).file();
    keep_only(file, {"q", "k"});
    file.arrays.push_back(make_array<double>("weights", {2, 3, 4, 5}, Values(120)));
    try {
        examine(file);
        FAIL() << "accepted";
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), AnyOf(HasSubstr("weights"), HasSubstr("\"q\"")));
        EXPECT_THAT(error.what(), HasSubstr("["));
    }
}

TEST(Doctor, EveryBugHasItsOwnNameAndWords) {
    std::vector<std::string_view> names, words;
    for (int i = 0; i < kBugCount; ++i) {
        names.push_back(bug_name(static_cast<Bug>(i)));
        words.push_back(bug_words(static_cast<Bug>(i)));
    }
    for (auto* texts : {&names, &words}) {
        std::sort(texts->begin(), texts->end());
        EXPECT_EQ(std::adjacent_find(texts->begin(), texts->end()), texts->end());
        EXPECT_NE(texts->front(), "");
    }
}

}  // namespace
}  // namespace attn::doctor
