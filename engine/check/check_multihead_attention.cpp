#include "engine/check/masks.hpp"
#include "engine/check/modules.hpp"
#include "engine/check/torch_parameters.hpp"
#include "engine/model/blocks.hpp"

namespace attn::check {
namespace {

/// A layer that is nothing but its attention.
Config attention_alone(CaseConfig& config, bool cross) {
    Config out;
    out.architecture = cross ? Architecture::EncoderDecoder : Architecture::Encoder;
    out.d_model = config.size("embed_dim");
    out.num_heads = config.size("num_heads");
    out.num_layers = 1;
    out.qkv_bias = out.output_bias = config.flag("bias");
    out.residual = out.feed_forward = out.final_norm = out.lm_head = false;
    out.norm = NormPlacement::None;
    out.position = PositionKind::None;
    return out;
}

}  // namespace

template <class Scalar>
void check_multihead_attention(CaseFile& file, CaseConfig& config) {
    const bool cross = file.has("in.key_value");
    const Config model = validated(file, attention_alone(config, cross));
    Tensor<Scalar> query = read_sequence<Scalar>(file, "in.query", model.d_model);
    const std::int64_t batch = query.shape()[0].size, queries = query.shape()[1].size;
    Tensor<Scalar> memory;
    if (cross) memory = read_sequence<Scalar>(file, "in.key_value", model.d_model);
    if (cross && memory.shape()[0].size != batch)
        file.fail("in.key_value",
                  "expected the batch size of in.query, " + std::to_string(batch) + ", found " + std::to_string(memory.shape()[0].size));
    const std::int64_t keys = cross ? memory.shape()[1].size : queries;
    require_map_fits(file, "in.query", {{Axis::B, batch}, {Axis::H, model.num_heads}, {Axis::T, queries}, {Axis::S, keys}});
    const auto mask = read_masks(file, "in.attn_mask", "in.key_padding_mask", {batch, model.num_heads, queries, keys});

    const std::string place = cross ? "decoder.layers.0.cross_attention" : "layers.0.attention";
    const std::vector<ParameterLink> links = attention_links(model, "", place, cross);
    const Parameters<Scalar> parameters = load_parameters<Scalar>(file, model, links);
    const ModelWeights<const Scalar> weights = weights_of(parameters);
    const AttentionWeights<const Scalar>& layer = cross ? weights.main.layers.front().cross : weights.main.layers.front().self;
    const ForwardSettings settings;
    Tap<Scalar> tap;
    AttentionActivations<Scalar> activations;
    const PassContext<Scalar> context{model, settings, tap};
    const Tensor<Scalar>* answers = cross ? &memory : nullptr;
    const StageId where{Stage::Tokens, 0, cross ? Stack::Decoder : Stack::Main};
    attention_block(context, layer, query, answers, mask, where, activations);
    file.compare("out.output", output_of(model, activations));
    file.compare("out.weights", activations.weights);
    if (!file.has("in.grad_out")) return;

    Parameters<Scalar> dparameters(model);
    const ModelWeights<Scalar> dweights = weights_of(dparameters);
    const AttentionWeights<Scalar>& dlayer = cross ? dweights.main.layers.front().cross : dweights.main.layers.front().self;
    AttentionActivations<Scalar> gradients;
    Tensor<Scalar> dquery, dmemory(memory.shape());
    output_of(model, gradients) = file.tensor<Scalar>("in.grad_out", output_of(model, activations).shape());
    attention_block_backward<Scalar>(context, {layer, dlayer}, query, answers, mask, where, activations, gradients, dquery, &dmemory);
    file.compare("grad.in.query", dquery);
    if (cross) file.compare("grad.in.key_value", dmemory);
    compare_parameters(file, links, "grad.param.", dparameters.layout(), std::as_const(dparameters).data());
}

template void check_multihead_attention<float>(CaseFile&, CaseConfig&);
template void check_multihead_attention<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
