/// The logit lens: the last layer equals the model's output bit for bit; all others agree with plain loops in double.

#include "engine/model/logit_lens.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

/// Final norm and output head for one row of the residual stream, written out.
std::vector<double> oracle_logits(const Trace<float>& trace, const float* x) {
    const Config& config = trace.config;
    const auto width = static_cast<std::size_t>(config.d_model), vocab = static_cast<std::size_t>(config.vocab_size);
    const Parameters<float>& parameters = *trace.parameters;
    std::vector<double> y(x, x + width);
    if (config.final_norm) {
        const std::string prefix = config.architecture == Architecture::EncoderDecoder ? "decoder.final_norm" : "final_norm";
        const float *gain = parameters.find(prefix + ".weight"), *bias = parameters.find(prefix + ".bias");
        double mean = 0, variance = 0;
        for (const double v : y) mean += v / static_cast<double>(width);
        for (const double v : y) variance += (v - mean) * (v - mean) / static_cast<double>(width);
        for (std::size_t c = 0; c < width; ++c) y[c] = (y[c] - mean) / std::sqrt(variance + config.layer_norm_eps) * gain[c] + bias[c];
    }
    std::vector<double> logits(vocab);
    const float* table = parameters.find(config.tied_lm_head ? "token_embedding.weight" : "lm_head.weight");
    for (std::size_t v = 0; v < vocab; ++v)
        for (std::size_t c = 0; c < width; ++c) logits[v] += y[c] * table[config.tied_lm_head ? v * width + c : c * vocab + v];
    return logits;
}

double probability(const std::vector<double>& logits, std::size_t token) {
    double sum = 0;
    for (const double l : logits) sum += std::exp(l - logits[token]);
    return 1 / sum;
}

bool close(double a, double b) { return std::abs(a - b) <= 2e-4 * (1 + std::abs(b)); }

void check_cell(const LensCell& cell, const std::vector<double>& expected, std::int32_t next) {
    ASSERT_EQ(cell.count, std::min<int>(kLensPredictions, static_cast<int>(expected.size())));
    EXPECT_EQ(cell.next, next);
    for (std::size_t i = 0; i < static_cast<std::size_t>(cell.count); ++i) {
        const auto token = static_cast<std::size_t>(cell.top[i].token);
        ASSERT_LT(token, expected.size());
        EXPECT_TRUE(close(static_cast<double>(cell.top[i].probability), probability(expected, token)));
        // No clearly likelier token may be missing before it.
        const auto likelier = std::count_if(expected.begin(), expected.end(), [&](double l) { return l > expected[token] + 1e-3; });
        EXPECT_LE(likelier, static_cast<std::ptrdiff_t>(i));
    }
    if (next < 0) {
        EXPECT_EQ(cell.next_rank, 0);
        return;
    }
    const double own = expected[static_cast<std::size_t>(next)];
    EXPECT_TRUE(close(static_cast<double>(cell.next_probability), probability(expected, static_cast<std::size_t>(next))));
    EXPECT_GE(cell.next_rank, 1 + std::count_if(expected.begin(), expected.end(), [&](double l) { return l > own + 1e-3; }));
    EXPECT_LE(cell.next_rank, 1 + std::count_if(expected.begin(), expected.end(), [&](double l) { return l > own - 1e-3; }));
}

TEST(LogitLens, LastLayerIsTheModelAndEveryOtherAgreesWithPlainLoops) {
    int models = 0, differ = 0;
    for (unsigned seed = 0; seed < 80; ++seed) {
        const RandomModel model(seed);
        if (!model.config.lm_head) continue;
        ++models;
        const Trace<float> trace = model.trace<float>();
        const LogitLens lens = logit_lens(trace);
        ASSERT_EQ(lens.stages.size(), static_cast<std::size_t>(model.config.num_layers) + 1);
        const Stack stack = model.config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main;
        const Tensor<float>& recorded = trace.find({Stage::Logits, -1, stack})->value;
        const Tensor<float> last = lens_logits(trace, lens.stages.back()), first = lens_logits(trace, lens.stages.front());
        ASSERT_EQ(last.shape(), recorded.shape());
        bool same = true, same_first = true;
        for (std::int64_t i = 0; i < last.size(); ++i) {
            same &= last.data()[i] == recorded.data()[i];
            same_first &= first.data()[i] == recorded.data()[i];
        }
        EXPECT_TRUE(same) << "seed " << seed;
        differ += !same_first;
        for (std::size_t layer = 0; layer < lens.stages.size(); ++layer) {
            const Tensor<float>& stream = trace.find(lens.stages[layer])->value;
            for (std::int64_t b = 0; b < lens.batches; ++b)
                for (std::int64_t t = 0; t < lens.positions; ++t) {
                    const std::int64_t said = model.config.architecture == Architecture::Encoder ? t : t + 1;
                    const bool follows = said < trace.tokens.lengths[static_cast<std::size_t>(b)];
                    check_cell(lens.at(layer, b, t), oracle_logits(trace, stream.data() + (b * lens.positions + t) * model.config.d_model),
                               follows ? trace.tokens.ids[static_cast<std::size_t>(b * lens.positions + said)] : -1);
                }
        }
    }
    EXPECT_GT(models, 40);
    EXPECT_GT(differ, 20) << "the negative control: the embedding is not the last layer";
}

TEST(LogitLens, DoublesToo) {
    const RandomModel model(3);
    Config config = model.config;
    config.lm_head = true;
    const Trace<double> trace = trace_forward<double>(std::make_shared<const Parameters<double>>(initial_parameters<double>(config)),
                                                      model.tokens, model.source, model.settings);
    const auto stages = lens_stages(config);
    const Tensor<double> last = lens_logits(trace, stages.back());
    const Tensor<double>& recorded =
        trace.find({Stage::Logits, -1, config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main})->value;
    for (std::int64_t i = 0; i < last.size(); ++i) EXPECT_EQ(last.data()[i], recorded.data()[i]);
}

TEST(LogitLens, RefusesWhatItCannotRead) {
    RandomModel model(5);
    model.config.lm_head = false;
    const Trace<float> headless = model.trace<float>();
    EXPECT_THROW(logit_lens(headless), ConfigError);
    model.config.lm_head = true;
    const Trace<float> trace = model.trace<float>();
    EXPECT_THROW(lens_logits(trace, {Stage::Residual2, 99}), Error);
    const Stack stack = model.config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main;
    EXPECT_THROW(lens_logits(trace, {Stage::Weights, 0, stack}), ShapeError);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(logit_lens(trace, stop.get_token()), Cancelled);
}

TEST(LogitLens, ANanLogitLeavesItsPositionWithoutPredictions) {
    RandomModel model(5);
    model.config.lm_head = true;
    Trace<float> trace = model.trace<float>();
    const StageId first = lens_stages(trace.config).front();
    for (auto& stage : trace.stages)
        if (stage.id == first) stage.value.data()[0] = std::nanf("");
    const LogitLens lens = logit_lens(trace);
    EXPECT_EQ(lens.at(0, 0, 0).count, 0);
    if (lens.positions > 1) {
        EXPECT_GT(lens.at(0, 0, 1).count, 0);
    }
    EXPECT_GT(lens.at(1, 0, 0).count, 0);
}

/// Rows are reported from the output downwards, each in its final form.
TEST(LogitLens, TellsEveryRowAsItIsInTheEnd) {
    int rows = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const RandomModel model(seed);
        if (!model.config.lm_head) continue;
        const Trace<float> trace = model.trace<float>();
        const LogitLens whole = logit_lens(trace);
        std::size_t first = whole.stages.size();
        const LogitLens again = logit_lens(trace, {}, [&](const LogitLens& so_far) {
            --first;
            for (std::size_t row = 0; row < whole.stages.size(); ++row) {
                ASSERT_EQ(so_far.known[row] != 0, row >= first);
                for (std::int64_t b = 0; row >= first && b < whole.batches; ++b)
                    for (std::int64_t t = 0; t < whole.positions; ++t, ++rows) {
                        const LensCell &cell = so_far.at(row, b, t), &end = whole.at(row, b, t);
                        ASSERT_EQ(cell.count, end.count);
                        ASSERT_EQ(cell.next_rank, end.next_rank);
                        ASSERT_EQ(cell.next_probability, end.next_probability);
                        for (std::size_t i = 0; i < static_cast<std::size_t>(cell.count); ++i) {
                            ASSERT_EQ(cell.top[i].token, end.top[i].token);
                            ASSERT_EQ(cell.top[i].probability, end.top[i].probability);
                        }
                    }
            }
        });
        EXPECT_EQ(first, 0U);
        EXPECT_EQ(again.known, std::vector<std::uint8_t>(whole.stages.size(), 1));
        std::stop_source stop;
        EXPECT_THROW(logit_lens(trace, stop.get_token(), [&](const LogitLens&) { stop.request_stop(); }), Cancelled);
    }
    EXPECT_GT(rows, 500);
}

}  // namespace
}  // namespace attn
