/// The attention sub-layer, self or cross: q to attention_out.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/snippet/script.hpp"
#include "engine/trace/wiring.hpp"

namespace attn::snippet {
namespace {

bool all_finite(const Tensor<float>& tensor) {
    return std::all_of(tensor.values().begin(), tensor.values().end(), [](float value) { return std::isfinite(value); });
}

StageId input_of(const Script& script, std::size_t which = 0) { return stage_inputs(script.config(), script.id()).at(which); }

/// q, k, v: rows of the stream (or of the encoder's memory) times a part of the packed weights, cut into heads.
void write_projection(Script& script) {
    const StageId& id = script.id();
    const Stage stage = to_self(id.stage);
    const bool cross = is_cross(id.stage), query = stage == Stage::Q;
    const std::int64_t width = script.config().attention_width();
    const std::int64_t part = query ? 0 : stage == Stage::K ? 1 : 2;
    const std::string packed = parameter_prefix(id) + (!cross ? "attention.qkv" : query ? "cross_attention.q" : "cross_attention.kv");
    const std::int64_t first = cross && !query ? (part - 1) * width : part * width;
    const char letter = query ? 'Q' : stage == Stage::K ? 'K' : 'V';
    const std::string x = script.operand(input_of(script), cross && !query ? "memory" : "");
    const std::string weight = script.parameter(packed + ".weight", fmt::format("W_{}", letter), first, width);
    std::string product = fmt::format("{} @ {}", x, weight);
    if (script.has_parameter(packed + ".bias"))
        product += " + " + script.parameter(packed + ".bias", fmt::format("b_{}", letter), first, width);
    const Shape& shape = script.result().value.shape();
    script.line(fmt::format("B, T, H, D = {}, {}, {}, {}", shape[0].size, shape[2].size, shape[1].size, shape[3].size));
    script.line(fmt::format("{} = ({}).reshape(B, T, H, D).transpose(0, 2, 1, 3)", script.result_name(), product),
                fmt::format("{} = ({}).view(B, T, H, D).transpose(1, 2)", script.result_name(), product));
}

void write_scores(Script& script) {
    const std::string q = script.operand(input_of(script, 0)), k = script.operand(input_of(script, 1));
    script.line(fmt::format("{} = {} @ {}.swapaxes(-2, -1)", script.result_name(), q, k),
                fmt::format("{} = {} @ {}.transpose(-2, -1)", script.result_name(), q, k));
}

void write_scaled(Script& script) {
    const std::string scores = script.operand(input_of(script));
    script.line(fmt::format("d_head = {}", script.config().head_size()));
    script.line(fmt::format("{} = {} / np.sqrt(d_head)", script.result_name(), scores),
                fmt::format("{} = {} / math.sqrt(d_head)", script.result_name(), scores));
}

/// "keep": where a query may attend; true has the meaning it has in scaled_dot_product_attention.
void write_keep(Script& script, const Mask& mask) {
    if (mask.is_plain_causal()) {
        const std::string size = fmt::format("({}, {})", mask.queries(), mask.keys());
        script.line(fmt::format("keep = np.tril(np.ones({}, dtype=bool))  # causal: true = may attend", size),
                    fmt::format("keep = torch.tril(torch.ones({}, dtype=torch.bool))  # causal: true = may attend", size));
        return;
    }
    std::vector<std::uint8_t> cells;
    for (std::int64_t b = 0; b < mask.batches(); ++b)
        for (std::int64_t h = 0; h < mask.heads(); ++h)
            for (std::int64_t t = 0; t < mask.queries(); ++t)
                cells.insert(cells.end(), mask.keep_row(b, h, t), mask.keep_row(b, h, t) + mask.keys());
    script.booleans("keep", {mask.batches(), mask.heads(), mask.queries(), mask.keys()}, cells);
    script.remark("keep: true = may attend");
}

void write_bias(Script& script, const Mask& mask) {
    std::vector<float> cells;
    for (std::int64_t b = 0; b < mask.batches(); ++b)
        for (std::int64_t h = 0; h < mask.heads(); ++h)
            for (std::int64_t t = 0; t < mask.queries(); ++t)
                for (std::int64_t s = 0; s < mask.keys(); ++s) cells.push_back(static_cast<float>(mask.bias_row(b, h, t)[s]));
    script.numbers("bias", {mask.batches(), mask.heads(), mask.queries(), mask.keys()}, cells);
}

void write_masked(Script& script) {
    const std::string scaled = script.operand(input_of(script));
    const Mask& mask = *script.result().mask;
    std::string value = scaled;
    if (mask.has_bias()) {
        write_bias(script, mask);
        value = "(" + scaled + " + bias)";
    } else if (mask.allows_everything()) {
        script.remark("Every query may attend to every key.");
        return script.line(fmt::format("{} = {}", script.result_name(), scaled));
    }
    write_keep(script, mask);
    script.line(fmt::format("{} = np.where(keep, {}, -np.inf)", script.result_name(), value),
                fmt::format("{} = {}.masked_fill(~keep, -math.inf)", script.result_name(), value));
}

bool has_fully_masked_row(const Mask& mask) {
    for (std::int64_t b = 0; b < mask.batches(); ++b)
        for (std::int64_t h = 0; h < mask.heads(); ++h)
            for (std::int64_t t = 0; t < mask.queries(); ++t)
                if (mask.row_fully_masked(b, h, t)) return true;
    return false;
}

void write_weights(Script& script) {
    const std::string name = script.result_name();
    const StageId input = input_of(script);
    std::string masked = script.operand(input);
    const Mask& mask = *script.result().mask;
    const auto in = script.stage(input).value.values();
    const bool nan = std::any_of(in.begin(), in.end(), [](float value) { return std::isnan(value); });
    const bool empty_rows = has_fully_masked_row(mask);
    if (script.trace().settings.temperature != 1) {
        script.line(fmt::format("temperature = {}", script.trace().settings.temperature));
        masked += " / temperature";
    }
    if (script.torch()) {
        script.line(fmt::format("{} = torch.softmax({}, dim=-1)", name, masked));
    } else {
        script.line(fmt::format("scores = {}", masked));
        script.line("largest = scores.max(axis=-1, keepdims=True)");
        if (empty_rows) script.line("largest = np.where(np.isneginf(largest), 0, largest)  # rows that may attend nowhere");
        script.line("e = np.exp(scores - largest)");
        script.line("total = e.sum(axis=-1, keepdims=True)");
        script.line(fmt::format("{} = e / {}", name, empty_rows ? "np.where(total == 0, 1, total)" : "total"));
    }
    if (!nan && !(empty_rows && script.torch())) return;
    write_keep(script, mask);
    script.remark("What may not be attended to has weight 0, also in a row that may attend nowhere.");
    script.line(fmt::format("{0} = np.where(keep, {0}, 0)", name), fmt::format("{0} = torch.where(keep, {0}, 0.0)", name));
}

void write_dropped(Script& script) {
    const double rate = script.trace().settings.dropout.attention;
    if (rate == 0) script.remark("Dropout is off.");
    write_dropout(script, script.result_name(), script.operand(input_of(script)), rate, script.id());
}

void write_context(Script& script) {
    const StageId map = input_of(script, 0), values = input_of(script, 1);
    const std::string dropped = script.operand(map), v = script.operand(values), name = script.result_name();
    const Mask& mask = *script.stage(map).mask;
    if (all_finite(script.stage(values).value) || mask.allows_everything())
        return script.line(fmt::format("{} = {} @ {}", name, dropped, v));
    write_keep(script, mask);
    script.remark("What is masked takes no part, not even as 0 times a number that is not finite.");
    script.line(fmt::format("products = np.where(keep[..., None], {}[..., None] * {}[:, :, None], 0)", dropped, v),
                fmt::format("products = torch.where(keep[..., None], {}[..., None] * {}[:, :, None], 0.0)", dropped, v));
    script.line(fmt::format("{} = products.sum(-2)", name));
}

void write_concat(Script& script) {
    const StageId input = input_of(script);
    const Shape& shape = script.stage(input).value.shape();
    const std::string context = script.operand(input);
    script.line(fmt::format("B, H, T, D = {}, {}, {}, {}", shape[0].size, shape[1].size, shape[2].size, shape[3].size));
    script.line(fmt::format("{} = {}.transpose(0, 2, 1, 3).reshape(B, T, H * D)", script.result_name(), context),
                fmt::format("{} = {}.transpose(1, 2).reshape(B, T, H * D)", script.result_name(), context));
}

void write_attention_out(Script& script) {
    const std::string concat = script.operand(input_of(script));
    const std::string name = parameter_prefix(script.id()) + (is_cross(script.id().stage) ? "cross_attention.out" : "attention.out");
    std::string product = concat + " @ " + script.parameter(name + ".weight", "W_O");
    if (script.has_parameter(name + ".bias")) product += " + " + script.parameter(name + ".bias", "b_O");
    script.line(script.result_name() + " = " + product);
}

}  // namespace

void write_attention_code(Script& script) {
    switch (to_self(script.id().stage)) {
    case Stage::Q:
    case Stage::K:
    case Stage::V:
        return write_projection(script);
    case Stage::Scores:
        return write_scores(script);
    case Stage::Scaled:
        return write_scaled(script);
    case Stage::Masked:
        return write_masked(script);
    case Stage::Weights:
        return write_weights(script);
    case Stage::Dropped:
        return write_dropped(script);
    case Stage::Context:
        return write_context(script);
    case Stage::Concat:
        return write_concat(script);
    default:
        return write_attention_out(script);
    }
}

}  // namespace attn::snippet
