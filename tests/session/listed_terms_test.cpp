/// Which terms of a cell's arithmetic are listed, and what is said of the others.

#include "app/session/values/listed_terms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

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

/// The short list and what it leaves out are all terms, whatever they are.
TEST(ListedTerms, TheShortListAndTheOthersAreAll) {
    std::mt19937 random(11);
    const auto below = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
    for (int round = 0; round < 500; ++round) {
        Provenance sum;
        for (int i = 0, count = below(40); i < count; ++i) sum.terms.push_back(term(below(41) - 20, below(4) == 0));
        const std::size_t own = sum.terms.size() < 7 ? 0 : static_cast<std::size_t>(below(static_cast<int>(sum.terms.size())));
        if (!sum.terms.empty()) sum.terms[own].own = true;
        const ListedTerms listed = listed_terms(sum);
        const auto is_short = [&](std::size_t i) { return std::find(listed.few.begin(), listed.few.end(), i) != listed.few.end(); };
        EXPECT_TRUE(std::is_sorted(listed.few.begin(), listed.few.end()));
        EXPECT_EQ(listed.few.size(), listed.shown.size() <= 6 ? listed.shown.size() : 5);
        double others = 0, least = HUGE_VAL;
        for (const std::size_t i : listed.few) {
            EXPECT_THAT(listed.shown, Contains(i));
            if (i != own && !sum.terms[i].masked) least = std::min(least, std::abs(sum.terms[i].value));
        }
        for (std::size_t i = 0; i < sum.terms.size(); ++i) {
            if (sum.terms[i].masked || is_short(i)) continue;
            others += sum.terms[i].value;
            EXPECT_LE(std::abs(sum.terms[i].value), least) << "what is left out is no larger";
        }
        EXPECT_EQ(listed.others, others) << "small whole numbers have exact sums";
        if (own < sum.terms.size() && std::find(listed.shown.begin(), listed.shown.end(), own) != listed.shown.end()) {
            EXPECT_TRUE(is_short(own)) << "the cell's own";
        }
    }
}

TEST(ListedTerms, WhatIsNotANumberIsOnTheShortList) {
    Provenance sum;
    for (int i = 0; i < 30; ++i) sum.terms.push_back(term(100 + i));
    sum.terms[3].value = std::nan("");
    EXPECT_THAT(listed_terms(sum).few, ElementsAre(3, 26, 27, 28, 29));
}

}  // namespace
}  // namespace attn::app::test
