#include <gtest/gtest.h>

#include <random>

#include "engine/attention/fused_attention.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/activation.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/layer_norm.hpp"
#include "engine/ops/linear.hpp"
#include "tests/engine/gradient_check.hpp"

namespace attn {
namespace {

using Values = std::vector<double>;

class Gradients : public testing::Test {
protected:
    Values draw(std::int64_t n) {
        std::normal_distribution<double> normal;
        Values out(static_cast<std::size_t>(n));
        for (double& x : out) x = normal(random_);
        return out;
    }
    Tensor<double> draw(const Shape& shape) {
        Tensor<double> out(shape);
        const Values values = draw(shape.count());
        std::copy(values.begin(), values.end(), out.data());
        return out;
    }
    static double project(std::span<const double> r, std::span<const double> y) {
        double sum = 0;
        for (std::size_t i = 0; i < r.size(); ++i) sum += r[i] * y[i];
        return sum;
    }
    std::mt19937 random_{11};
};

TEST_F(Gradients, TheCheckCatchesABrokenGradientAndNan) {
    Values x{0.3, -1.2};
    const auto loss = [&] { return x[0] * x[0] * x[1]; };
    EXPECT_LE(worst_gradient_error(x, Values{2 * 0.3 * -1.2, 0.09}, loss), 1e-9);
    EXPECT_GT(worst_gradient_error(x, Values{2 * 0.3 * -1.2 * 1.0001, 0.09}, loss), kGradientTolerance);
    EXPECT_GT(worst_gradient_error(x, Values{2 * 0.3 * -1.2, -0.09}, loss), kGradientTolerance);
    EXPECT_GT(worst_gradient_error(x, Values{std::nan(""), 0.09}, loss), kGradientTolerance);
    EXPECT_GT(worst_gradient_error(x, Values{2 * 0.3 * -1.2, 0.09}, [] { return std::nan(""); }), kGradientTolerance);
}

TEST_F(Gradients, OfLinear) {
    for (const auto& [rows, in, out] : {std::array{1, 1, 1}, std::array{5, 3, 4}, std::array{70, 2, 9}}) {
        Values x = draw(rows * in), w = draw(in * out), b = draw(out), y(static_cast<std::size_t>(rows * out)), r = draw(rows * out);
        const auto loss = [&, rows = rows, in = in, out = out] {
            linear(x.data(), rows, in, out, w.data(), b.data(), y.data());
            return project(r, y);
        };
        Values dx(x.size()), dw(w.size()), db(b.size());
        linear_backward(r.data(), x.data(), rows, in, out, w.data(), dx.data(), dw.data(), db.data());
        EXPECT_LE(worst_gradient_error(x, dx, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(w, dw, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(b, db, loss), kGradientTolerance);
        const auto tied_loss = [&, rows = rows, in = in, out = out] {
            linear_tied(x.data(), rows, in, out, w.data(), y.data());
            return project(r, y);
        };
        Values dtable(w.size());
        linear_tied_backward(r.data(), x.data(), rows, in, out, w.data(), dx.data(), dtable.data());
        EXPECT_LE(worst_gradient_error(x, dx, tied_loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(w, dtable, tied_loss), kGradientTolerance);
    }
}

TEST_F(Gradients, OfLayerNorm) {
    for (const auto& [rows, n] : {std::array{1, 1}, std::array{3, 7}, std::array{80, 5}, std::array{2, 33}}) {
        Values x = draw(rows * n), gain = draw(n), bias = draw(n), plus = draw(rows * n), r = draw(rows * n);
        Values y(x.size()), mean(static_cast<std::size_t>(rows)), rstd(mean);
        const auto loss = [&, rows = rows, n = n] {
            layer_norm(x.data(), rows, n, gain.data(), bias.data(), 1e-2, y.data(), mean.data(), rstd.data());
            return project(r, y) + project(plus, x);
        };
        loss();
        Values dx(x.size()), dgain(gain.size()), dbias(bias.size());
        layer_norm_backward<double>(r.data(), x.data(), rows, n, gain.data(), mean.data(), rstd.data(),
                                    {dx.data(), dgain.data(), dbias.data(), plus.data()});
        EXPECT_LE(worst_gradient_error(x, dx, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(gain, dgain, loss), kGradientTolerance);
        EXPECT_LE(worst_gradient_error(bias, dbias, loss), kGradientTolerance);
    }
}

TEST_F(Gradients, OfActivations) {
    for (const Activation activation : {Activation::Relu, Activation::GeluErf, Activation::GeluTanh}) {
        Values x = draw(37), y(37), r = draw(37), dx(37);
        for (double& v : x) v += v < 0 ? -0.01 : 0.01;  // away from ReLU's corner
        const auto loss = [&] {
            activate(activation, x.data(), 37, y.data());
            return project(r, y);
        };
        activate_backward(activation, x.data(), r.data(), 37, dx.data());
        EXPECT_LE(worst_gradient_error(x, dx, loss), kGradientTolerance);
    }
}

TEST_F(Gradients, OfEmbedding) {
    const std::vector<std::int32_t> ids{2, 0, 2, 1};
    Values table = draw(4 * 3), y(4 * 3), r = draw(4 * 3), dtable(4 * 3);
    const auto loss = [&] {
        embed<double>(ids, table.data(), 3, y.data());
        return project(r, y);
    };
    embed_backward<double>(ids, r.data(), 3, dtable.data());
    EXPECT_LE(worst_gradient_error(table, dtable, loss), kGradientTolerance);
}

TEST_F(Gradients, OfCrossEntropyWithIgnoredTargets) {
    for (const std::vector<std::int32_t>& targets :
         {std::vector<std::int32_t>{3, kIgnoredTarget, 0}, {kIgnoredTarget, kIgnoredTarget, kIgnoredTarget}}) {
        Values logits = draw(3 * 21), d(logits.size(), 9);
        std::vector<RowLoss> rows(3);
        const auto loss = [&] { return cross_entropy<double>(logits.data(), targets, 21, rows, nullptr).loss; };
        const CrossEntropy result = cross_entropy<double>(logits.data(), targets, 21, rows, d.data());
        EXPECT_LE(worst_gradient_error(logits, d, loss), kGradientTolerance);
        EXPECT_EQ(result.counted, targets[0] == 3 ? 2 : 0);
        for (std::size_t i = 21; i < 42; ++i) EXPECT_EQ(d[i], 0);
        EXPECT_TRUE(result.counted > 0 || result.loss == 0);
    }
}

TEST(CrossEntropyEdges, StaysFiniteAndRefusesBadTargets) {
    std::vector<float> logits{1e4F, 0, -1e4F};
    std::vector<RowLoss> rows(1);
    EXPECT_EQ(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{2}, 3, rows, nullptr).loss, 2e4);
    EXPECT_EQ(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{0}, 3, rows, nullptr).loss, 0);
    EXPECT_THROW(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{3}, 3, rows, nullptr), Error);
    EXPECT_THROW(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{-2}, 3, rows, nullptr), Error);
    EXPECT_THROW(cross_entropy<float>(logits.data(), std::vector<std::int32_t>{0}, 3, {}, nullptr), ShapeError);
}

// --- attention -------------------------------------------------------------------------------------------------------------

/// q, k, v of random numbers under a mask, stage by stage.
struct Stages {
    Tensor<double> q, k, v, scores, scaled, masked, weights, dropped, context;
};

std::vector<Mask> masks_for(std::int64_t t, std::int64_t s) {
    std::vector<double> bias(static_cast<std::size_t>(t * s));
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = i % 5 == 3 ? -HUGE_VAL : 0.1 * static_cast<double>(i % 7);
    Mask row_masked(t, s);
    for (std::int64_t j = 0; j < s; ++j) row_masked.forbid(t / 2, j);
    return {Mask(t, s), Mask::causal(t, s), Mask::padding({s, std::max<std::int64_t>(1, s - 2)}, t, s), row_masked,
            Mask::from_additive({t, s}, bias, {2, 3, t, s})};
}

class AttentionGradientsTest : public Gradients {
protected:
    static void run(Stages& a, const Mask& mask, const DropoutPattern& pattern, const AttentionSizes& sizes) {
        attention_scores(a.q, a.k, sizes, a.scores);
        scale_scores(a.scores, 0.7, a.scaled);
        mask_scores(a.scaled, mask, sizes, a.masked);
        from_masked(a, mask, pattern, sizes);
    }
    static void from_masked(Stages& a, const Mask& mask, const DropoutPattern& pattern, const AttentionSizes& sizes) {
        attention_weights(a.masked, mask, 1.3, sizes, a.weights);
        from_weights(a, mask, pattern, sizes);
    }
    static void from_weights(Stages& a, const Mask& mask, const DropoutPattern& pattern, const AttentionSizes& sizes) {
        a.dropped.resize(a.weights.shape());
        dropout(pattern, a.weights.data(), a.weights.size(), a.dropped.data());
        attention_context(a.dropped, a.v, mask, sizes, a.context);
    }
    static Stages backward(const Stages& a, const Tensor<double>& dcontext, const Mask& mask, const DropoutPattern& pattern,
                           const AttentionSizes& sizes) {
        Stages g;
        g.context = dcontext;
        attention_context_backward(g.context, a.dropped, a.v, mask, sizes, g.dropped, g.v);
        g.weights.resize(g.dropped.shape());
        dropout(pattern, g.dropped.data(), g.dropped.size(), g.weights.data());
        attention_weights_backward(g.weights, a.weights, mask, 1.3, sizes, g.masked);
        scale_scores(g.masked, 0.7, g.scores);
        attention_scores_backward(g.scores, a.q, a.k, mask, sizes, g.q, g.k);
        return g;
    }
};

TEST_F(AttentionGradientsTest, OfEveryStage) {
    for (const auto& [t, s] : {std::array<std::int64_t, 2>{1, 1}, {4, 4}, {3, 6}, {5, 2}})
        for (const Mask& mask : masks_for(t, s))
            for (const double rate : {0.0, 0.4, 1.0}) {
                const DropoutPattern pattern(rate, 3, {Stage::Dropped, 0});
                Stages a;
                a.q = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::T, t}, {Axis::D, 4}});
                a.k = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 4}});
                a.v = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 5}});
                const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
                const Tensor<double> r = draw(sizes.context_shape());
                run(a, mask, pattern, sizes);
                const Stages g = backward(a, r, mask, pattern, sizes);
                const auto whole = [&] { return run(a, mask, pattern, sizes), project(r.values(), a.context.values()); };
                EXPECT_LE(worst_gradient_error(a.q.values(), g.q.values(), whole), kGradientTolerance);
                EXPECT_LE(worst_gradient_error(a.k.values(), g.k.values(), whole), kGradientTolerance);
                EXPECT_LE(worst_gradient_error(a.v.values(), g.v.values(), whole), kGradientTolerance);
                run(a, mask, pattern, sizes);
                // Moving -inf by a step changes nothing: its gradient has to be 0.
                const auto masked = [&] { return from_masked(a, mask, pattern, sizes), project(r.values(), a.context.values()); };
                EXPECT_LE(worst_gradient_error(a.masked.values(), g.masked.values(), masked), kGradientTolerance);
                run(a, mask, pattern, sizes);
                const auto weights = [&] {
                    // A forbidden cell takes no part, so that moving its weight may change nothing.
                    for (std::int64_t i = 0; i < a.weights.size(); ++i)
                        if (std::isinf(a.masked.data()[i])) a.weights.data()[i] = 0;
                    from_weights(a, mask, pattern, sizes);
                    return project(r.values(), a.context.values());
                };
                EXPECT_LE(worst_gradient_error(a.weights.values(), g.weights.values(), weights), kGradientTolerance);
            }
}

TEST_F(AttentionGradientsTest, AreExactlyZeroInFullyMaskedRowsAndUntouchedByABadForbiddenKey) {
    const std::int64_t n = 5;
    Mask mask = Mask::causal(n, n);
    for (std::int64_t s = 0; s < n; ++s) mask.forbid(2, s);
    const DropoutPattern pattern(0, 0, {});
    Stages a;
    const Shape shape{{Axis::B, 1}, {Axis::H, 1}, {Axis::T, n}, {Axis::D, 3}};
    a.q = draw(shape), a.k = draw(shape), a.v = draw(shape);
    const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
    const Tensor<double> r = draw(sizes.context_shape());
    run(a, mask, pattern, sizes);
    const Stages clean = backward(a, r, mask, pattern, sizes);
    for (std::int64_t s = 0; s < n; ++s) {
        EXPECT_EQ(clean.scores(0, 0, 2, s), 0);
        EXPECT_EQ(clean.dropped(0, 0, 2, s), 0);
    }
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(clean.q(0, 0, 2, d), 0);
    for (const double bad : {std::nan(""), HUGE_VAL}) {
        Stages b = a;
        b.k(0, 0, 4, 1) = b.v(0, 0, 4, 2) = bad;  // only the last query may see the last key
        run(b, mask, pattern, sizes);
        const Stages g = backward(b, r, mask, pattern, sizes);
        for (std::int64_t t = 0; t < 4; ++t)
            for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(g.q(0, 0, t, d), clean.q(0, 0, t, d));
    }
}

TEST_F(AttentionGradientsTest, OneTokenGivesNoGradientToQueryAndKey) {
    Stages a;
    const Shape shape{{Axis::B, 1}, {Axis::H, 1}, {Axis::T, 1}, {Axis::D, 3}};
    a.q = draw(shape), a.k = draw(shape), a.v = draw(shape);
    const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
    const DropoutPattern pattern(0, 0, {});
    const Mask mask(1, 1);
    run(a, mask, pattern, sizes);
    const Stages g = backward(a, draw(sizes.context_shape()), mask, pattern, sizes);
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_TRUE(g.q(0, 0, 0, d) == 0 && g.k(0, 0, 0, d) == 0);
}

TEST_F(AttentionGradientsTest, FusedAttentionEqualsTheStages) {
    for (const auto& [t, s] : {std::array<std::int64_t, 2>{1, 1}, {4, 4}, {3, 17}, {70, 70}, {130, 61}, {50, 120}})
        for (const Mask& mask : masks_for(t, s))
            for (const double rate : {0.0, 0.3}) {
                const DropoutPattern pattern(rate, 3, {Stage::Dropped, 0});
                Stages a;
                a.q = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::T, t}, {Axis::D, 4}});
                a.k = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 4}});
                a.v = draw({{Axis::B, 2}, {Axis::H, 3}, {Axis::S, s}, {Axis::D, 5}});
                const AttentionSizes sizes = attention_sizes(a.q, a.k, a.v);
                const Tensor<double> r = draw(sizes.context_shape());
                run(a, mask, pattern, sizes);
                const Stages g = backward(a, r, mask, pattern, sizes);
                const auto view = [](auto& tensor) {
                    using Value = std::remove_pointer_t<decltype(tensor.data())>;
                    const Shape& shape = tensor.shape();
                    const std::int64_t row = shape[3].size, head = row * shape[2].size;
                    return HeadsView<Value>{tensor.data(), head * shape[1].size, head, row};
                };
                const auto constant = [&](const Tensor<double>& tensor) { return view(tensor); };
                Tensor<double> weights, dropped, context(sizes.context_shape()), dq(a.q.shape()), dk(a.k.shape()), dv(a.v.shape());
                const AttentionRule rule{mask, 0.7, 1.3, pattern};
                fused_attention<double>(constant(a.q), constant(a.k), constant(a.v), rule, sizes, weights, dropped, view(context));
                fused_attention_backward<double>(constant(r), constant(a.q), constant(a.k), constant(a.v), weights, dropped, rule, sizes,
                                                 {view(dq), view(dk), view(dv)});
                const auto expect_equal = [&, t = t, s = s](const Tensor<double>& x, const Tensor<double>& y, const char* what) {
                    for (std::int64_t i = 0; i < x.size(); ++i)
                        ASSERT_TRUE(std::abs(x.data()[i] - y.data()[i]) <= 1e-12) << what << " " << i << " T=" << t << " S=" << s;
                };
                expect_equal(weights, a.weights, "weights");
                expect_equal(context, a.context, "context");
                expect_equal(dq, g.q, "dq");
                expect_equal(dk, g.k, "dk");
                expect_equal(dv, g.v, "dv");
            }
}

// --- whole models ----------------------------------------------------------------------------------------------------------

struct Case {
    std::string name;
    Config config;
    ForwardSettings settings;
};

std::vector<Case> cases() {
    std::vector<Case> out;
    Config base;
    base.vocab_size = 7;
    base.context_length = 6;
    base.d_model = 6;
    base.num_heads = 2;
    base.d_ff = 5;
    base.num_layers = 2;
    base.layer_norm_eps = 1e-2;
    const auto with = [&](std::string name, auto change) {
        Case next{std::move(name), base, {}};
        next.settings.masks.causal = true;
        change(next);
        out.push_back(next);
    };
    with("pre-norm", [](Case&) {});
    with("post-norm", [](Case& c) { c.config.norm = NormPlacement::Post, c.config.activation = Activation::GeluErf; });
    with("no norm", [](Case& c) { c.config.norm = NormPlacement::None, c.config.final_norm = false; });
    with("untied", [](Case& c) { c.config.tied_lm_head = false, c.config.position = PositionKind::Sinusoidal; });
    with("no residual", [](Case& c) { c.config.residual = false, c.config.num_layers = 1; });
    with("no residual, post-norm", [](Case& c) { c.config.residual = false, c.config.norm = NormPlacement::Post; });
    with("no projection", [](Case& c) { c.config.output_projection = false; });
    with("no projection, no residual, post-norm", [](Case& c) {
        c.config.output_projection = c.config.residual = false;
        c.config.norm = NormPlacement::Post;
    });
    with("no feed-forward", [](Case& c) { c.config.feed_forward = false; });
    with("no biases, wide heads", [](Case& c) { c.config.qkv_bias = c.config.output_bias = false, c.config.d_head = 5; });
    with("dropout", [](Case& c) { c.settings.dropout = {.attention = 0.3, .residual = 0.2, .embedding = 0.2, .seed = 4}; });
    with("dropout, post-norm", [](Case& c) {
        c.config.norm = NormPlacement::Post;
        c.settings.dropout = {.attention = 0.3, .residual = 0.2, .embedding = 0.2, .seed = 4};
    });
    with("a fully masked row, temperature", [](Case& c) {
        c.settings.masks = {};
        c.settings.temperature = 0.6;
        for (int s = 0; s < 6; ++s) c.settings.masks.painted.push_back({1, s});
    });
    for (const NormPlacement norm : {NormPlacement::None, NormPlacement::Pre, NormPlacement::Post})
        with("encoder-decoder", [norm](Case& c) {
            c.config.architecture = Architecture::EncoderDecoder;
            c.config.norm = norm;
            c.config.num_layers = norm == NormPlacement::None ? 1 : 2;
            c.config.final_norm = norm == NormPlacement::Pre;
        });
    with("encoder-decoder without feed-forward", [](Case& c) {
        c.config.architecture = Architecture::EncoderDecoder;
        c.config.feed_forward = c.config.final_norm = false;
    });
    return out;
}

const TokenBatch kTokens{5, {1, 4, 2, 6, 3, 5, 5, 0, 0, 0}, {5, 3}};
const TokenBatch kSource{4, {2, 3, 1, 6, 4, 4, 0, 0}, {4, 2}};
const std::vector<std::int32_t> kTargets{4, 2, 6, 3, 0, 5, 1, kIgnoredTarget, kIgnoredTarget, kIgnoredTarget};

TEST(ModelGradients, OfEveryParameter) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        Parameters<double> parameters = initial_parameters<double>(c.config);
        const auto trace = trace_gradients<double>(parameters, kTokens, kSource, kTargets, c.settings);
        ModelPass<double> pass(parameters);
        Tap<double> none;
        const auto loss = [&] {
            pass.forward(kTokens, kSource, c.settings, none);
            return pass.loss(kTargets).loss;
        };
        EXPECT_NEAR(loss(), trace.loss, 1e-14);
        EXPECT_EQ(trace.counted, 7);
        for (const ParameterInfo& info : parameters.layout().entries()) {
            const std::size_t n = static_cast<std::size_t>(info.shape.count());
            const double worst =
                worst_gradient_error({parameters.data() + info.offset, n}, {trace.parameters->data() + info.offset, n}, loss);
            EXPECT_TRUE(worst <= kGradientTolerance) << info.name << " " << worst;
        }
    }
}

TEST(ModelGradients, AreTheSameFusedAndStageByStage) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Parameters<double> parameters = initial_parameters<double>(c.config);
        const auto staged = trace_gradients<double>(parameters, kTokens, kSource, kTargets, c.settings);
        ModelPass<double> pass(parameters);
        Tap<double> none;
        for (int round = 0; round < 2; ++round) {  // the second in memory that the first has used
            pass.forward(kTokens, kSource, c.settings, none);
            pass.loss(kTargets);
            pass.backward(none);
            for (std::int64_t i = 0; i < parameters.count(); ++i)
                ASSERT_TRUE(std::abs(pass.gradients().data()[i] - staged.parameters->data()[i]) <= 1e-13) << i;
        }
    }
}

/// Every stage of the forward pass but the tokens has a gradient of its shape, in the same order.
TEST(ModelGradients, CoverEveryStage) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const auto parameters = std::make_shared<const Parameters<double>>(initial_parameters<double>(c.config));
        const auto values = trace_forward<double>(parameters, kTokens, kSource, c.settings);
        const auto gradients = trace_gradients<double>(*parameters, kTokens, kSource, kTargets, c.settings);
        std::size_t at = 0;
        for (const auto& stage : values.stages) {
            if (stage.id.stage == Stage::Tokens) continue;
            ASSERT_LT(at, gradients.stages.size());
            EXPECT_EQ(tensor_name(gradients.stages[at].id), tensor_name(stage.id));
            EXPECT_EQ(gradients.stages[at].value.shape(), stage.value.shape()) << tensor_name(stage.id);
            EXPECT_EQ(gradients.stages[at].mask != nullptr, stage.mask != nullptr);
            ++at;
        }
        EXPECT_EQ(at, gradients.stages.size());
    }
}

/// A bias is added to every row of a stage: its gradient, checked above by differences, is the sum of the stage's.
TEST(ModelGradients, OfStagesSumUpToThoseOfTheirBiases) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        if (c.config.architecture == Architecture::EncoderDecoder) continue;
        const Parameters<double> parameters = initial_parameters<double>(c.config);
        const auto trace = trace_gradients<double>(parameters, kTokens, kSource, kTargets, c.settings);
        const auto expect_sum = [&](Stage stage, const std::string& name) {
            const auto* recorded = trace.find({stage, is_layer_stage(stage) ? 0 : -1});
            const double* bias = trace.parameters->find(name);
            if (recorded == nullptr || bias == nullptr) return;
            const std::int64_t width = recorded->value.shape()[recorded->value.shape().rank() - 1].size;
            for (std::int64_t i = 0; i < width; ++i) {
                double sum = 0;
                for (std::int64_t at = i; at < recorded->value.size(); at += width) sum += recorded->value.data()[at];
                EXPECT_NEAR(sum, bias[i], 1e-13) << name;
            }
        };
        expect_sum(Stage::Norm1, "layers.0.norm_1.bias");
        expect_sum(Stage::AttentionOut, "layers.0.attention.out.bias");
        expect_sum(Stage::Norm2, "layers.0.norm_2.bias");
        expect_sum(Stage::FfnHidden, "layers.0.ffn.in.bias");
        expect_sum(Stage::FfnOut, "layers.0.ffn.out.bias");
        expect_sum(Stage::FinalNorm, "final_norm.bias");
    }
}

TEST(ModelGradients, AreZeroWhenThereIsNothingToPredict) {
    const Parameters<float> parameters = initial_parameters<float>(cases()[0].config);
    const auto trace = trace_gradients<float>(parameters, kTokens, {}, std::vector<std::int32_t>(10, kIgnoredTarget), {});
    EXPECT_EQ(trace.counted, 0);
    EXPECT_EQ(trace.loss, 0);
    for (std::int64_t i = 0; i < parameters.count(); ++i) ASSERT_EQ(trace.parameters->data()[i], 0);
    EXPECT_THROW(trace_gradients<float>(parameters, kTokens, {}, std::vector<std::int32_t>(9, 0), {}), ShapeError);
}

}  // namespace
}  // namespace attn
