#include "engine/check/masks.hpp"
#include "engine/check/modules.hpp"
#include "engine/check/torch_parameters.hpp"
#include "engine/model/part_pass.hpp"

namespace attn::check {
namespace {

/// The configuration of a stack of PyTorch's Transformer layers.
Config torch_layers(CaseConfig& config, Architecture architecture, std::int64_t layers) {
    Config out;
    out.architecture = architecture;
    out.d_model = config.size("d_model");
    out.num_heads = config.size("num_heads");
    out.d_ff = config.size("d_ff");
    out.num_layers = layers;
    out.norm = config.flag("norm_first", false) ? NormPlacement::Pre : NormPlacement::Post;
    out.activation = read_activation(config, "erf");
    out.qkv_bias = out.output_bias = config.flag("bias", true);
    out.layer_norm_eps = config.has("layer_norm_eps") ? config.number("layer_norm_eps", 1e-30, 1.0) : 1e-5;
    out.position = PositionKind::None;
    out.lm_head = false;
    out.final_norm = false;
    return out;
}

/// A stack with parameters from the file, run on tensors instead of tokens.
template <class Scalar>
struct StackRun {
    StackRun(const CaseFile& file, const Config& config, const std::vector<ParameterLink>& links, Stack stack, PassMasks masks)
        : parameters(load_parameters<Scalar>(file, config, links)), gradients(config),
          pass(parameters, ForwardSettings{}, std::move(masks)), input{Stage::Embedding, -1, stack} {}

    /// The stage a decoder attends to: the output of the encoder.
    StageId memory() const { return pass.plan().at({Stage::K, 0, input.stack, kCrossAttention}).inputs[0]; }

    const Tensor<Scalar>& forward(Tensor<Scalar> x) {
        pass.give(input, std::move(x));
        return pass.forward_after(input);
    }
    /// Returns the gradient of the input.
    const Tensor<Scalar>& backward(Tensor<Scalar> doutput) {
        pass.backward(std::move(doutput), gradients);
        return pass.gradient(input);
    }
    void compare_gradients(CaseFile& file, const std::vector<ParameterLink>& links) const {
        compare_parameters(file, links, "grad.param.", parameters.layout(), gradients.values.data());
    }

    const Parameters<Scalar> parameters;
    Gradients<Scalar> gradients;
    PartPass<Scalar> pass;
    StageId input;
};

/// Sizes [B,H,T,S] of attention between two sequences; throws if the batches differ or the map is too large.
template <class Scalar>
Mask::Target map_between(const CaseFile& file, const Config& config, const Tensor<Scalar>& queries, const std::string& key_name,
                         const Tensor<Scalar>& keys) {
    const Mask::Target target{queries.shape()[0].size, config.num_heads, queries.shape()[1].size, keys.shape()[1].size};
    if (keys.shape()[0].size != target.batches)
        file.fail(key_name, "expected the batch size of the queries, " + std::to_string(target.batches) + ", found " +
                                std::to_string(keys.shape()[0].size));
    require_map_fits(file, key_name,
                     {{Axis::B, target.batches}, {Axis::H, target.heads}, {Axis::T, target.queries}, {Axis::S, target.keys}});
    return target;
}

}  // namespace

template <class Scalar>
void check_encoder_layer(CaseFile& file, CaseConfig& config) {
    const Config model = validated(file, torch_layers(config, Architecture::Encoder, 1));
    const Tensor<Scalar> src = read_sequence<Scalar>(file, "in.src", model.d_model);
    const auto mask = read_masks(file, "in.src_mask", "in.src_key_padding_mask", map_between(file, model, src, "in.src", src));
    const std::vector<ParameterLink> links = encoder_layer_links(model, "", "layers.0.");
    StackRun<Scalar> encoder(file, model, links, Stack::Main, {.self = mask, .cross = {}, .encoder = {}});
    file.compare("out.output", encoder.forward(src));
    if (!file.has("in.grad_out")) return;
    file.compare("grad.in.src", encoder.backward(file.tensor<Scalar>("in.grad_out", src.shape())));
    encoder.compare_gradients(file, links);
}

template <class Scalar>
void check_decoder_layer(CaseFile& file, CaseConfig& config) {
    const Config model = validated(file, torch_layers(config, Architecture::EncoderDecoder, 1));
    const Tensor<Scalar> tgt = read_sequence<Scalar>(file, "in.tgt", model.d_model);
    const Tensor<Scalar> memory = read_sequence<Scalar>(file, "in.memory", model.d_model);
    const auto mask = read_masks(file, "in.tgt_mask", "in.tgt_key_padding_mask", map_between(file, model, tgt, "in.tgt", tgt));
    const auto memory_mask =
        read_masks(file, "in.memory_mask", "in.memory_key_padding_mask", map_between(file, model, tgt, "in.memory", memory));
    const std::vector<ParameterLink> links = decoder_layer_links(model, "", "decoder.layers.0.");
    StackRun<Scalar> decoder(file, model, links, Stack::Decoder, {.self = mask, .cross = memory_mask, .encoder = {}});
    decoder.pass.give(decoder.memory(), memory);
    file.compare("out.output", decoder.forward(tgt));
    if (!file.has("in.grad_out")) return;
    file.compare("grad.in.tgt", decoder.backward(file.tensor<Scalar>("in.grad_out", tgt.shape())));
    file.compare("grad.in.memory", decoder.pass.gradient(decoder.memory()));
    decoder.compare_gradients(file, links);
}

template <class Scalar>
void check_transformer(CaseFile& file, CaseConfig& config) {
    // Two models, because the stacks may have different depths; only the decoder of the second is used.
    Config encoder_model = torch_layers(config, Architecture::Encoder, config.size("encoder_layers"));
    Config model = torch_layers(config, Architecture::EncoderDecoder, config.size("decoder_layers"));
    encoder_model.final_norm = model.final_norm = true;
    encoder_model = validated(file, encoder_model);
    model = validated(file, model);
    const Tensor<Scalar> src = read_sequence<Scalar>(file, "in.src", model.d_model),
                         tgt = read_sequence<Scalar>(file, "in.tgt", model.d_model);
    const auto src_mask = read_masks(file, "in.src_mask", "in.src_key_padding_mask", map_between(file, model, src, "in.src", src));
    const auto tgt_mask = read_masks(file, "in.tgt_mask", "in.tgt_key_padding_mask", map_between(file, model, tgt, "in.tgt", tgt));
    const auto memory_mask = read_masks(file, "in.memory_mask", "in.memory_key_padding_mask", map_between(file, model, tgt, "in.src", src));
    const std::vector<ParameterLink> encoder_links = transformer_encoder_links(encoder_model, ""), links = transformer_decoder_links(model);
    StackRun<Scalar> encoder(file, encoder_model, encoder_links, Stack::Main, {.self = src_mask, .cross = {}, .encoder = {}}),
        decoder(file, model, links, Stack::Decoder, {.self = tgt_mask, .cross = memory_mask, .encoder = {}});
    decoder.pass.give(decoder.memory(), encoder.forward(src));
    file.compare("out.output", decoder.forward(tgt));
    if (!file.has("in.grad_out")) return;
    file.compare("grad.in.tgt", decoder.backward(file.tensor<Scalar>("in.grad_out", tgt.shape())));
    file.compare("grad.in.src", encoder.backward(decoder.pass.gradient(decoder.memory())));
    encoder.compare_gradients(file, encoder_links);
    decoder.compare_gradients(file, links);
}

template void check_encoder_layer<float>(CaseFile&, CaseConfig&);
template void check_encoder_layer<double>(CaseFile&, CaseConfig&);
template void check_decoder_layer<float>(CaseFile&, CaseConfig&);
template void check_decoder_layer<double>(CaseFile&, CaseConfig&);
template void check_transformer<float>(CaseFile&, CaseConfig&);
template void check_transformer<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
