#include <fmt/format.h>

#include <algorithm>

#include "engine/check/modules.hpp"
#include "engine/check/rounding_reach.hpp"
#include "engine/check/torch_parameters.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/model/transformer.hpp"
#include "engine/train/train_step.hpp"

namespace attn::check {
namespace {

Config gpt2_config(CaseConfig& config) {
    Config out;
    out.vocab_size = config.size("vocab_size");
    out.context_length = config.size("context_length");
    out.d_model = config.size("d_model");
    out.num_heads = config.size("num_heads");
    out.num_layers = config.size("num_layers");
    out.d_ff = config.size("d_ff");
    out.activation = read_activation(config, "tanh");
    out.norm = config.flag("norm_first", true) ? NormPlacement::Pre : NormPlacement::Post;
    if (config.has("layer_norm_eps")) out.layer_norm_eps = config.number("layer_norm_eps", 1e-30, 1.0);
    out.tied_lm_head = config.flag("tied_lm_head", true);
    return out;
}

/// A batch without padding.
TokenBatch full_batch(std::int64_t batches, std::int64_t length, std::vector<std::int32_t> ids) {
    return {length, std::move(ids), std::vector<std::int64_t>(static_cast<std::size_t>(batches), length)};
}

void require_sequences(const CaseFile& file, const char* tensor, const Config& model, std::int64_t batches, std::int64_t length) {
    if (length > model.context_length)
        file.fail(tensor,
                  "has sequences of " + std::to_string(length) + " tokens; the context length is " + std::to_string(model.context_length));
    require_map_fits(file, tensor, {{Axis::B, batches}, {Axis::H, model.num_heads}, {Axis::T, length}, {Axis::S, length}});
}

/// A training run as a file describes it.
struct RunCase {
    std::int64_t steps, batches, length;
    std::vector<std::int32_t> ids;  ///< [steps,batches,length + 1]
    TrainSettings settings;
};

RunCase read_run(const CaseFile& file, CaseConfig& config, const Config& model) {
    const std::vector<std::int64_t> sizes = file.sizes("in.batches", 3);
    RunCase run{sizes[0], sizes[1], sizes[2] - 1, {}, {}};
    if (const std::int64_t steps = config.size("steps"); steps != run.steps)
        config.fail("steps", fmt::format("is {}, but in.batches has batches for {} steps", steps, run.steps));
    if (run.length < 1) file.fail("in.batches", "has sequences of " + std::to_string(sizes[2]) + " tokens; expected at least 2");
    require_sequences(file, "in.batches", model, run.batches, run.length);
    run.ids = file.ids("in.batches", sizes, model.vocab_size);
    const auto [beta1, beta2] = config.pair("betas", 0.0, 1.0);
    if (beta1 == 1 || beta2 == 1) config.fail("betas", fmt::format("is [{}, {}]; expected numbers below 1", beta1, beta2));
    run.settings.adamw = {beta1, beta2, config.number("eps", 1e-30, 1.0), config.number("weight_decay", 0.0, 1e6), true};
    run.settings.schedule.rate = config.number("lr", 0.0, 1e6);
    run.settings.clip_norm = config.number("clip", 0.0, 1e30);
    run.settings.forward.masks.causal = true;
    return run;
}

/// Runs every step: a sequence without its last token is the input, without its first token the targets.
template <class Scalar, class AfterStep>
void train(TrainingState<Scalar>& state, const RunCase& run, const AfterStep& after_step) {
    for (std::int64_t step = 0; step < run.steps; ++step) {
        std::vector<std::int32_t> inputs, targets;
        for (std::int64_t b = 0; b < run.batches; ++b) {
            const auto row = run.ids.begin() + (step * run.batches + b) * (run.length + 1);
            inputs.insert(inputs.end(), row, row + run.length);
            targets.insert(targets.end(), row + 1, row + 1 + run.length);
        }
        after_step(state.step(full_batch(run.batches, run.length, std::move(inputs)), {}, targets, run.settings));
    }
}

}  // namespace

template <class Scalar>
void check_gpt2(CaseFile& file, CaseConfig& config) {
    const Config model = validated(file, gpt2_config(config));
    const std::vector<std::int64_t>& sizes = file.sizes("in.tokens", 2);
    require_sequences(file, "in.tokens", model, sizes[0], sizes[1]);
    const TokenBatch tokens = full_batch(sizes[0], sizes[1], file.ids("in.tokens", sizes, model.vocab_size));
    const std::vector<ParameterLink> links = gpt2_links(model);
    const auto parameters = std::make_shared<const Parameters<Scalar>>(load_parameters<Scalar>(file, model, links));
    ForwardSettings settings;
    settings.masks.causal = true;
    const Trace<Scalar> trace = trace_forward<Scalar>(parameters, tokens, {}, settings);
    for (int layer = 0; layer < static_cast<int>(model.num_layers); ++layer)
        file.compare("out.h." + std::to_string(layer) + ".attn.weights", trace.find({Stage::Weights, layer})->value);

    // Logits and loss by the fused path that training takes; a trace computes stages one by one.
    ModelPass<Scalar> pass(*parameters);
    Tap<Scalar> tap;
    pass.forward(tokens, {}, settings, tap);
    file.compare("out.logits", pass.logits());
    const double loss = pass.loss(file.ids("in.targets", sizes, model.vocab_size)).loss;
    file.compare<double>("out.loss", Shape{{Axis::N, 1}}, std::span<const double>(&loss, 1));
    const bool has_gradients =
        std::any_of(file.arrays().begin(), file.arrays().end(), [](const NamedArray& array) { return array.name.starts_with("grad."); });
    if (!has_gradients) return;
    pass.backward(tap);
    compare_parameters(file, links, "grad.param.", pass.gradients().layout(), pass.gradients().data());
}

template <class Scalar>
void check_train_gpt2(CaseFile& file, CaseConfig& config) {
    const Config model = validated(file, gpt2_config(config));
    const RunCase run = read_run(file, config, model);
    const std::vector<ParameterLink> links = gpt2_links(model);
    const Parameters<Scalar> start = load_parameters<Scalar>(file, model, links);
    TrainingState<Scalar> state(start);
    RoundingReach reach(state.parameters().layout());
    std::vector<double> losses, norms;
    train(state, run, [&](const StepResult& result) {
        reach.add_step(state, result, run.settings);
        losses.push_back(result.loss);
        norms.push_back(result.gradient_norm);
    });
    for (std::uint64_t seed = 0; seed < kPerturbedRuns; ++seed) {
        TrainingState<Scalar> other(perturbed(start, seed));
        train(other, run, [](const StepResult&) {});
        reach.add_run(state.parameters(), other.parameters());
    }
    const Shape per_step{{Axis::N, run.steps}};
    constexpr Tolerance kLosses{0, 1e-4};
    file.compare<double>("out.grad_norms", per_step, norms);
    compare_parameters(file, links, "out.param.", state.parameters().layout(), state.parameters().data(), reach.values().data());
    file.set_tolerance(kLosses);
    file.compare<double>("out.losses", per_step, losses);
}

template void check_gpt2<float>(CaseFile&, CaseConfig&);
template void check_gpt2<double>(CaseFile&, CaseConfig&);
template void check_train_gpt2<float>(CaseFile&, CaseConfig&);
template void check_train_gpt2<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
