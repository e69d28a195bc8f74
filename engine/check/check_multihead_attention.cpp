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
    if (cross && memory.shape()[0].size != batch) file.fail("in.key_value", "has another batch size than in.query");
    const std::int64_t keys = cross ? memory.shape()[1].size : queries;
    require_map_fits(file, "in.query", {{Axis::B, batch}, {Axis::H, model.num_heads}, {Axis::T, queries}, {Axis::S, keys}});
    const auto mask = read_masks(file, "in.attn_mask", "in.key_padding_mask", {batch, model.num_heads, queries, keys});

    const std::string place = cross ? "decoder.layers.0.cross_attention" : "layers.0.attention";
    const Parameters<Scalar> parameters = load_parameters<Scalar>(file, model, attention_links(model, "", place, cross));
    const ModelWeights<const Scalar> weights = weights_of(parameters);
    const ForwardSettings settings;
    Tap<Scalar> tap(true);
    AttentionActivations<Scalar> activations;
    const ForwardContext<Scalar> context{model, settings, tap};
    const LayerWeights<const Scalar>& layer = weights.main.layers.front();
    const Tensor<Scalar>& output =
        cross ? cross_attention_block(context, layer.cross, query, memory, mask, {Stage::Tokens, 0, Stack::Decoder}, activations)
              : self_attention_block(context, layer.self, query, mask, {Stage::Tokens, 0}, activations);
    file.compare("out.output", output);
    file.compare("out.weights", activations.weights);
}

template void check_multihead_attention<float>(CaseFile&, CaseConfig&);
template void check_multihead_attention<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
