#include "engine/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/plan/make_mistake.hpp"
#include "engine/plan/rotary.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

/// Appends the nodes of a model in the order in which they are computed.
class PlanBuilder {
public:
    PlanBuilder(const Config& config, Plan& plan) : config_(config), plan_(plan) {}

    void build() {
        if (config_.architecture != Architecture::EncoderDecoder) return predict(stack(Stack::Main, nullptr), Stack::Main);
        const StageId memory = stack(Stack::Encoder, nullptr);
        predict(stack(Stack::Decoder, &memory), Stack::Decoder);
    }

private:
    using Axes = std::vector<Axis>;

    /// A linear map or norm of the model: its parameters and what they are called.
    struct Owner {
        PlanParameter weight, bias;
    };

    /// Where a layer's stages and parameters are.
    struct Layer {
        Stack stack;
        int number;
        bool cross;  ///< of its two attentions the one that reads the memory

        StageId at(Stage self) const { return {cross ? to_cross(self) : self, number, stack}; }
        std::string prefix() const { return stack_prefix(stack) + "layers." + std::to_string(number) + "."; }
    };

    static std::string stack_prefix(Stack stack) {
        return stack == Stack::Encoder ? "encoder." : stack == Stack::Decoder ? "decoder." : "";
    }

    Owner owner(const std::string& name, bool bias) const {
        // Member by member: where memory is wanting, g++ 12 destroys the first part of an aggregate twice.
        Owner owner;
        owner.weight.name = name + ".weight";
        if (bias) owner.bias.name = name + ".bias";
        return owner;
    }

    StageId add(const StageId& id, Op op, std::vector<StageId> inputs, Axes axes, Owner owner = {}) {
        plan_.nodes_.push_back({id, op, std::move(inputs), std::move(owner.weight), std::move(owner.bias), std::move(axes), {}, id});
        return id;
    }

    StageId embed(Stack stack) {
        const StageId tokens = add({Stage::Tokens, -1, stack}, Op::Tokens, {}, {Axis::B, Axis::T});
        std::vector<StageId> parts{
            add({Stage::TokenEmbedding, -1, stack}, Op::Embed, {tokens}, stream_axes(), {{"token_embedding.weight"}, {}})};
        if (config_.position == PositionKind::Learned || config_.position == PositionKind::Sinusoidal) {
            Owner table;
            if (config_.position == PositionKind::Learned) table.weight.name = "position_embedding.weight";
            parts.push_back(add({Stage::PositionEmbedding, -1, stack}, Op::Positions, {}, stream_axes(), table));
        }
        return add({Stage::Embedding, -1, stack}, Op::Add, parts, stream_axes());
    }

    /// Returns what the stack hands on: to the output head, or to the other stack.
    StageId stack(Stack stack, const StageId* memory) {
        StageId x = embed(stack);
        plan_.streams_.push_back(x);
        for (int i = 0; i < config_.num_layers; ++i) {
            x = attention({stack, i, false}, x, nullptr);
            if (memory != nullptr) x = attention({stack, i, true}, x, memory);
            if (config_.feed_forward) x = feed_forward({stack, i, false}, x);
            plan_.streams_.push_back(x);
        }
        return config_.final_norm ? norm({Stage::FinalNorm, -1, stack}, x, stack_prefix(stack) + "final_norm") : x;
    }

    StageId norm(const StageId& id, const StageId& x, const std::string& name) {
        add(id, Op::Norm, {x}, stream_axes(), owner(name, config_.norm_kind == NormKind::LayerNorm));
        last().norm_kind = config_.norm_kind;
        last().eps = config_.layer_norm_eps;
        return id;
    }
    StageId norm(const Layer& layer, Stage self, const StageId& x) {
        const StageId id = layer.at(self);
        return norm(id, x, layer.prefix() + std::string(stage_name(id.stage)));
    }

    StageId attention(const Layer& layer, const StageId& x, const StageId* memory) {
        const StageId queries = config_.norm == NormPlacement::Pre ? norm(layer, Stage::Norm1, x) : x;
        const StageId keys = memory == nullptr ? queries : *memory;
        const std::string name = layer.prefix() + (layer.cross ? "cross_attention." : "attention.");
        StageId q = project(layer, Stage::Q, queries, name), k = project(layer, Stage::K, keys, name);
        const StageId v = project(layer, Stage::V, keys, name);
        if (config_.position == PositionKind::Rotary && !layer.cross) {
            q = rotate(layer, Stage::QRotated, q);
            k = rotate(layer, Stage::KRotated, k);
        }
        const StageId scores = add(layer.at(Stage::Scores), Op::Scores, {q, k}, map_axes());
        const StageId scaled = add(layer.at(Stage::Scaled), Op::Scale, {scores}, map_axes());
        last().factor = 1 / std::sqrt(static_cast<double>(config_.head_size()));
        if (config_.scale_by_layer) last().factor /= layer.number + 1;
        const StageId masked = add(layer.at(Stage::Masked), Op::Mask, {scaled}, map_axes());
        const StageId weights = add(layer.at(Stage::Weights), Op::Softmax, {masked}, map_axes());
        const StageId dropped = add(layer.at(Stage::Dropped), Op::Dropout, {weights}, map_axes());
        const StageId context = add(layer.at(Stage::Context), Op::Mix, {dropped, v}, {Axis::B, Axis::H, Axis::T, Axis::D});
        StageId out = add(layer.at(Stage::Concat), Op::JoinHeads, {context}, stream_axes());
        if (config_.output_projection)
            out = add(layer.at(Stage::AttentionOut), Op::Linear, {out}, stream_axes(), owner(name + "out", config_.output_bias));
        return end(layer, {x, out}, Stage::AttentionOut, Stage::Residual1, Stage::Norm1);
    }

    /// q, k or v.
    StageId project(const Layer& layer, Stage self, const StageId& x, const std::string& name) {
        const std::string letter(stage_name(self));
        return add(layer.at(self), Op::Linear, {x}, head_axes(self == Stage::Q), owner(name + letter, config_.qkv_bias));
    }

    StageId rotate(const Layer& layer, Stage rotated, const StageId& x) {
        add(layer.at(rotated), Op::Rotate, {x}, head_axes(rotated == Stage::QRotated));
        last().frequencies = rotary_frequencies(config_);
        return layer.at(rotated);
    }

    StageId feed_forward(const Layer& layer, const StageId& stream) {
        const StageId x = config_.norm == NormPlacement::Pre ? norm(layer, Stage::Norm2, stream) : stream;
        const Axes wide{Axis::B, Axis::T, Axis::F};
        const auto map = [&](Stage stage, const StageId& from, const Axes& axes, const char* name) {
            return add(layer.at(stage), Op::Linear, {from}, axes, owner(layer.prefix() + name, config_.ffn_bias));
        };
        StageId activated = config_.ffn_gated ? map(Stage::FfnGate, x, wide, "ffn.gate") : layer.at(Stage::FfnHidden);
        const StageId hidden = map(Stage::FfnHidden, x, wide, "ffn.in");
        activated = add(layer.at(Stage::FfnActivation), Op::Activate, {activated}, wide);
        last().activation = config_.activation;
        if (config_.ffn_gated) activated = add(layer.at(Stage::FfnGated), Op::Multiply, {activated, hidden}, wide);
        const StageId out = map(Stage::FfnOut, activated, stream_axes(), "ffn.out");
        return end(layer, {stream, out}, Stage::FfnOut, Stage::Residual2, Stage::Norm2);
    }

    /// The end of a sublayer: what it found goes into the stream, which may be normed afterwards.
    StageId end(const Layer& layer, const std::vector<StageId>& stream_and_result, Stage sublayer, Stage residual, Stage norm_stage) {
        StageId x = stream_and_result[1];
        if (config_.residual) {
            x = add(layer.at(residual), Op::Add, stream_and_result, stream_axes());
            plan_.nodes_.back().dropout_site = layer.at(sublayer);
        }
        return config_.norm == NormPlacement::Post ? norm(layer, norm_stage, x) : x;
    }

    void predict(const StageId& x, Stack stack) {
        if (!config_.lm_head) return;
        const Axes axes{Axis::B, Axis::T, Axis::V};
        const PlanParameter head = config_.tied_lm_head ? PlanParameter{"token_embedding.weight", true} : PlanParameter{"lm_head.weight"};
        const StageId logits = add({Stage::Logits, -1, stack}, Op::Linear, {x}, axes, {head, {}});
        add({Stage::Probabilities, -1, stack}, Op::Probabilities, {logits}, axes);
    }

    static Axes stream_axes() { return {Axis::B, Axis::T, Axis::C}; }
    /// Of queries, or of keys and values.
    Axes head_axes(bool queries) const {
        return {Axis::B, !queries && config_.grouped() ? Axis::G : Axis::H, queries ? Axis::T : Axis::S, Axis::D};
    }
    OpSettings& last() { return plan_.nodes_.back().settings; }
    static Axes map_axes() { return {Axis::B, Axis::H, Axis::T, Axis::S}; }

    const Config& config_;
    Plan& plan_;
};

bool PlanNode::has_heads() const { return axes.size() == 4 && (axes[1] == Axis::H || axes[1] == Axis::G); }

Plan::Plan(const Config& config, Mistake mistake) {
    validate(config);
    PlanBuilder(config, *this).build();
    for (PlanNode& node : nodes_) make_mistake(mistake, config, node);
}

const PlanNode* Plan::find(const StageId& id) const {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const PlanNode& node) { return node.id == id; });
    return found == nodes_.end() ? nullptr : &*found;
}

const PlanNode& Plan::at(const StageId& id) const {
    if (const PlanNode* node = find(id)) return *node;
    throw Error("the model has no stage " + tensor_name(id));
}

std::vector<StageId> Plan::streams(Stack stack) const {
    std::vector<StageId> streams;
    std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(streams), [&](const StageId& id) { return id.stack == stack; });
    return streams;
}

bool Plan::is_stream(const StageId& id) const { return std::find(streams_.begin(), streams_.end(), id) != streams_.end(); }

PlanPart Plan::part_around(const StageId& id) const {
    const std::size_t place = static_cast<std::size_t>(&at(id) - nodes_.data());
    PlanPart part{0, nodes_.size(), {}};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const StageId& other = nodes_[i].id;
        if (i < place && other.stack != id.stack) part.first = i + 1;
        if (i > place && other.stack != id.stack) {
            part.end = i;
            break;
        }
        if (other.stack != id.stack || !is_stream(other)) continue;
        if (i >= place) {
            part.end = i + 1;
            break;
        }
        part.first = i + 1;
        part.stream = other;
    }
    return part;
}

std::size_t Plan::end_of_layers() const {
    const auto last = std::find_if(nodes_.rbegin(), nodes_.rend(), [&](const PlanNode& node) { return is_stream(node.id); });
    return static_cast<std::size_t>(nodes_.rend() - last);
}

}  // namespace attn
