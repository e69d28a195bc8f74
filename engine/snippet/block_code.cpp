/// What stands around attention in a block: norms, residuals, feed-forward; and the final norm.

#include <fmt/format.h>

#include "engine/snippet/script.hpp"
#include "engine/trace/wiring.hpp"

namespace attn::snippet {
namespace {

void write_norm(Script& script) {
    const StageId& id = script.id();
    const std::string name = script.result_name(), x = script.operand(stage_inputs(script.config(), id).at(0));
    const std::string gamma = script.parameter(parameter_prefix(id) + name + ".weight", "gamma");
    const std::string beta = script.parameter(parameter_prefix(id) + name + ".bias", "beta");
    const std::string eps = fmt::format("{}", script.config().layer_norm_eps);
    if (script.torch()) {
        script.needs_functional();
        return script.line(fmt::format("{} = F.layer_norm({}, ({},), {}, {}, eps={})", name, x, script.size(Axis::C), gamma, beta, eps));
    }
    script.line(fmt::format("mean = {}.mean(axis=-1, keepdims=True)", x));
    script.line(fmt::format("variance = {}.var(axis=-1, keepdims=True)", x));
    script.line(fmt::format("{} = {} * ({} - mean) / np.sqrt(variance + {}) + {}", name, gamma, x, eps, beta));
}

void write_residual(Script& script) {
    const StageId& id = script.id();
    const auto inputs = stage_inputs(script.config(), id);
    const std::string stream = script.operand(inputs.at(0)), added = script.operand(inputs.at(1));
    const double rate = script.trace().settings.dropout.residual;
    if (rate == 0) return script.line(fmt::format("{} = {} + {}", script.result_name(), stream, added));
    // The pattern belongs to the sub-layer, not to the tensor: without W_O it still is that of attention_out.
    const Stage site = id.stage == Stage::Residual1   ? Stage::AttentionOut
                       : id.stage == Stage::Residual2 ? Stage::FfnOut
                                                      : Stage::CrossAttentionOut;
    write_dropout(script, "added", added, rate, {site, id.layer, id.stack});
    script.line(fmt::format("{} = {} + added", script.result_name(), stream));
}

void write_linear(Script& script, const char* part, const char* number) {
    const StageId& id = script.id();
    const std::string x = script.operand(stage_inputs(script.config(), id).at(0)), name = parameter_prefix(id) + "ffn." + part;
    const std::string weight = script.parameter(name + ".weight", std::string("W_") + number);
    const std::string bias = script.parameter(name + ".bias", std::string("b_") + number);
    script.line(fmt::format("{} = {} @ {} + {}", script.result_name(), x, weight, bias));
}

void write_activation(Script& script) {
    const std::string name = script.result_name(), x = script.operand(stage_inputs(script.config(), script.id()).at(0));
    script.needs_functional();
    switch (script.config().activation) {
    case Activation::Relu:
        return script.line(fmt::format("{} = np.maximum({}, 0)  # ReLU", name, x), fmt::format("{} = F.relu({})", name, x));
    case Activation::GeluErf:
        if (!script.torch()) {
            script.needs_erf();
            script.line("erf = np.vectorize(math.erf)");
        }
        return script.line(fmt::format("{0} = 0.5 * {1} * (1 + erf({1} / np.sqrt(2)))  # GELU", name, x),
                           fmt::format("{} = F.gelu({})", name, x));
    case Activation::GeluTanh:
        if (!script.torch()) script.line(fmt::format("inner = np.sqrt(2 / np.pi) * ({0} + 0.044715 * {0}**3)", x));
        return script.line(fmt::format("{} = 0.5 * {} * (1 + np.tanh(inner))  # GELU by its tanh formula", name, x),
                           fmt::format("{} = F.gelu({}, approximate=\"tanh\")", name, x));
    }
}

}  // namespace

void write_block_code(Script& script) {
    switch (script.id().stage) {
    case Stage::Residual1:
    case Stage::Residual2:
    case Stage::CrossResidual:
        return write_residual(script);
    case Stage::FfnHidden:
        return write_linear(script, "in", "1");
    case Stage::FfnActivation:
        return write_activation(script);
    case Stage::FfnOut:
        return write_linear(script, "out", "2");
    default:
        return write_norm(script);
    }
}

}  // namespace attn::snippet
