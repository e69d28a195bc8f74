#include "engine/model/near_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

std::vector<float> random_numbers(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(count);
    for (float& number : numbers) number = normal(random);
    return numbers;
}

/// By double loops over all pairs.
std::vector<NearRow> expected(const std::vector<float>& x, std::int64_t rows, std::int64_t columns, std::int64_t row) {
    const auto dot = [&](std::int64_t a, std::int64_t b) {
        double sum = 0;
        for (std::int64_t c = 0; c < columns; ++c)
            sum += static_cast<double>(x[static_cast<std::size_t>(a * columns + c)]) *
                   static_cast<double>(x[static_cast<std::size_t>(b * columns + c)]);
        return sum;
    };
    std::vector<NearRow> all;
    for (std::int64_t r = 0; r < rows; ++r)
        if (r != row) all.push_back({r, dot(r, row) / std::sqrt(dot(r, r) * dot(row, row))});
    std::stable_sort(all.begin(), all.end(), [](const NearRow& a, const NearRow& b) { return a.cosine > b.cosine; });
    return all;
}

TEST(NearRows, AreThoseOfTheLargestCosine) {
    for (const std::int64_t rows : {1, 2, 7, 256, 257, 700})
        for (const std::int64_t columns : {1, 5, 33}) {
            const std::vector<float> x = random_numbers(static_cast<std::size_t>(rows * columns), static_cast<unsigned>(rows + columns));
            const std::int64_t row = rows / 3;
            std::vector<NearRow> all = expected(x, rows, columns, row);
            const std::vector<NearRow> near = near_rows(MatrixView::of(x.data(), rows, columns), row, 6);
            ASSERT_EQ(near.size(), std::min<std::size_t>(6, all.size()));
            for (std::size_t i = 0; i < near.size(); ++i) {
                EXPECT_NEAR(near[i].cosine, all[i].cosine, 1e-12) << rows << " " << columns << " " << i;
                if (columns > 1) {
                    EXPECT_EQ(near[i].row, all[i].row);
                }
            }
        }
}

TEST(NearRows, ReadTransposedTablesAlike) {
    const std::vector<float> x = random_numbers(12 * 4, 3);
    std::vector<float> across(x.size());
    for (std::size_t r = 0; r < 12; ++r)
        for (std::size_t c = 0; c < 4; ++c) across[c * 12 + r] = x[r * 4 + c];
    const auto a = near_rows(MatrixView::of(x.data(), 12, 4), 5, 3), b = near_rows(MatrixView::of(across.data(), 4, 12).across(), 5, 3);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].row, b[i].row);
}

TEST(NearRows, LeaveOutWhatHasNoDirection) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> x{1, 0, 0, 0, nan, 1, 2, 0, 0, 3, -1, 0};  // six rows
    const MatrixView table = MatrixView::of(x.data(), 6, 2);
    const auto near = near_rows(table, 0, 9);
    ASSERT_EQ(near.size(), 3U);
    EXPECT_EQ(near[0].row, 3);
    EXPECT_EQ(near[0].cosine, 1);
    EXPECT_EQ(near[1].row, 4);
    EXPECT_EQ(near[2].row, 5);
    EXPECT_EQ(near[2].cosine, -1);
    EXPECT_TRUE(near_rows(table, 1, 9).empty());
    EXPECT_TRUE(near_rows(table, 2, 9).empty());
    EXPECT_THROW(near_rows(table, 6, 1), Error);
    EXPECT_THROW(near_rows(table, -1, 1), Error);
}

TEST(NearRows, CanBeStopped) {
    std::stop_source stop;
    stop.request_stop();
    const std::vector<float> x{1, 2};
    EXPECT_THROW(near_rows(MatrixView::of(x.data(), 2, 1), 0, 1, stop.get_token()), Cancelled);
}

}  // namespace
}  // namespace attn
