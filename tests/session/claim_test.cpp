/// Claims: what they compare, and where a quoted number is located.

#include "app/session/lessons/claim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

class ClaimTest : public testing::Test {
protected:
    ClaimTest() : session_(open_preset("causal-attention"), no_wake), snapshot_(session_.wait()) {}
    std::optional<bool> is_true(const std::string& claim) const { return holds(parse_claim(claim, 0), *snapshot_, session_.training()); }
    std::optional<QuotedPlace> place(const std::string& quote) const {
        return quoted_place(*parse_caption(quote, 0).front().quote, *snapshot_);
    }

    Session session_;
    std::shared_ptr<const Snapshot> snapshot_;
};

TEST_F(ClaimTest, CompareWhatTheCaptionWouldShow) {
    EXPECT_EQ(is_true("{weights[0,0,0,0]} = 1.000"), true);
    EXPECT_EQ(is_true("{weights[0,0,0,0]:1} = 1.0"), true);
    EXPECT_EQ(is_true("{weights[0,0,0,0]} = 1"), false) << "text is compared, with its decimals";
    EXPECT_EQ(is_true("{weights[0,0,0,0]} != 1.000"), false);
    EXPECT_EQ(is_true("{zeros weights[0,0,3,*]} > 5"), true);
    EXPECT_EQ(is_true("{zeros weights[0,0,3,*]} > 6"), false);
    EXPECT_EQ(is_true("{zeros weights[0,0,3,*]} < 7"), true);
    EXPECT_EQ(is_true("{zeros weights[0,0,3,*]} < 6"), false);
    EXPECT_EQ(is_true("6 = {zeros weights[0,0,3,*]}"), true);
    EXPECT_EQ(is_true("{weights[0,0,3,1]} = {weights[0,0,3,1]}"), true);
    EXPECT_EQ(is_true("{masked[0,0,3,7]} < -1000"), true) << "minus infinity";
    EXPECT_EQ(is_true("{masked[0,0,3,7]} > -1000"), false);
    EXPECT_EQ(is_true("{token[1]} = cat"), true);
    EXPECT_EQ(is_true("{token[1]} = the cat"), false);
    EXPECT_EQ(is_true("{token[1]} > 3"), false) << "no number is neither more nor less";
    EXPECT_EQ(is_true("{token[1]} < 3"), false);
    EXPECT_EQ(is_true("{step} > 3"), std::nullopt) << "nothing is known of it";
    EXPECT_EQ(is_true("{weights[0,0,99,0]} > 3"), std::nullopt);
}

TEST_F(ClaimTest, KnowSignsOfNumbersBelowZero) {
    const double value = snapshot_->trace->find({Stage::Scores, 0})->value.data()[0];
    const std::string other = value < 0 ? ">" : "<", right = value < 0 ? "<" : ">";
    EXPECT_EQ(is_true("{scores[0,0,0,0]} " + right + " 0"), true);
    EXPECT_EQ(is_true("{scores[0,0,0,0]} " + other + " 0"), false);
    EXPECT_EQ(is_true("{min scores} < -0.1"), true);
    EXPECT_EQ(is_true("{max scores} > 0.1"), true);
}

TEST_F(ClaimTest, SayWhatTheSidesAre) {
    const Claim claim = parse_claim("{zeros weights[0,0,3,*]} > {token[1]}", 0);
    EXPECT_EQ(claim_words(claim, *snapshot_, session_.training()),
              "\"{zeros weights[0,0,3,*]} > {token[1]}\", {zeros weights[0,0,3,*]} is 6, {token[1]} is cat");
    EXPECT_EQ(why_unquotable(claim, *snapshot_), "");
    EXPECT_THAT(why_unquotable(parse_claim("1 = {weights[0,0,0,77]}", 0), *snapshot_), testing::HasSubstr("there is no S 77"));
}

TEST_F(ClaimTest, AQuotationsNumberStandsSomewhere) {
    const StageId weights{Stage::Weights, 0};
    const auto one = place("{weights[0,1,3,2]}");
    ASSERT_TRUE(one);
    EXPECT_TRUE(one->is_cell());
    EXPECT_EQ(one->cell, (CellRef{weights, "", {0, 1, 3, 2}}));
    EXPECT_EQ(one->rank, 4);
    const auto row = place("{sum weights[0,1,3,*]}");
    ASSERT_TRUE(row);
    EXPECT_FALSE(row->is_cell());
    EXPECT_EQ(row->whole, (std::array<bool, 4>{false, false, false, true}));
    EXPECT_EQ(row->cell.index[2], 3);
    const auto all = snapshot_->trace->find(weights)->value.values();
    const auto shape = snapshot_->trace->find(weights)->value.shape();
    const auto at = [&](const CellRef& cell) {
        return all[static_cast<std::size_t>(
            ((cell.index[0] * shape[1].size + cell.index[1]) * shape[2].size + cell.index[2]) * shape[3].size + cell.index[3])];
    };
    const auto most = place("{most weights[0,1,6,*]}"), least = place("{min weights[0,1,6,*]}");
    ASSERT_TRUE(most && least);
    EXPECT_TRUE(most->is_cell());
    for (std::int64_t s = 0; s < shape[3].size; ++s) {
        EXPECT_GE(at(most->cell), at(CellRef{weights, "", {0, 1, 6, s}}));
        EXPECT_LE(at(least->cell), at(CellRef{weights, "", {0, 1, 6, s}}));
    }
    const auto parameter = place("{token_embedding.weight[3,2]}");
    ASSERT_TRUE(parameter);
    EXPECT_EQ(parameter->cell.parameter, "token_embedding.weight");
    EXPECT_EQ(parameter->cell.index[0], 3);
    EXPECT_EQ(parameter->cell.index[1], 2);
    for (const char* nowhere : {"{token[1]}", "{step}", "{shape q}", "{sum weights}", "{weights[0,0,99,0]}", "{cross_weights[0,0,0,0]}"})
        EXPECT_FALSE(place(nowhere)) << nowhere;
}

}  // namespace
}  // namespace attn::app
