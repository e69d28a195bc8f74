/// The norms of what heads move, against plain loops.

#include "engine/model/value_norms.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/plan/plan.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

TEST(ValueNorms, AreTheLengthsOfWhatIsMoved) {
    std::size_t checked = 0, without = 0;
    for (unsigned seed = 0; seed < 80; ++seed) {
        const testing_support::RandomModel model(seed, seed % 2 == 1);
        const Trace<float> trace = model.trace<float>();
        for (const RecordedStage<float>& stage : trace.stages) {
            if (stage.id.stage != Stage::Weights) continue;
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << tensor_name(stage.id));
            const Tensor<float> norms = value_norms(trace, stage.id);
            const Tensor<float>& v = trace.find(values_of(stage.id))->value;
            const Shape& shape = v.shape();
            const std::int64_t sharing = trace.config.num_heads / shape[1].size, width = shape[3].size;
            StageId out = stage.id;
            out.stage = Stage::AttentionOut;
            const PlanNode* node = trace.plan->find(out);
            const MatrixView matrix = node == nullptr ? MatrixView{} : trace.parameters->view(node->weight.name);
            without += matrix ? 0U : 1U;
            for (std::int64_t b = 0; b < shape[0].size; ++b)
                for (std::int64_t h = 0; h < trace.config.num_heads; ++h)
                    for (std::int64_t s = 0; s < shape[2].size; ++s) {
                        double squares = 0;
                        for (std::int64_t c = 0; c < (matrix ? matrix.columns : width); ++c) {
                            double sum = 0;
                            for (std::int64_t d = 0; d < width; ++d) {
                                const double one = matrix ? matrix.at(h * width + d, c) : (c == d ? 1 : 0);
                                sum += static_cast<double>(v(b, h / sharing, s, d)) * one;
                            }
                            squares += sum * sum;
                        }
                        const double expected = std::sqrt(squares);
                        if (!std::isfinite(expected)) continue;
                        EXPECT_NEAR(norms(b, h, s), expected, 2e-5 + 1e-4 * expected);
                        ++checked;
                    }
        }
    }
    EXPECT_GT(checked, 500U);
    EXPECT_GT(without, 0U) << "models without W_O were among them";
}

TEST(ValueNorms, AreOfWeightsAlone) {
    const testing_support::RandomModel model(3);
    const Trace<float> trace = model.trace<float>();
    EXPECT_THROW(value_norms(trace, {Stage::Scores, 0}), Error);
    EXPECT_THROW(value_norms(trace, {Stage::Weights, 99}), Error);
}

}  // namespace
}  // namespace attn
