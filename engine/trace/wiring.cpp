#include "engine/trace/wiring.hpp"

namespace attn {
namespace {

/// The stages of one layer of one stack, as far as the configuration decides which of them feeds which.
struct Layer {
    const Config& config;
    int layer;
    Stack stack;

    StageId at(Stage stage) const { return {stage, layer, stack}; }
    bool pre() const { return config.norm == NormPlacement::Pre; }
    bool post() const { return config.norm == NormPlacement::Post; }

    /// The residual stream as it enters the layer.
    StageId input() const {
        if (layer == 0) return {Stage::Embedding, -1, stack};
        return Layer{config, layer - 1, stack}.output();
    }
    StageId attention_result() const { return at(config.output_projection ? Stage::AttentionOut : Stage::Concat); }
    StageId after_attention() const { return post() ? at(Stage::Norm1) : config.residual ? at(Stage::Residual1) : attention_result(); }
    StageId cross_result() const { return at(to_cross(attention_result().stage)); }
    StageId after_cross() const {
        if (stack != Stack::Decoder) return after_attention();
        return post() ? at(Stage::CrossNorm) : config.residual ? at(Stage::CrossResidual) : cross_result();
    }
    StageId output() const {
        if (!config.feed_forward) return after_cross();
        return post() ? at(Stage::Norm2) : config.residual ? at(Stage::Residual2) : at(Stage::FfnOut);
    }
    /// A sublayer reads its norm where that comes first, else the stream itself.
    StageId read(Stage norm, StageId stream) const { return pre() ? at(norm) : stream; }
    /// A norm reads the stream before its sublayer, or what the sublayer made of it.
    StageId normed(StageId stream, Stage residual, StageId result) const {
        return pre() ? stream : config.residual ? at(residual) : result;
    }
};

/// The stream behind the last layer of a stack, before any final norm.
StageId layers_output(const Layer& any) { return Layer{any.config, static_cast<int>(any.config.num_layers), any.stack}.input(); }

StageId stack_output(const Layer& any) { return any.config.final_norm ? StageId{Stage::FinalNorm, -1, any.stack} : layers_output(any); }

/// Inputs of the stages of an attention sublayer that are wired the same way everywhere: q to attention_out.
std::vector<StageId> attention_inputs(const Layer& layer, const StageId& id, const StageId& queries, const StageId& keys) {
    const auto own = [&](Stage stage) { return layer.at(is_cross(id.stage) ? to_cross(stage) : stage); };
    switch (to_self(id.stage)) {
    case Stage::Q:
        return {queries};
    case Stage::K:
    case Stage::V:
        return {keys};
    case Stage::Scores:
        return {own(Stage::Q), own(Stage::K)};
    case Stage::Scaled:
        return {own(Stage::Scores)};
    case Stage::Masked:
        return {own(Stage::Scaled)};
    case Stage::Weights:
        return {own(Stage::Masked)};
    case Stage::Dropped:
        return {own(Stage::Weights)};
    case Stage::Context:
        return {own(Stage::Dropped), own(Stage::V)};
    case Stage::Concat:
        return {own(Stage::Context)};
    case Stage::AttentionOut:
        return {own(Stage::Concat)};
    default:
        return {};
    }
}

std::vector<StageId> layer_inputs(const Layer& layer, const StageId& id) {
    switch (id.stage) {
    case Stage::Norm1:
        return {layer.normed(layer.input(), Stage::Residual1, layer.attention_result())};
    case Stage::Residual1:
        return {layer.input(), layer.attention_result()};
    case Stage::CrossNorm:
        return {layer.normed(layer.after_attention(), Stage::CrossResidual, layer.cross_result())};
    case Stage::CrossResidual:
        return {layer.after_attention(), layer.cross_result()};
    case Stage::Norm2:
        return {layer.normed(layer.after_cross(), Stage::Residual2, layer.at(Stage::FfnOut))};
    case Stage::FfnHidden:
        return {layer.read(Stage::Norm2, layer.after_cross())};
    case Stage::FfnActivation:
        return {layer.at(Stage::FfnHidden)};
    case Stage::FfnOut:
        return {layer.at(Stage::FfnActivation)};
    case Stage::Residual2:
        return {layer.after_cross(), layer.at(Stage::FfnOut)};
    default:
        break;
    }
    const StageId memory = stack_output({layer.config, 0, Stack::Encoder});
    if (is_cross(id.stage)) return attention_inputs(layer, id, layer.read(Stage::CrossNorm, layer.after_attention()), memory);
    const StageId stream = layer.read(Stage::Norm1, layer.input());
    return attention_inputs(layer, id, stream, stream);
}

}  // namespace

std::vector<StageId> stage_inputs(const Config& config, const StageId& id) {
    const Layer layer{config, id.layer, id.stack};
    const auto outside = [&](Stage stage) { return StageId{stage, -1, id.stack}; };
    if (is_layer_stage(id.stage)) return layer_inputs(layer, id);
    switch (id.stage) {
    case Stage::TokenEmbedding:
        return {outside(Stage::Tokens)};
    case Stage::Embedding:
        if (config.position == PositionKind::None) return {outside(Stage::TokenEmbedding)};
        return {outside(Stage::TokenEmbedding), outside(Stage::PositionEmbedding)};
    case Stage::FinalNorm:
        return {layers_output(layer)};
    case Stage::Logits:
        return {stack_output(layer)};
    case Stage::Probabilities:
        return {outside(Stage::Logits)};
    default:
        return {};
    }
}

}  // namespace attn
