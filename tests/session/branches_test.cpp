/// Generated text as a tree of tokens whose paths are branches.

#include <gtest/gtest.h>

#include <random>

#include "app/session/document/writing.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

WrittenToken written(std::int32_t id, std::int64_t after) { return {id, after, 0.5, 0.25}; }

Writing random_tree(std::mt19937& random, std::int64_t size) {
    Writing writing;
    for (std::int64_t i = 0; i < size; ++i)
        put_token(writing,
                  written(static_cast<std::int32_t>(random() % 4), static_cast<std::int64_t>(random() % (writing.tokens.size() + 1)) - 1));
    return writing;
}

TEST(Branches, AreWaysThroughATree) {
    Writing tree;
    const std::int64_t a = put_token(tree, written(5, kPrompt)), b = put_token(tree, written(6, a)), c = put_token(tree, written(7, a));
    EXPECT_EQ(put_token(tree, written(6, a)), b) << "the same token again is the same moment";
    const std::int64_t d = put_token(tree, written(8, b));
    EXPECT_EQ(way_to(tree, d), (std::vector<std::int64_t>{a, b, d}));
    EXPECT_EQ(ids_to(tree, d), (std::vector<std::int32_t>{5, 6, 8}));
    EXPECT_TRUE(way_to(tree, kPrompt).empty());
    EXPECT_EQ(depth_of(tree, d), 3U);
    EXPECT_EQ(branch_ends(tree), (std::vector<std::int64_t>{c, d}));
    EXPECT_EQ(continuations(tree, a), (std::vector<std::int64_t>{b, c}));
    EXPECT_EQ(continuations(tree, kPrompt), std::vector<std::int64_t>{a});
    EXPECT_EQ(first_end_after(tree, a), d);
    EXPECT_EQ(first_end_after(tree, c), c);
    EXPECT_TRUE(leads_through(tree, d, a) && leads_through(tree, d, kPrompt) && leads_through(tree, d, d));
    EXPECT_FALSE(leads_through(tree, c, b) || leads_through(tree, a, d));
    tree.shown = tree.end = d;
    const Writing left = without_branch(tree, b);
    EXPECT_EQ(left.tokens.size(), 2U);
    EXPECT_EQ(ids_to(left, left.shown), std::vector<std::int32_t>{5}) << "the moment before what is gone";
    EXPECT_EQ(ids_to(left, left.end), (std::vector<std::int32_t>{5, 7}));
    EXPECT_TRUE(without_branch(tree, kPrompt).tokens.empty());
}

TEST(Branches, OfRandomTreesStayTrees) {
    std::mt19937 random(3);
    for (int round = 0; round < 100; ++round) {
        Writing tree = random_tree(random, 1 + random() % 30);
        const auto size = static_cast<std::int64_t>(tree.tokens.size());
        tree.end = static_cast<std::int64_t>(random() % static_cast<unsigned>(size));
        tree.shown = tree.tokens[static_cast<std::size_t>(tree.end)].after;
        require_writing(tree);
        const std::int64_t gone = static_cast<std::int64_t>(random() % static_cast<unsigned>(size));
        const Writing left = without_branch(tree, gone);
        EXPECT_NO_THROW(require_writing(left));
        std::size_t kept = 0;
        for (std::int64_t i = 0; i < size; ++i)
            if (!leads_through(tree, i, gone)) ++kept;
        EXPECT_EQ(left.tokens.size(), kept);
        for (const std::int64_t end : branch_ends(left)) {
            const auto ids = ids_to(left, end);
            bool known = false;
            for (std::int64_t i = 0; i < size; ++i) known = known || ids_to(tree, i) == ids;
            EXPECT_TRUE(known);
        }
    }
    Writing bad = random_tree(random, 4);
    bad.tokens[1].after = 2;
    EXPECT_THROW(require_writing(bad), Error);
    bad = random_tree(random, 4);
    bad.shown = static_cast<std::int64_t>(bad.tokens.size());
    EXPECT_THROW(require_writing(bad), Error);
}

}  // namespace
}  // namespace attn::app
