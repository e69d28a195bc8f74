/// What is typed to find heads.

#include "app/panels/maps/head_search.hpp"

#include <gtest/gtest.h>

namespace attn::app::test {
namespace {

HeadScore score_of(int layer, std::int64_t head, double first = 0) {
    HeadScore score;
    score.id = {Stage::Weights, layer};
    score.head = head;
    score.first_token = first;
    return score;
}

TEST(HeadSearch, ReadsPlacesInEveryUsualForm) {
    for (const char* typed : {"L5 H3", "l5h3", "5.3", "5 3", "layer 5 head 3", "head 3, layer 5", "H3 L5"}) {
        const HeadQuery query = read_head_query(typed);
        EXPECT_EQ(query.layer, 5) << typed;
        EXPECT_EQ(query.head, 3) << typed;
        EXPECT_TRUE(query.unknown.empty()) << typed;
        EXPECT_TRUE(query.fits(score_of(5, 3))) << typed;
        EXPECT_FALSE(query.fits(score_of(3, 5))) << typed;
        EXPECT_FALSE(query.fits(score_of(5, 4))) << typed;
    }
    EXPECT_TRUE(read_head_query("L15").fits(score_of(15, 31)));
    EXPECT_FALSE(read_head_query("L1").fits(score_of(15, 31))) << "a whole number";
    EXPECT_TRUE(read_head_query("h31").fits(score_of(15, 31)));
}

TEST(HeadSearch, KnowsPatternsByTheirWords) {
    for (const PatternInfo& pattern : head_patterns()) {
        EXPECT_EQ(read_head_query(pattern.name).pattern, pattern.name);
        EXPECT_EQ(read_head_query(pattern.short_name).pattern, pattern.name);
    }
    EXPECT_EQ(read_head_query("SINKS").pattern, "first token");
    EXPECT_EQ(read_head_query("induc").pattern, "after a repeat");
    const HeadQuery both = read_head_query("L2 sink");
    EXPECT_TRUE(both.fits(score_of(2, 0, 0.6)));
    EXPECT_FALSE(both.fits(score_of(2, 0, 0.5))) << "more than half";
    EXPECT_FALSE(both.fits(score_of(3, 0, 0.6)));
}

TEST(HeadSearch, SaysWhatItDoesNotKnow) {
    EXPECT_TRUE(read_head_query("").empty());
    EXPECT_TRUE(read_head_query("  , ").empty());
    EXPECT_EQ(read_head_query("zebra").unknown, "zebra");
    EXPECT_EQ(read_head_query("1 2 3").unknown, "3");
    EXPECT_EQ(read_head_query("L99999999999999999999").unknown, "99999999999999999999");
    EXPECT_FALSE(read_head_query("zebra").fits(score_of(0, 0, 1)));
}

}  // namespace
}  // namespace attn::app::test
