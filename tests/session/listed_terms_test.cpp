/// Which terms of a cell's arithmetic are listed, and what is said of the others.

#include "app/session/values/listed_terms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attn::app::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

Term term(double value, bool masked = false, bool own = false) {
    Term made;
    made.value = value, made.masked = masked, made.own = own;
    return made;
}

TEST(ListedTerms, AreAllIfTheyAreFew) {
    Provenance sum;
    sum.terms = {term(1), term(0, true), term(-3)};
    const ListedTerms listed = listed_terms(sum);
    EXPECT_THAT(listed.shown, ElementsAre(0, 1, 2));
    EXPECT_EQ(listed.left_out, "");
    EXPECT_EQ(listed.largest, 3);
    EXPECT_TRUE(listed.any_negative);
}

TEST(ListedTerms, AreTheLargestOfManyInTheirOrder) {
    Provenance sum;
    for (int i = 0; i < 30; ++i) sum.terms.push_back(term(i % 2 == 0 ? i : -i, i == 29));
    const ListedTerms listed = listed_terms(sum);
    ASSERT_EQ(listed.shown.size(), 16U);
    EXPECT_EQ(listed.shown.front(), 13U);
    EXPECT_EQ(listed.shown.back(), 28U);
    EXPECT_EQ(listed.largest, 28) << "the masked one is larger";
    EXPECT_EQ(listed.left_out, "The 16 largest of 29 terms; the sum includes all. 1 masked term is not listed.");
}

/// The numerator of a weight is what a person looks for.
TEST(ListedTerms, TheCellsOwnIsAmongThemHoweverSmall) {
    Provenance sum;
    for (int i = 0; i < 30; ++i) sum.terms.push_back(term(1 + i, false, i == 2));
    ListedTerms listed = listed_terms(sum);
    ASSERT_EQ(listed.shown.size(), 16U);
    EXPECT_EQ(listed.shown.front(), 2U);
    EXPECT_THAT(listed.shown, Not(Contains(14U)));
    EXPECT_EQ(listed.left_out, "The cell's own term and the 15 largest of 30 terms; the sum includes all.");
    sum.terms[2].own = false, sum.terms[29].own = true;
    listed = listed_terms(sum);
    EXPECT_EQ(listed.shown.front(), 14U);
    EXPECT_EQ(listed.left_out, "The 16 largest of 30 terms; the sum includes all.");
}

}  // namespace
}  // namespace attn::app::test
