/// Snippets for attention, self or cross, between its linear maps.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/snippet/script.hpp"

namespace attn::snippet {
namespace {

bool all_finite(const Tensor<float>& tensor) {
    return std::all_of(tensor.values().begin(), tensor.values().end(), [](float value) { return std::isfinite(value); });
}

/// "keep": where a query may attend; true means the same as in scaled_dot_product_attention.
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

void write_mask_bias(Script& script, const Mask& mask) {
    std::vector<float> cells;
    for (std::int64_t b = 0; b < mask.batches(); ++b)
        for (std::int64_t h = 0; h < mask.heads(); ++h)
            for (std::int64_t t = 0; t < mask.queries(); ++t)
                for (std::int64_t s = 0; s < mask.keys(); ++s) cells.push_back(static_cast<float>(mask.bias_row(b, h, t)[s]));
    script.numbers("bias", {mask.batches(), mask.heads(), mask.queries(), mask.keys()}, cells);
}

bool has_fully_masked_row(const Mask& mask) {
    for (std::int64_t b = 0; b < mask.batches(); ++b)
        for (std::int64_t h = 0; h < mask.heads(); ++h)
            for (std::int64_t t = 0; t < mask.queries(); ++t)
                if (mask.row_fully_masked(b, h, t)) return true;
    return false;
}

/// The keys or values of every query head: a variable in which shared ones are repeated.
std::string of_every_head(Script& script, const StageId& id) {
    const std::string shared = script.operand(id);
    if (!script.stage(id).value.shape().has(Axis::G)) return shared;
    script.remark("Several query heads share one head of keys and values.");
    const std::int64_t times = script.config().group_size();
    script.line(fmt::format("{0}_of_head = {0}.repeat({1}, axis=1)", shared, times),
                fmt::format("{0}_of_head = {0}.repeat_interleave({1}, dim=1)", shared, times));
    return shared + "_of_head";
}

}  // namespace

void write_rotate(Script& script) {
    const Shape& shape = script.result().value.shape();
    const std::string x = script.input(), name = script.result_name();
    const RotaryRule& rule = script.node().settings.rotary;
    script.line(fmt::format("base, positions, half = {}, {}, {}", rule.base, shape[2].size, rule.size / 2));
    if (rule.stretch.kind == RotaryScaling::None) {
        script.line("frequency = base ** (-np.arange(half) / half)",
                    "frequency = base ** (-torch.arange(half, dtype=torch.float64) / half)");
    } else {
        script.remark("base ** (-i / half), lowered for texts longer than those in the original training.");
        const std::string numbers = fmt::format("[{:.17g}]", fmt::join(rotary_frequencies(rule, shape[2].size), ", "));
        script.line("frequency = np.array(" + numbers + ")", "frequency = torch.tensor(" + numbers + ", dtype=torch.float64)");
    }
    script.line("angle = np.arange(positions)[:, None] * frequency",
                "angle = torch.arange(positions, dtype=torch.float64)[:, None] * frequency");
    script.line("cos, sin = np.cos(angle), np.sin(angle)", "cos, sin = torch.cos(angle).float(), torch.sin(angle).float()");
    if (rule.stretch.amplitude != 1) {
        script.line(fmt::format("amplitude = {:.17g}", rule.stretch.amplitude));
        script.line("cos, sin = amplitude * cos, amplitude * sin");
    }
    script.line(fmt::format("first, second = {0}[..., :half], {0}[..., half:2 * half]", x));
    std::string parts = "first * cos - second * sin, second * cos + first * sin";
    if (rule.size < shape[3].size) {
        script.remark("Only the first numbers of a head are rotated.");
        parts += fmt::format(", {}[..., 2 * half:]", x);
    }
    script.line(fmt::format("{} = np.concatenate([{}], axis=-1)", name, parts), fmt::format("{} = torch.cat([{}], dim=-1)", name, parts));
}

void write_scores(Script& script) {
    const std::string q = script.input(0), k = of_every_head(script, script.node().inputs.at(1));
    script.line(fmt::format("{} = {} @ {}.swapaxes(-2, -1)", script.result_name(), q, k),
                fmt::format("{} = {} @ {}.transpose(-2, -1)", script.result_name(), q, k));
}

void write_scale(Script& script) {
    const std::string scores = script.input();
    const double factor = script.node().settings.factor, root = std::sqrt(static_cast<double>(script.config().head_size()));
    if (!is_attention_map(script.id().stage) || std::abs(factor * root - 1) > 1e-9)
        return script.line(fmt::format("{} = {} * {:.17g}", script.result_name(), scores, factor));
    script.line(fmt::format("d_head = {}", script.config().head_size()));
    script.line(fmt::format("{} = {} / np.sqrt(d_head)", script.result_name(), scores),
                fmt::format("{} = {} / math.sqrt(d_head)", script.result_name(), scores));
}

namespace {

/// T5's bias for every distance, from the table of buckets.
void write_learned_bias(Script& script) {
    const Shape& shape = script.result().value.shape();
    const std::string scaled = script.input(), table = script.parameter(script.node().weight, "bias");
    std::vector<std::int64_t> ranges;
    for (std::int64_t t = 0; t < shape[2].size; ++t)
        for (std::int64_t s = 0; s < shape[3].size; ++s) ranges.push_back(bucket_of(script.node().settings.buckets, s - t));
    script.integers("ranges", {shape[2].size, shape[3].size}, ranges);
    script.remark("ranges: which distance range a query and a key fall in; each head has a number for each range.");
    script.line(fmt::format("{} = {} + {}[ranges].transpose(2, 0, 1)", script.result_name(), scaled, table),
                fmt::format("{} = {} + {}[ranges].permute(2, 0, 1)", script.result_name(), scaled, table));
}

}  // namespace

void write_bias(Script& script) {
    if (!script.node().weight.empty()) return write_learned_bias(script);
    const Shape& shape = script.result().value.shape();
    const std::string scaled = script.input();
    script.line(fmt::format("slope = np.array([{:.17g}])[:, None, None]", fmt::join(script.node().settings.slopes, ", ")),
                fmt::format("slope = torch.tensor([{:.17g}])[:, None, None]", fmt::join(script.node().settings.slopes, ", ")));
    script.remark("How far before the query a key is.");
    script.line(fmt::format("distance = np.arange({})[:, None] - np.arange({})", shape[2].size, shape[3].size),
                fmt::format("distance = torch.arange({})[:, None] - torch.arange({})", shape[2].size, shape[3].size));
    script.line(fmt::format("{} = {} - slope * distance", script.result_name(), scaled));
}

void write_mask(Script& script) {
    const std::string scaled = script.input();
    const Mask& mask = *script.result().mask;
    std::string value = scaled;
    if (mask.has_bias()) {
        write_mask_bias(script, mask);
        value = "(" + scaled + " + bias)";
    } else if (mask.allows_everything()) {
        script.remark("Every query may attend to every key.");
        return script.line(fmt::format("{} = {}", script.result_name(), scaled));
    }
    write_keep(script, mask);
    script.line(fmt::format("{} = np.where(keep, {}, -np.inf)", script.result_name(), value),
                fmt::format("{} = {}.masked_fill(~keep, -math.inf)", script.result_name(), value));
}

void write_softmax(Script& script) {
    const std::string name = script.result_name();
    const StageId input = script.node().inputs.at(0);
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
    script.remark("What may not be attended to has weight 0, even in a row that may attend nowhere.");
    script.line(fmt::format("{0} = np.where(keep, {0}, 0)", name), fmt::format("{0} = torch.where(keep, {0}, 0.0)", name));
}

void write_dropped(Script& script) {
    const double rate = script.trace().settings.dropout.attention;
    if (rate == 0) script.remark("Dropout is off.");
    write_dropout(script, script.result_name(), script.input(), rate, script.id());
}

void write_mix(Script& script) {
    const StageId map = script.node().inputs.at(0), values = script.node().inputs.at(1);
    const std::string dropped = script.operand(map), v = of_every_head(script, values), name = script.result_name();
    const Mask& mask = *script.stage(map).mask;
    if (all_finite(script.stage(values).value) || mask.allows_everything())
        return script.line(fmt::format("{} = {} @ {}", name, dropped, v));
    write_keep(script, mask);
    script.remark("What is masked takes no part, not even as 0 times a number that is not finite.");
    script.line(fmt::format("products = np.where(keep[..., None], {}[..., None] * {}[:, :, None], 0)", dropped, v),
                fmt::format("products = torch.where(keep[..., None], {}[..., None] * {}[:, :, None], 0.0)", dropped, v));
    script.line(fmt::format("{} = products.sum(-2)", name));
}

void write_join_heads(Script& script) {
    const StageId input = script.node().inputs.at(0);
    const Shape& shape = script.stage(input).value.shape();
    const std::string context = script.operand(input);
    script.line(fmt::format("B, H, T, D = {}, {}, {}, {}", shape[0].size, shape[1].size, shape[2].size, shape[3].size));
    script.line(fmt::format("{} = {}.transpose(0, 2, 1, 3).reshape(B, T, H * D)", script.result_name(), context),
                fmt::format("{} = {}.transpose(1, 2).reshape(B, T, H * D)", script.result_name(), context));
}

}  // namespace attn::snippet
