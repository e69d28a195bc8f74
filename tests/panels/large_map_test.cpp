/// A reduced map of a long text only shows numbers that are known exactly.

#include <gtest/gtest.h>

#include "app/panels/compare/colors.hpp"
#include "app/session/numbers/number_desk.hpp"
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
    Snapshot numbers, reduced;
    StateRef state = std::make_shared<const State>(State{std::make_shared<const app::Setup>(), {}});
    NumberStore store;
    Results::Facts facts;
    std::optional<std::int64_t> answered_head{};  ///< the head of the regions that are answered; none: all
    bool answers = true;

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
        numbers.trace = std::make_shared<const Trace<float>>(look_at_part(outline, weights).trace);
        reduced.trace = std::make_shared<const Trace<float>>(look_at_part(outline, weights, ReducedPart{2}).trace);
        numbers.serial = 1, reduced.serial = 2;
    }
    /// Asks a desk that is answered with regions of the map.
    template <class Use>
    auto ask(const Use& use) {
        Inquiry::Wait wait;
        if (answers)
            wait = [this](const Request& request) {
                auto fact = std::make_shared<Fact>();
                fact->request = request;
                if (const auto* asked = request.facet.as<facet::MapRegion>()) fact->value = region(asked->region, answered_head);
                else fact->problem = "nothing else is computed";
                facts.push_back(fact);
                return Results(facts);
            };
        Inquiry inquiry(Results(facts), std::move(wait));
        return use(NumberDesk(inquiry, store, {state, &reduced}, {}));
    }
    Matrix map_in(const Snapshot& snapshot, const StageId& id, std::int64_t head) {
        return ask([&](const NumberDesk& desk) {
            return desk.numbers({.of = {state, &snapshot}, .stage = id, .head = head, .if_held = true}).map;
        });
    }
    std::shared_ptr<const ReducedMap> region(const MapRegion& cells, std::optional<std::int64_t> head = {}) const {
        return std::make_shared<const ReducedMap>(region_of_map(*outline, weights, cells, reduced.trace.get(), head));
    }
};

TEST_F(LargeMaps, HaveThePlacesOfTheWholeMapAndNoNumber) {
    const Matrix whole = map_in(numbers, weights, 1), map = map_in(reduced, weights, 1);
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
    EXPECT_TRUE(ask([&](const NumberDesk& desk) { return desk.row_sums(map); }).empty());
    EXPECT_TRUE(transposed(map, "t").empty());
    EXPECT_TRUE(ask([&](const NumberDesk& desk) { return desk.statistics(map); }).empty());
    EXPECT_FALSE(map_in(reduced, weights, kMeanHead).empty());
    EXPECT_TRUE(map_in(reduced, {Stage::Scores, 0}, kMeanHead).empty());
}

/// A block shows its largest weight. With the range of single weights nearly all blocks would reach its end.
TEST_F(LargeMaps, AreColouredAsIfEachBlockWereAKey) {
    EXPECT_EQ(keys_of(map_in(numbers, weights, 1)), kPositions);
    EXPECT_EQ(keys_of(map_in(reduced, weights, 1)), 6);
    EXPECT_EQ(keys_of(map_in(reduced, {Stage::Masked, 0}, 1)), 0);
}

TEST_F(LargeMaps, ShowTheNumbersOfTheRegionsThatAreThere) {
    for (const std::int64_t head : {0, 2}) {
        const Matrix whole = map_in(numbers, weights, head);
        Matrix map = map_in(reduced, weights, head);
        map = ask([&](const NumberDesk& desk) { return desk.with_row(map, 7); });
        map = ask([&](const NumberDesk& desk) { return desk.with_column(map, 3); });
        ASSERT_NE(map.data.row, nullptr);
        ASSERT_NE(map.data.finer, nullptr);
        int known = 0;
        for (std::int64_t row = 0; row < kPositions; ++row)
            for (std::int64_t col = 0; col < kPositions; ++col) {
                const bool there = row == 7 || col == 3;
                EXPECT_EQ(map.data.knows(row, col), there);
                if (!there) continue;
                ++known;
                EXPECT_EQ(map.masked(row, col), whole.masked(row, col));
                EXPECT_EQ(map.at(row, col), whole.at(row, col));
                EXPECT_EQ(cell_text(map.data, {row, col}), cell_text(whole.data, {row, col}));
            }
        EXPECT_EQ(known, 2 * kPositions - 1);
    }
}

/// All cells at about two for each pixel.
constexpr VisibleCells kCoarse{0, 20, 0, 20, 2.5, 2.5};

TEST_F(LargeMaps, RegionsOfOtherHeadsAndCoarserOnesHaveNoNumbers) {
    const Matrix map = map_in(reduced, weights, 1);
    answered_head = 2;
    EXPECT_EQ(ask([&](const NumberDesk& desk) { return desk.with_row(map, 3); }).data.row, nullptr);
    answered_head.reset();
    facts.clear();
    const Matrix coarse = ask([&](const NumberDesk& desk) { return desk.with_visible(map, kCoarse); });
    ASSERT_NE(coarse.data.finer, nullptr);
    EXPECT_EQ(coarse.data.finer->level, 1);
    EXPECT_FALSE(coarse.data.knows(3, 3));
}

TEST_F(LargeMaps, RegionsGoWhenNobodyAsksForThem) {
    const Matrix map = map_in(reduced, weights, 1), other = map_in(reduced, weights, 2);
    const auto look = [&](const Matrix& one, const VisibleCells& cells) {
        return ask([&](const NumberDesk& desk) { return desk.with_visible(one, cells).data.finer; });
    };
    const std::uint64_t key = look(map, kCoarse)->key;
    const std::weak_ptr<const void> region = facts.back()->value;
    store.begin_frame();
    EXPECT_EQ(look(map, kCoarse)->key, key) << "the same numbers are uploaded once";
    EXPECT_NE(look(other, kCoarse)->key, key) << "another head";
    facts.clear();
    answers = false;
    store.begin_frame();
    ASSERT_NE(look(map, {0, 4, 0, 4, 0.5, 0.5}), nullptr) << "the last one stays until others come";
    EXPECT_EQ(look(map, {0, 4, 0, 4, 0.5, 0.5})->key, key);
    EXPECT_FALSE(region.expired());
    store.begin_frame();
    store.begin_frame();
    EXPECT_EQ(look(map, kCoarse), nullptr);
    EXPECT_TRUE(region.expired());
}

}  // namespace
}  // namespace attn::app
