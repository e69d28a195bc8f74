/// A reduced map of a long text only shows numbers that are known exactly.

#include <gtest/gtest.h>

#include "app/panels/compare/colors.hpp"
#include "app/panels/maps/matrix.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "engine/model/looked_at_part.hpp"
#include "engine/model/outline.hpp"
#include "tests/support/random_model.hpp"

namespace attn::app {
namespace {

struct LargeMaps : testing::Test {
    static constexpr std::int64_t kPositions = 21;
    StageId weights{Stage::Weights, 0};
    std::shared_ptr<const Trace<float>> outline;
    Trace<float> numbers, reduced;
    MatrixStore store;
    Snapshot snapshot;

    LargeMaps() {
        testing_support::RandomModel model(3);
        model.config.architecture = Architecture::DecoderOnly;
        model.config.num_heads = 3;
        model.config.d_model = 12;
        model.config.context_length = kPositions;
        model.settings = {};
        model.settings.masks.causal = true;
        model.tokens = {kPositions, std::vector<std::int32_t>(kPositions, 0), {kPositions}};
        const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
        outline = std::make_shared<const Trace<float>>(trace_outline<float>(parameters, model.tokens, {}, model.settings));
        numbers = look_at_part(outline, weights).trace;
        reduced = look_at_part(outline, weights, ReducedPart{2}).trace;
        snapshot.serial = 1;
        store.use(snapshot);
    }
    std::shared_ptr<const ReducedMap> region(const MapRegion& cells, std::optional<std::int64_t> head = {}) const {
        return std::make_shared<const ReducedMap>(region_of_map(*outline, weights, cells, &reduced, head));
    }
};

TEST_F(LargeMaps, HaveThePlacesOfTheWholeMapAndNoNumber) {
    const Matrix whole = store.stage(numbers, weights, 0, 1), map = store.stage(reduced, weights, 0, 1);
    ASSERT_FALSE(map.empty());
    EXPECT_EQ(map.data.rows, whole.data.rows);
    EXPECT_EQ(map.data.cols, whole.data.cols);
    EXPECT_EQ(map.name, whole.name);
    EXPECT_EQ(map.content, whole.content);
    for (std::int64_t row = 0; row < kPositions; ++row)
        for (std::int64_t col = 0; col < kPositions; ++col) {
            EXPECT_TRUE(whole.data.knows(row, col));
            EXPECT_FALSE(map.data.knows(row, col));
            EXPECT_EQ(map.cell(row, col)->index, whole.cell(row, col)->index);
            EXPECT_EQ(cell_text(map.data, {row, col}), "…");
        }
    // Functions that need the whole map return nothing.
    EXPECT_TRUE(store.row_sums(map).empty());
    EXPECT_TRUE(store.without_first_key(map).empty());
    EXPECT_TRUE(store.difference(map, whole).empty());
    EXPECT_TRUE(store.difference(whole, map).empty());
    EXPECT_TRUE(store.statistics(map).empty());
    EXPECT_FALSE(store.reduced_mean(reduced, weights).empty());
    EXPECT_TRUE(store.reduced_mean(reduced, {Stage::Scores, 0}).empty());
}

/// A block shows its largest weight. With the range of single weights nearly all blocks would reach its end.
TEST_F(LargeMaps, AreColouredAsIfEachBlockWereAKey) {
    EXPECT_EQ(keys_of(store.stage(numbers, weights, 0, 1)), kPositions);
    EXPECT_EQ(keys_of(store.stage(reduced, weights, 0, 1)), 6);
    EXPECT_EQ(keys_of(store.stage(reduced, {Stage::Masked, 0}, 0, 1)), 0);
}

TEST_F(LargeMaps, ShowTheNumbersOfTheRegionsThatAreThere) {
    for (const std::int64_t head : {0, 2}) {
        const Matrix whole = store.stage(numbers, weights, 0, head);
        Matrix map = store.stage(reduced, weights, 0, head);
        map.data.row = store.region(*map.large, 3, region({7, 1, 0, kPositions, 0}));
        map.data.finer = store.region(*map.large, 3, region({12, 4, 3, 11, 0}, head));
        ASSERT_NE(map.data.row, nullptr);
        ASSERT_NE(map.data.finer, nullptr);
        int known = 0;
        for (std::int64_t row = 0; row < kPositions; ++row)
            for (std::int64_t col = 0; col < kPositions; ++col) {
                const bool there = row == 7 || (row >= 12 && row < 16 && col >= 3 && col < 14);
                EXPECT_EQ(map.data.knows(row, col), there);
                if (!there) continue;
                ++known;
                EXPECT_EQ(map.masked(row, col), whole.masked(row, col));
                EXPECT_EQ(map.at(row, col), whole.at(row, col));
                EXPECT_EQ(cell_text(map.data, {row, col}), cell_text(whole.data, {row, col}));
            }
        EXPECT_EQ(known, kPositions + 44);
    }
}

TEST_F(LargeMaps, RegionsOfOtherHeadsAndCoarserOnesHaveNoNumbers) {
    Matrix map = store.stage(reduced, weights, 0, 1);
    EXPECT_EQ(store.region(*map.large, 3, region({0, 4, 0, 4, 0}, 2)), nullptr);
    map.data.finer = store.region(*map.large, 3, region({0, 20, 0, 20, 1}));
    ASSERT_NE(map.data.finer, nullptr);
    EXPECT_FALSE(map.data.knows(3, 3));
}

TEST_F(LargeMaps, RegionsGoWhenNobodyAsksForThem) {
    const Matrix map = store.stage(reduced, weights, 0, 1);
    const auto cells = region({4, 8, 4, 8, 0});
    const HeatmapRegion* first = store.region(*map.large, 3, cells);
    const std::uint64_t key = first->key;
    EXPECT_EQ(cells.use_count(), 2);
    store.use(snapshot);
    EXPECT_EQ(store.region(*map.large, 3, cells)->key, key) << "the same numbers are uploaded once";
    store.use(snapshot);
    EXPECT_NE(store.last_region(*map.large), nullptr);
    store.use(snapshot);
    store.use(snapshot);
    EXPECT_EQ(store.last_region(*map.large), nullptr);
    EXPECT_EQ(cells.use_count(), 1);
    EXPECT_NE(store.region({weights, 2, {}}, 3, cells)->key, key) << "another head";
}

}  // namespace
}  // namespace attn::app
