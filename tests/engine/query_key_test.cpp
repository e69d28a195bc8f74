/// The decomposition of a score: products, running sum, and agreement with the recorded score.

#include "engine/trace/query_key.hpp"

#include <gtest/gtest.h>

#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

TEST(QueryKey, EveryCellOfRandomModelsAddsUpToItsScore) {
    int cross = 0;
    for (unsigned seed = 0; seed < 25; ++seed) {
        const RandomModel model(seed);
        const Trace<float> trace = model.trace<float>();
        for (const auto& stage : trace.stages) {
            if (stage.id.stage != Stage::Scores) continue;
            cross += stage.id.attention == kCrossAttention;
            const Shape& shape = stage.value.shape();
            const std::int64_t b = shape[0].size - 1, h = shape[1].size - 1;
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t s = 0; s < shape[3].size; ++s) {
                    const QueryKeyProduct product = query_key_product(trace, stage.id, b, h, t, s);
                    StageId q = stage.id, k = stage.id;
                    q.stage = Stage::Q;
                    k.stage = Stage::K;
                    ASSERT_EQ(product.query.size(), static_cast<std::size_t>(model.config.head_size()));
                    double sum = 0;
                    for (std::size_t d = product.query.size(); d-- > 0;) {
                        EXPECT_EQ(product.query[d], trace.find(q)->value(b, h, t, static_cast<std::int64_t>(d)));
                        EXPECT_EQ(product.key[d], trace.find(k)->value(b, h, s, static_cast<std::int64_t>(d)));
                        sum += product.products[d];
                    }
                    EXPECT_TRUE(std::abs(sum - product.sum) <= 1e-12 * (1 + std::abs(sum)));
                    EXPECT_EQ(product.running.back(), product.sum);
                    EXPECT_EQ(product.score, stage.value(b, h, t, s));
                    EXPECT_FALSE(product.recorded_differs()) << "seed " << seed << ": " << product.score << " and " << product.sum;
                }
        }
    }
    EXPECT_GT(cross, 0);
}

TEST(QueryKey, AnEditedScoreDiffersAndMissingCellsAreNamed) {
    const RandomModel model(2);
    Trace<float> trace = model.trace<float>();
    StageId id;
    for (auto& stage : trace.stages)
        if (stage.id.stage == Stage::Scores) {
            id = stage.id;
            stage.value.data()[0] += 0.25F;
        }
    EXPECT_TRUE(query_key_product(trace, id, 0, 0, 0, 0).recorded_differs());
    EXPECT_THROW(query_key_product(trace, id, 0, 99, 0, 0), Error);
    EXPECT_THROW(query_key_product(trace, id, 0, 0, -1, 0), Error);
    EXPECT_THROW(query_key_product(trace, {Stage::Scores, 77}, 0, 0, 0, 0), Error);
}

}  // namespace
}  // namespace attn
