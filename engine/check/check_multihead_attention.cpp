#include "engine/check/masks.hpp"
#include "engine/check/modules.hpp"
#include "engine/check/torch_parameters.hpp"
#include "engine/model/part_pass.hpp"

namespace attn::check {
namespace {

/// A layer that consists of attention alone.
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
    PartPass<Scalar> pass(parameters, ForwardSettings{},
                          {.self = cross ? nullptr : mask, .cross = cross ? mask : nullptr, .encoder = nullptr});
    const auto at = [&](Stage stage) { return cross ? StageId{stage, 0, Stack::Decoder, kCrossAttention} : StageId{stage, 0}; };
    const StageId queries_from = pass.plan().at(at(Stage::Q)).inputs[0], keys_from = pass.plan().at(at(Stage::K)).inputs[0];
    pass.give(queries_from, std::move(query));
    if (cross) pass.give(keys_from, std::move(memory));
    const Tensor<Scalar>& output = pass.forward_after(queries_from);
    file.compare("out.output", output);
    file.compare("out.weights", pass.value(at(Stage::Weights)));
    if (!file.has("in.grad_out")) return;

    Gradients<Scalar> gradients(model);
    pass.backward(file.tensor<Scalar>("in.grad_out", output.shape()), gradients);
    file.compare("grad.in.query", pass.gradient(queries_from));
    if (cross) file.compare("grad.in.key_value", pass.gradient(keys_from));
    compare_parameters(file, links, "grad.param.", parameters.layout(), std::as_const(gradients.values).data());
}

template void check_multihead_attention<float>(CaseFile&, CaseConfig&);
template void check_multihead_attention<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
