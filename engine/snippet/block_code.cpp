/// Snippets for linear maps, norms, sums and activations.

#include <fmt/format.h>

#include "engine/snippet/script.hpp"

namespace attn::snippet {
void write_norm(Script& script) {
    const std::string name = script.result_name(), x = script.input();
    const OpSettings& settings = script.node().settings;
    const std::string eps = fmt::format("{}", settings.eps);
    std::string gamma = script.parameter(script.node().weight, "gamma");
    if (settings.norm_kind != NormKind::LayerNorm) {
        if (settings.norm_kind == NormKind::RmsPlusOne) {
            script.remark("What is stored is the gain minus 1.");
            gamma = "(1 + " + gamma + ")";
        }
        std::string numpy_axis = "-1", torch_axis = "-1";
        if (settings.all_heads) {
            script.remark("The mean is over the numbers of all heads.");
            numpy_axis = torch_axis = "(1, 3)";
            gamma += fmt::format(".reshape({}, 1, {})", script.result().value.shape()[1].size, script.result().value.shape()[3].size);
        }
        script.line(fmt::format("mean_square = ({0} * {0}).mean(axis={1}, keepdims=True)", x, numpy_axis),
                    fmt::format("mean_square = ({0} * {0}).mean(dim={1}, keepdim=True)", x, torch_axis));
        return script.line(fmt::format("{} = {} * {} / np.sqrt(mean_square + {})", name, gamma, x, eps),
                           fmt::format("{} = {} * {} * torch.rsqrt(mean_square + {})", name, gamma, x, eps));
    }
    const std::string beta = script.parameter(script.node().bias, "beta");
    if (script.torch()) {
        script.needs_functional();
        return script.line(fmt::format("{} = F.layer_norm({}, ({},), {}, {}, eps={})", name, x, script.size(Axis::C), gamma, beta, eps));
    }
    script.line(fmt::format("mean = {}.mean(axis=-1, keepdims=True)", x));
    script.line(fmt::format("variance = {}.var(axis=-1, keepdims=True)", x));
    script.line(fmt::format("{} = {} * ({} - mean) / np.sqrt(variance + {}) + {}", name, gamma, x, eps, beta));
}

void write_add(Script& script) {
    const PlanNode& node = script.node();
    const DropoutSettings& dropout = script.trace().settings.dropout;
    if (node.id.stage == Stage::Embedding) {
        std::string sum;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) sum += (i == 0 ? "" : " + ") + script.input(i);
        return write_dropout(script, script.result_name(), sum, dropout.embedding, node.dropout_site);
    }
    const std::string stream = script.input(0), added = script.input(1);
    if (dropout.residual == 0) return script.line(fmt::format("{} = {} + {}", script.result_name(), stream, added));
    write_dropout(script, "added", added, dropout.residual, node.dropout_site);
    script.line(fmt::format("{} = {} + added", script.result_name(), stream));
}

void write_linear(Script& script) {
    const PlanNode& node = script.node();
    const bool from_memory = node.id.attention == kCrossAttention && node.has_heads() && node.id.stage != Stage::Q;
    const std::string x = script.operand(node.inputs.at(0), from_memory ? "memory" : ""), letter(linear_subscript(node.id.stage));
    std::string product;
    if (node.weight.transposed) {
        script.remark("The head is the token embedding, transposed.");
        product = x + " @ " + script.parameter(node.weight, "E") + ".T";
    } else {
        product = x + " @ " + script.parameter(node.weight, "W_" + letter);
    }
    if (!node.bias.empty()) product += " + " + script.parameter(node.bias, "b_" + letter);
    const std::string name = script.result_name();
    if (!node.has_heads()) return script.line(name + " = " + product);
    const Shape& shape = script.result().value.shape();
    const std::string heads = axis_letter(shape[1].axis);
    script.line(fmt::format("B, T, {}, D = {}, {}, {}, {}", heads, shape[0].size, shape[2].size, shape[1].size, shape[3].size));
    script.line(fmt::format("{} = ({}).reshape(B, T, {}, D).transpose(0, 2, 1, 3)", name, product, heads),
                fmt::format("{} = ({}).view(B, T, {}, D).transpose(1, 2)", name, product, heads));
}

void write_activate(Script& script) {
    const std::string name = script.result_name(), x = script.input();
    script.needs_functional();
    switch (script.node().settings.activation) {
    case Activation::Relu:
        return script.line(fmt::format("{} = np.maximum({}, 0)  # ReLU", name, x), fmt::format("{} = F.relu({})", name, x));
    case Activation::GeluErf:
    case Activation::GeluClipped: {
        const bool clipped = script.node().settings.activation == Activation::GeluClipped;
        if (!script.torch()) {
            script.needs_erf();
            script.line("erf = np.vectorize(math.erf)");
        }
        script.line(fmt::format("{0} = 0.5 * {1} * (1 + erf({1} / np.sqrt(2)))  # GELU", name, x), fmt::format("{} = F.gelu({})", name, x));
        if (clipped)
            script.line(fmt::format("{0} = np.minimum({0}, {1:g})", name, kGeluLimit),
                        fmt::format("{0} = {0}.clamp(max={1:g})", name, kGeluLimit));
        return;
    }
    case Activation::GeluTanh:
        if (!script.torch()) script.line(fmt::format("inner = np.sqrt(2 / np.pi) * ({0} + 0.044715 * {0}**3)", x));
        return script.line(fmt::format("{} = 0.5 * {} * (1 + np.tanh(inner))  # GELU by its tanh formula", name, x),
                           fmt::format("{} = F.gelu({}, approximate=\"tanh\")", name, x));
    case Activation::Silu:
        return script.line(fmt::format("{0} = {1} / (1 + np.exp(-{1}))  # SiLU", name, x), fmt::format("{} = F.silu({})", name, x));
    case Activation::QuickGelu:
        return script.line(fmt::format("{0} = {1} / (1 + np.exp(-{2} * {1}))  # QuickGELU", name, x, kQuickGeluFactor),
                           fmt::format("{0} = {1} * torch.sigmoid({2} * {1})  # QuickGELU", name, x, kQuickGeluFactor));
    }
}

void write_cap(Script& script) {
    const std::string name = script.result_name(), x = script.input();
    script.line(fmt::format("cap = {:.17g}", script.node().settings.cap));
    script.line(fmt::format("{} = cap * np.tanh({} / cap)", name, x), fmt::format("{} = cap * torch.tanh({} / cap)", name, x));
}

void write_multiply(Script& script) {
    const std::string gate = script.input(0), hidden = script.input(1);
    script.line(fmt::format("{} = {} * {}", script.result_name(), gate, hidden));
}

}  // namespace attn::snippet
