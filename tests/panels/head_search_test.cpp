/// Parsing of head searches.

#include "app/panels/kit/head_search.hpp"

#include <gtest/gtest.h>

namespace attn::app::test {
namespace {

HeadScore score_of(int layer, std::int64_t head, double first = 0) {
    HeadScore score;
    score.id = {Stage::Weights, layer};
    score.head = head;
    score.first_token = first;
    score.rows = 1;
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

TEST(HeadSearch, TellsTheStacksOfAnEncoderDecoderApart) {
    const auto at = [](Stack stack, std::uint8_t attention) {
        HeadScore score = score_of(0, 3);
        score.id = {Stage::Weights, 0, stack, attention};
        return score;
    };
    const HeadScore encoder = at(Stack::Encoder, kSelfAttention), decoder = at(Stack::Decoder, kSelfAttention),
                    cross = at(Stack::Decoder, kCrossAttention);
    EXPECT_EQ(attention_letter(encoder.id), 'E');
    EXPECT_EQ(attention_letter(decoder.id), 'D');
    EXPECT_EQ(attention_letter(cross.id), 'X');
    EXPECT_EQ(attention_letter(score_of(0, 0).id), 'L');
    for (const char* typed : {"X0 H3", "cross", "x0", "cross layer 0 head 3"}) {
        EXPECT_TRUE(read_head_query(typed).fits(cross)) << typed;
        EXPECT_FALSE(read_head_query(typed).fits(decoder)) << typed;
        EXPECT_FALSE(read_head_query(typed).fits(encoder)) << typed;
    }
    EXPECT_TRUE(read_head_query("E0 H3").fits(encoder));
    EXPECT_TRUE(read_head_query("decoder").fits(decoder));
    EXPECT_FALSE(read_head_query("E1").fits(encoder));
    EXPECT_FALSE(read_head_query("E0").fits(score_of(0, 3))) << "one stack is no encoder of two";
    EXPECT_FALSE(read_head_query("encoder").empty());
    EXPECT_TRUE(read_head_query("L0 H3").fits(cross)) << "a layer is one in every stack";
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

TEST(HeadSearch, AHeadHasOnlyPatternsThatItCanShow) {
    HeadScore self = score_of(0, 0, 0.7), cross = self;
    self.induction = self.alignment = cross.alignment = 0.9;
    cross.id.attention = kCrossAttention;
    EXPECT_EQ(pattern_share(self, "first token"), 0.7);
    EXPECT_EQ(pattern_share(self, "alignment"), 0) << "of self-attention";
    EXPECT_EQ(pattern_share(self, "after a repeat"), 0) << "nothing is repeated";
    self.induction_rows = 4;
    EXPECT_EQ(pattern_share(self, "after a repeat"), 0.9);
    EXPECT_EQ(pattern_share(cross, "alignment"), 0.9);
    EXPECT_FALSE(has_pattern(cross, "first token"));
    self.rows = 0;
    EXPECT_FALSE(has_pattern(self, "first token")) << "not known yet";
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
