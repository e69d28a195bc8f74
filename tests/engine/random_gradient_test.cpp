// Random models with all operations: gradients against finite differences, and fused against staged passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/model/knock_out.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/plan/mistake.hpp"
#include "tests/engine/gradient_check.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

/// With an output head and a smooth activation, so that finite differences are meaningful.
RandomModel model_of(unsigned seed) {
    RandomModel model(seed, true);
    model.config.lm_head = true;
    if (model.config.activation == Activation::Relu) model.config.activation = Activation::Silu;
    model.config.layer_norm_eps = 1e-2;
    // Without residual connections gradients vanish until differences cannot measure them.
    if (!model.config.residual) model.config.num_layers = 1;
    // Without an output projection, what follows must have the same width.
    if (model.config.attention_width() != model.config.d_model) model.config.output_projection = true;
    return model;
}

TEST(RandomGradients, AgreeWithDifferences) {
    for (unsigned seed = 0; seed < 25; ++seed) {
        SCOPED_TRACE(seed);
        const RandomModel model = model_of(seed);
        Parameters<double> parameters = model.parameters<double>();
        const std::vector<std::int32_t> targets = next_tokens(model.tokens);
        const auto trace = trace_gradients<double>(parameters, model.tokens, model.source, targets, model.settings);
        ModelPass<double> pass(parameters, Keep::OneLayer);
        Tap<double> none;
        const auto loss = [&] {
            pass.forward(model.tokens, model.source, model.settings, none);
            return pass.loss(targets).loss;
        };
        for (const ParameterInfo& info : parameters.layout().entries()) {
            const auto n = static_cast<std::size_t>(std::min<std::int64_t>(info.shape.count(), 12));
            const double worst =
                worst_gradient_error({parameters.data() + info.offset, n}, {trace.parameters->data() + info.offset, n}, loss);
            EXPECT_TRUE(worst <= kGradientTolerance) << info.name << " " << worst;
        }
    }
}

/// The largest difference relative to the size of the numbers; NaN if only one of them is NaN.
template <class Values>
double worst_difference(const Values& a, const Values& b, std::int64_t count) {
    double size = 1, worst = 0;
    for (std::int64_t i = 0; i < count; ++i) size = std::max(size, std::abs(static_cast<double>(a[i])));
    for (std::int64_t i = 0; i < count; ++i) {
        const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) / size;
        if (!(difference <= worst)) worst = difference;
    }
    return worst;
}

TEST(RandomGradients, AreTheSameFusedAndStageByStage) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        RandomModel model = model_of(seed);
        if (seed % 3 == 0) model.settings.mistake = mistakes()[static_cast<std::size_t>(seed) % mistakes().size()].mistake;
        SCOPED_TRACE(testing::Message() << seed << " " << mistake_name(model.settings.mistake));
        const Parameters<double> parameters = model.parameters<double>();
        const std::vector<std::int32_t> targets = next_tokens(model.tokens);
        const auto staged = trace_gradients<double>(parameters, model.tokens, model.source, targets, model.settings);
        const auto values = model.trace<double>();
        ModelPass<double> pass(parameters), forward(parameters, Keep::OneLayer);
        PackedWeights<double> packed(parameters);
        packed.pack();
        if (seed % 2 == 0) pass.use(packed);
        Tap<double> none;
        const Tensor<double>& expected = values.find(values.plan->logits())->value;
        for (int round = 0; round < 2; ++round) {  // the second time in memory used by the first
            pass.forward(model.tokens, model.source, model.settings, none);
            EXPECT_LE(worst_difference(expected.data(), pass.logits().data(), expected.size()), 1e-11);
            forward.forward(model.tokens, model.source, model.settings, none);
            EXPECT_EQ(worst_difference(forward.logits().data(), pass.logits().data(), expected.size()), 0);
            pass.loss(targets);
            pass.backward(none);
            EXPECT_LE(worst_difference(staged.parameters->data(), pass.gradients().data(), parameters.count()), 1e-10);
        }
    }
}

}  // namespace
}  // namespace attn
