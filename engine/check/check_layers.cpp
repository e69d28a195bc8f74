#include "engine/check/masks.hpp"
#include "engine/check/modules.hpp"
#include "engine/check/torch_parameters.hpp"
#include "engine/model/blocks.hpp"

namespace attn::check {
namespace {

/// Configuration of a stack of PyTorch's Transformer layers.
Config torch_layers(CaseConfig& config, Architecture architecture, std::int64_t layers) {
    Config out;
    out.architecture = architecture;
    out.d_model = config.size("d_model");
    out.num_heads = config.size("num_heads");
    out.d_ff = config.size("d_ff");
    out.num_layers = layers;
    out.norm = config.flag("norm_first") ? NormPlacement::Pre : NormPlacement::Post;
    out.activation = read_activation(config);
    out.layer_norm_eps = config.has("layer_norm_eps") ? config.number("layer_norm_eps", 1e-30, 1.0) : 1e-5;
    out.position = PositionKind::None;
    out.lm_head = false;
    out.final_norm = false;
    return out;
}

/// One stack run layer by layer on tensors instead of tokens. Keeps what was computed, which the tensors it returns live in.
template <class Scalar>
class StackRun {
public:
    StackRun(const Config& config, const StackWeights<const Scalar>& weights, Stack stack)
        : context_{config, settings_, tap_}, weights_(weights), stack_(stack), activations_(weights.layers.size()) {}

    /// `memory` is null for an encoder.
    Tensor<Scalar>& run(Tensor<Scalar>& input, const std::shared_ptr<const Mask>& mask, const Tensor<Scalar>* memory,
                        const std::shared_ptr<const Mask>& memory_mask) {
        Tensor<Scalar>* x = &input;
        for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
            const StageId where{Stage::Tokens, static_cast<int>(i), stack_};
            const LayerWeights<const Scalar>& layer = weights_.layers[i];
            LayerActivations<Scalar>& a = activations_[i];
            x = &self_attention_block(context_, layer.self, *x, mask, where, a.self);
            if (memory != nullptr) x = &cross_attention_block(context_, layer.cross, *x, *memory, memory_mask, where, a.cross);
            x = &feed_forward_block(context_, layer.feed_forward, *x, where, a.feed_forward);
        }
        if (!context_.config.final_norm) return *x;
        return norm_layer(context_, weights_.final_norm, *x, {Stage::FinalNorm, -1, stack_}, final_norm_);
    }

private:
    const ForwardSettings settings_;
    Tap<Scalar> tap_;
    ForwardContext<Scalar> context_;
    const StackWeights<const Scalar>& weights_;
    Stack stack_;
    std::vector<LayerActivations<Scalar>> activations_;
    NormActivations<Scalar> final_norm_;
};

/// [B,H,T,S] of attention from one sequence to another; refuses batches that differ and maps beyond memory.
template <class Scalar>
Mask::Target map_between(const CaseFile& file, const Config& config, const Tensor<Scalar>& queries, const std::string& key_name,
                         const Tensor<Scalar>& keys) {
    const Mask::Target target{queries.shape()[0].size, config.num_heads, queries.shape()[1].size, keys.shape()[1].size};
    if (keys.shape()[0].size != target.batches) file.fail(key_name, "has another batch size than the queries");
    require_map_fits(file, key_name,
                     {{Axis::B, target.batches}, {Axis::H, target.heads}, {Axis::T, target.queries}, {Axis::S, target.keys}});
    return target;
}

}  // namespace

template <class Scalar>
void check_encoder_layer(CaseFile& file, CaseConfig& config) {
    const Config model = validated(file, torch_layers(config, Architecture::Encoder, 1));
    Tensor<Scalar> src = read_sequence<Scalar>(file, "in.src", model.d_model);
    const auto mask = read_masks(file, "in.src_mask", "in.src_key_padding_mask", map_between(file, model, src, "in.src", src));
    const Parameters<Scalar> parameters = load_parameters<Scalar>(file, model, encoder_layer_links(model, "", "layers.0."));
    const ModelWeights<const Scalar> weights = weights_of(parameters);
    StackRun<Scalar> encoder(model, weights.main, Stack::Main);
    file.compare("out.output", encoder.run(src, mask, nullptr, nullptr));
}

template <class Scalar>
void check_decoder_layer(CaseFile& file, CaseConfig& config) {
    const Config model = validated(file, torch_layers(config, Architecture::EncoderDecoder, 1));
    Tensor<Scalar> tgt = read_sequence<Scalar>(file, "in.tgt", model.d_model);
    const Tensor<Scalar> memory = read_sequence<Scalar>(file, "in.memory", model.d_model);
    const auto mask = read_masks(file, "in.tgt_mask", "in.tgt_key_padding_mask", map_between(file, model, tgt, "in.tgt", tgt));
    const auto memory_mask =
        read_masks(file, "in.memory_mask", "in.memory_key_padding_mask", map_between(file, model, tgt, "in.memory", memory));
    const Parameters<Scalar> parameters = load_parameters<Scalar>(file, model, decoder_layer_links(model, "", "decoder.layers.0."));
    const ModelWeights<const Scalar> weights = weights_of(parameters);
    StackRun<Scalar> decoder(model, weights.main, Stack::Decoder);
    file.compare("out.output", decoder.run(tgt, mask, &memory, memory_mask));
}

template <class Scalar>
void check_transformer(CaseFile& file, CaseConfig& config) {
    const std::int64_t layers = config.size("encoder_layers");
    if (config.size("decoder_layers") != layers) config.fail("decoder_layers", "differs from encoder_layers, which cannot be recomputed");
    Config model = torch_layers(config, Architecture::EncoderDecoder, layers);
    model.final_norm = true;
    model = validated(file, std::move(model));
    Tensor<Scalar> src = read_sequence<Scalar>(file, "in.src", model.d_model), tgt = read_sequence<Scalar>(file, "in.tgt", model.d_model);
    const auto src_mask = read_masks(file, "in.src_mask", "in.src_key_padding_mask", map_between(file, model, src, "in.src", src));
    const auto tgt_mask = read_masks(file, "in.tgt_mask", "in.tgt_key_padding_mask", map_between(file, model, tgt, "in.tgt", tgt));
    const auto memory_mask = read_masks(file, "in.memory_mask", "in.memory_key_padding_mask", map_between(file, model, tgt, "in.src", src));
    const Parameters<Scalar> parameters = load_parameters<Scalar>(file, model, transformer_links(model));
    const ModelWeights<const Scalar> weights = weights_of(parameters);
    StackRun<Scalar> encoder(model, weights.encoder, Stack::Encoder), decoder(model, weights.main, Stack::Decoder);
    const Tensor<Scalar>& memory = encoder.run(src, src_mask, nullptr, nullptr);
    file.compare("out.output", decoder.run(tgt, tgt_mask, &memory, memory_mask));
}

template void check_encoder_layer<float>(CaseFile&, CaseConfig&);
template void check_encoder_layer<double>(CaseFile&, CaseConfig&);
template void check_decoder_layer<float>(CaseFile&, CaseConfig&);
template void check_decoder_layer<double>(CaseFile&, CaseConfig&);
template void check_transformer<float>(CaseFile&, CaseConfig&);
template void check_transformer<double>(CaseFile&, CaseConfig&);

}  // namespace attn::check
