#include "app/panels/state/path_columns.hpp"

#include <gtest/gtest.h>

#include <random>

namespace attn::app {
namespace {

TEST(PathColumns, FillTheRoomWithinTheirLimits) {
    EXPECT_FLOAT_EQ(PathColumns({1, 1, 2}, 80, 10, 30).width(), 80);
    EXPECT_FLOAT_EQ(PathColumns({1, 1, 2}, 400, 10, 30).width(), 120) << "no wider than the most";
    EXPECT_FLOAT_EQ(PathColumns({1, 1, 2}, 8, 10, 30).width(), 40) << "no narrower than the least";
    EXPECT_FLOAT_EQ(PathColumns({1, 1, 2}, 80, 10, 30).at(2.5F), 60);
    EXPECT_EQ(PathColumns({}, 80, 10, 30).width(), 0);
    EXPECT_EQ(PathColumns().at(3), 0);
}

TEST(PathColumns, WidenForWhatIsWrittenInThem) {
    PathColumns columns({1, 1, 1, 1}, 40, 10, 10);
    columns.widen(1, 3, 50);
    columns.widen(3.25F, 3.75F, 30);  // half of the last column
    columns.widen(0, 1, 5);           // wide enough already
    columns.widen(2, 2, 99);          // nothing
    columns.settle();
    EXPECT_FLOAT_EQ(columns.at(1), 10);
    EXPECT_FLOAT_EQ(columns.at(3) - columns.at(1), 50);
    EXPECT_FLOAT_EQ(columns.at(3.75F) - columns.at(3.25F), 30);
    EXPECT_FLOAT_EQ(columns.width(), 10 + 50 + 60);
}

TEST(PathColumns, HoldEverythingTheyWereWidenedFor) {
    std::mt19937 random(5);
    const auto below = [&](int n) { return static_cast<float>(std::uniform_int_distribution<int>(0, n - 1)(random)); };
    for (int round = 0; round < 100; ++round) {
        const int count = 1 + static_cast<int>(below(30));
        PathColumns columns(std::vector<float>(static_cast<std::size_t>(count), 1.F), 300, 5, 20);
        struct Need {
            float first, last, pixels;
        };
        std::vector<Need> needs;
        for (int i = 0; i < 20; ++i) {
            const float first = below(4 * count) / 4, last = std::min(first + (1 + below(8)) / 4, static_cast<float>(count));
            needs.push_back({first, last, 1 + below(90)});
            columns.widen(first, last, needs.back().pixels);
        }
        columns.settle();
        for (const auto& [first, last, pixels] : needs) EXPECT_GE(columns.at(last) - columns.at(first), pixels * 0.999F);
    }
}

}  // namespace
}  // namespace attn::app
