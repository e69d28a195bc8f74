#include <algorithm>
#include <cmath>

#include "engine/check/modules.hpp"
#include "engine/check/torch_parameters.hpp"
#include "engine/model/transformer.hpp"

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
    out.activation = read_activation(config);
    out.norm = config.flag("norm_first") ? NormPlacement::Pre : NormPlacement::Post;
    out.layer_norm_eps = config.number("layer_norm_eps", 1e-30, 1.0);
    if (!config.flag("tied_lm_head")) config.fail("tied_lm_head", "is false: a gpt2 file has no other head than the token embedding");
    return out;
}

/// Mean of -log softmax(logits)[target] over all positions.
template <class Scalar>
double cross_entropy(const Tensor<Scalar>& logits, const std::vector<std::int32_t>& targets) {
    const std::int64_t vocabulary = logits.shape()[2].size;
    double total = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const Scalar* row = logits.data() + static_cast<std::int64_t>(i) * vocabulary;
        const double largest = static_cast<double>(*std::max_element(row, row + vocabulary));
        double sum = 0;
        for (std::int64_t v = 0; v < vocabulary; ++v) sum += std::exp(static_cast<double>(row[v]) - largest);
        total += largest + std::log(sum) - static_cast<double>(row[targets[i]]);
    }
    return total / static_cast<double>(targets.size());
}

}  // namespace

template <class Scalar>
void check_gpt2(CaseFile& file, CaseConfig& config) {
    const Config model = validated(file, gpt2_config(config));
    const std::vector<std::int64_t>& sizes = file.sizes("in.tokens", 2);
    if (sizes[1] > model.context_length) file.fail("in.tokens", "has sequences longer than the context length");
    require_map_fits(file, "in.tokens", {{Axis::B, sizes[0]}, {Axis::H, model.num_heads}, {Axis::T, sizes[1]}, {Axis::S, sizes[1]}});
    const TokenBatch tokens{sizes[1], file.ids("in.tokens", sizes, model.vocab_size),
                            std::vector<std::int64_t>(static_cast<std::size_t>(sizes[0]), sizes[1])};
    Parameters<Scalar> parameters = load_parameters<Scalar>(file, model, gpt2_links(model));
    ForwardSettings settings;
    settings.masks.causal = true;
    const Trace<Scalar> trace =
        trace_forward<Scalar>(std::make_shared<const Parameters<Scalar>>(std::move(parameters)), tokens, {}, settings);
    const Tensor<Scalar>& logits = trace.find({Stage::Logits})->value;
    file.compare("out.logits", logits);
    const double loss = cross_entropy(logits, file.ids("in.targets", sizes, model.vocab_size));
    file.compare<double>("out.loss", Shape{{Axis::N, 1}}, std::span<const double>(&loss, 1));
    for (int layer = 0; layer < static_cast<int>(model.num_layers); ++layer)
        file.compare("out.h." + std::to_string(layer) + ".attn.weights", trace.find({Stage::Weights, layer})->value);
}

template void check_gpt2<float>(CaseFile&, CaseConfig&);
template void check_gpt2<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
