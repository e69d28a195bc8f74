#include "engine/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/plan/alibi.hpp"
#include "engine/plan/make_mistake.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

/// Appends a model's nodes in order of computation.
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

    /// The parameters of a linear map or norm.
    struct Owner {
        PlanParameter weight, bias;
    };

    /// Identifies a layer's stages and parameters.
    struct Layer {
        Stack stack;
        int number;
        std::uint8_t attention = kSelfAttention;

        StageId at(Stage stage) const { return {stage, number, stack, attention}; }
        bool cross() const { return attention == kCrossAttention; }
        std::string prefix() const { return stack_prefix(stack) + "layers." + std::to_string(number) + "."; }
    };

    static std::string stack_prefix(Stack stack) {
        return stack == Stack::Encoder ? "encoder." : stack == Stack::Decoder ? "decoder." : "";
    }

    Owner owner(const std::string& name, bool bias) const {
        // Member by member: if an allocation fails, g++ 12 destroys the first member of an aggregate twice.
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
        const bool narrow = config_.embedding_width() != config_.d_model;
        const Axes axes = narrow ? Axes{Axis::B, Axis::T, Axis::N} : stream_axes();
        StageId vectors = add({Stage::TokenEmbedding, -1, stack}, Op::Embed, {tokens}, axes, {{"token_embedding.weight"}, {}});
        last().factor = config_.embedding_factor;
        if (narrow) vectors = add({Stage::EmbeddingIn, -1, stack}, Op::Linear, {vectors}, stream_axes(), {{"embedding_in.weight"}, {}});
        std::vector<StageId> parts{vectors};
        if (config_.position == PositionKind::Learned || config_.position == PositionKind::Sinusoidal) {
            Owner table;
            const std::string own = config_.stack_positions ? stack_prefix(stack) : "";
            if (config_.position == PositionKind::Learned) table.weight.name = own + "position_embedding.weight";
            parts.push_back(add({Stage::PositionEmbedding, -1, stack}, Op::Positions, {}, stream_axes(), table));
        }
        if (config_.num_segments > 0)
            parts.push_back(add({Stage::SegmentEmbedding, -1, stack}, Op::Segments, {}, stream_axes(), {{"segment_embedding.weight"}, {}}));
        const StageId sum = add({Stage::Embedding, -1, stack}, Op::Add, parts, stream_axes());
        return config_.embedding_norm ? norm({Stage::EmbeddingNorm, -1, stack}, sum, stack_prefix(stack) + "embedding_norm") : sum;
    }

    /// Returns the stack's output, which the output head or the other stack reads.
    StageId stack(Stack stack, const StageId* memory) {
        StageId x = embed(stack);
        plan_.streams_.push_back(x);
        for (int i = 0; i < config_.layers_of(stack); ++i) {
            x = layer({stack, i}, x, memory);
            plan_.streams_.push_back(x);
        }
        return config_.ends_with_norm(stack) ? norm({Stage::FinalNorm, -1, stack}, x, stack_prefix(stack) + "final_norm") : x;
    }

    /// Returns the stream after the layer.
    StageId layer(const Layer& self, const StageId& stream, const StageId* memory) {
        StageId found = attention(self, stream, nullptr);
        if (config_.feed_forward && config_.order != BlockOrder::InTurn) {
            // Both read the stream before either adds to it.
            const StageId also = feed_forward(self, stream);
            return add_to_stream(self, add_to_stream(self, stream, found, Stage::AttentionOut), also, Stage::FfnOut);
        }
        StageId x = add_to_stream(self, stream, found, Stage::AttentionOut);
        if (memory != nullptr) {
            const Layer cross{self.stack, self.number, kCrossAttention};
            found = attention(cross, x, memory);
            x = add_to_stream(cross, x, found, Stage::AttentionOut);
        }
        if (!config_.feed_forward) return x;
        found = feed_forward(self, x);
        return add_to_stream(self, x, found, Stage::FfnOut);
    }

    StageId norm(const StageId& id, const StageId& x, const std::string& name) {
        add(id, Op::Norm, {x}, stream_axes(), owner(name, config_.norm_kind == NormKind::LayerNorm));
        last().norm_kind = config_.norm_kind;
        last().eps = config_.layer_norm_eps;
        return id;
    }
    StageId norm(const Layer& layer, Stage stage, const StageId& x) {
        const StageId id = layer.at(stage);
        return norm(id, x, layer.prefix() + stage_name(id));
    }

    /// Returns the sublayer's output.
    StageId attention(const Layer& layer, const StageId& x, const StageId* memory) {
        const LayerKind kind = config_.layer_kind(layer.number);
        const StageId queries = config_.norms_input() ? norm(layer, Stage::Norm1, x) : x;
        const StageId keys = memory == nullptr ? queries : *memory;
        const std::string name = layer.prefix() + (layer.cross() ? "cross_attention." : "attention.");
        StageId q = project(layer, Stage::Q, queries, name), k = project(layer, Stage::K, keys, name);
        const StageId v = project(layer, Stage::V, keys, name);
        if (config_.qk_norm != QueryKeyNorm::None && !layer.cross()) {
            q = norm_heads(layer, Stage::QNormed, q, name + "q_norm");
            k = norm_heads(layer, Stage::KNormed, k, name + "k_norm");
        }
        if (config_.position == PositionKind::Rotary && kind.rotary != LayerRotary::None && !layer.cross()) {
            q = rotate(layer, Stage::QRotated, q);
            k = rotate(layer, Stage::KRotated, k);
        }
        const StageId scores = add(layer.at(Stage::Scores), Op::Scores, {q, k}, map_axes());
        StageId scaled = add(layer.at(Stage::Scaled), Op::Scale, {scores}, map_axes());
        last().factor = config_.score_factor > 0 ? config_.score_factor : 1 / std::sqrt(static_cast<double>(config_.head_size()));
        if (config_.scale_by_layer) last().factor /= layer.number + 1;
        const double factor = last().factor;
        if (config_.score_cap > 0 && !layer.cross()) {
            scaled = add(layer.at(Stage::Capped), Op::Cap, {scaled}, map_axes());
            last().cap = config_.score_cap;
        }
        if (config_.position == PositionKind::Alibi && !layer.cross()) {
            scaled = add(layer.at(Stage::Biased), Op::Bias, {scaled}, map_axes());
            last().slopes = alibi_slopes(config_.num_heads);
            if (config_.scaled_alibi) last().factor = factor;
            for (double& slope : last().slopes) slope *= last().factor;
        }
        if (config_.position == PositionKind::Buckets && !layer.cross()) {
            const std::string table = stack_prefix(layer.stack) + "position_bias.weight";
            scaled = add(layer.at(Stage::Biased), Op::Bias, {scaled}, map_axes(), {{table}, {}});
            const bool both_ways = config_.architecture == Architecture::Encoder || layer.stack == Stack::Encoder;
            last().buckets = {config_.position_buckets, config_.position_distance, both_ways};
        }
        const StageId masked = add(layer.at(Stage::Masked), Op::Mask, {scaled}, map_axes());
        const StageId weights = add(layer.at(Stage::Weights), Op::Softmax, {masked}, map_axes());
        const StageId dropped = add(layer.at(Stage::Dropped), Op::Dropout, {weights}, map_axes());
        const StageId context = add(layer.at(Stage::Context), Op::Mix, {dropped, v}, {Axis::B, Axis::H, Axis::T, Axis::D});
        if (!layer.cross() && layer.stack != Stack::Encoder) set_window(scores, kind.window);
        StageId out = add(layer.at(Stage::Concat), Op::JoinHeads, {context}, stream_axes());
        if (config_.output_projection)
            out = add(layer.at(Stage::AttentionOut), Op::Linear, {out}, stream_axes(), owner(name + "out", config_.output_bias));
        return config_.norms_result() ? norm(layer, Stage::AttentionNorm, out) : out;
    }

    /// Sets the window of an attention's nodes from its scores on.
    void set_window(const StageId& scores, std::int64_t window) {
        for (auto node = plan_.nodes_.rbegin();; ++node) {
            node->settings.window = window;
            if (node->id == scores) return;
        }
    }

    /// Adds q, k or v.
    StageId project(const Layer& layer, Stage stage, const StageId& x, const std::string& name) {
        return add(layer.at(stage), Op::Linear, {x}, head_axes(stage == Stage::Q), owner(name + stage_name({stage}), config_.qkv_bias));
    }

    StageId norm_heads(const Layer& layer, Stage normed, const StageId& x, const std::string& name) {
        add(layer.at(normed), Op::Norm, {x}, head_axes(normed == Stage::QNormed), owner(name, false));
        last().norm_kind = config_.norm_kind == NormKind::LayerNorm ? NormKind::Rms : config_.norm_kind;
        last().eps = config_.layer_norm_eps;
        last().all_heads = config_.qk_norm == QueryKeyNorm::AllHeads;
        return layer.at(normed);
    }

    StageId rotate(const Layer& layer, Stage rotated, const StageId& x) {
        add(layer.at(rotated), Op::Rotate, {x}, head_axes(rotated == Stage::QRotated));
        last().rotary = rotary_rule(config_, layer.number);
        return layer.at(rotated);
    }

    /// Returns the sublayer's output.
    StageId feed_forward(const Layer& layer, const StageId& stream) {
        const bool shares_norm = config_.order == BlockOrder::ParallelOneNorm;
        const StageId x = shares_norm ? layer.at(Stage::Norm1) : config_.norms_input() ? norm(layer, Stage::Norm2, stream) : stream;
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
        return config_.norms_result() ? norm(layer, Stage::FfnNorm, out) : out;
    }

    /// Ends a sublayer, AttentionOut or FfnOut: adds its output to the stream, with a norm afterwards if the model has one there.
    StageId add_to_stream(const Layer& layer, const StageId& stream, const StageId& found, Stage sublayer) {
        const bool attends = sublayer == Stage::AttentionOut;
        StageId x = found;
        if (config_.residual) {
            const StageId onto = config_.residual_from_norm ? layer.at(attends ? Stage::Norm1 : Stage::Norm2) : stream;
            x = add(layer.at(attends ? Stage::Residual1 : Stage::Residual2), Op::Add, {onto, found}, stream_axes());
            plan_.nodes_.back().dropout_site = layer.at(sublayer);
        }
        return config_.norm == NormPlacement::Post ? norm(layer, attends ? Stage::Norm1 : Stage::Norm2, x) : x;
    }

    void predict(StageId x, Stack stack) {
        if (!config_.lm_head) return;
        const Axes axes{Axis::B, Axis::T, Axis::V};
        if (config_.head_transform) {
            x = add({Stage::HeadHidden, -1, stack}, Op::Linear, {x}, stream_axes(), owner("head_transform", true));
            x = add({Stage::HeadActivation, -1, stack}, Op::Activate, {x}, stream_axes());
            last().activation = config_.activation;
            x = norm({Stage::HeadNorm, -1, stack}, x, "head_norm");
        }
        if (config_.head_factor != 1) {
            x = add({Stage::HeadScaled, -1, stack}, Op::Scale, {x}, stream_axes());
            last().factor = config_.head_factor;
        }
        if (config_.tied_lm_head && config_.embedding_width() != config_.d_model)
            x = add({Stage::HeadIn, -1, stack}, Op::Linear, {x}, {Axis::B, Axis::T, Axis::N}, {{"head_in.weight"}, {}});
        Owner head;
        head.weight = config_.tied_lm_head ? PlanParameter{"token_embedding.weight", true} : PlanParameter{"lm_head.weight"};
        if (config_.lm_head_bias) head.bias.name = "lm_head.bias";
        StageId logits = add({Stage::Logits, -1, stack}, Op::Linear, {x}, axes, head);
        if (config_.logit_cap > 0) {
            logits = add({Stage::LogitsCapped, -1, stack}, Op::Cap, {logits}, axes);
            last().cap = config_.logit_cap;
        }
        add({Stage::Probabilities, -1, stack}, Op::Probabilities, {logits}, axes);
    }

    static Axes stream_axes() { return {Axis::B, Axis::T, Axis::C}; }
    /// Axes of queries, or of keys and values.
    Axes head_axes(bool queries) const {
        return {Axis::B, !queries && config_.grouped() ? Axis::G : Axis::H, queries ? Axis::T : Axis::S, Axis::D};
    }
    OpSettings& last() { return plan_.nodes_.back().settings; }
    static Axes map_axes() { return {Axis::B, Axis::H, Axis::T, Axis::S}; }

    const Config& config_;
    Plan& plan_;
};

bool knows_mask(Op op) {
    return op == Op::Mask || op == Op::Softmax || op == Op::SoftmaxOverQueries || op == Op::SoftmaxThenMask || op == Op::Dropout ||
           op == Op::DropoutLeftOn;
}

bool PlanNode::has_heads() const { return axes.size() == 4 && (axes[1] == Axis::H || axes[1] == Axis::G); }

Plan::Plan(const Config& config, Mistake mistake) {
    validate(config);
    PlanBuilder(config, *this).build();
    for (PlanNode& node : nodes_) make_mistake(mistake, config, node);
}

std::string Plan::name_of(const StageId& id) const {
    const PlanNode* node = id.stage == Stage::Other ? find(id) : nullptr;
    return node == nullptr || node->origin.name.empty() ? stage_name(id) : node->origin.name;
}

const PlanNode* Plan::find(const StageId& id) const {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const PlanNode& node) { return node.id == id; });
    return found == nodes_.end() ? nullptr : &*found;
}

const PlanNode& Plan::at(const StageId& id) const {
    if (const PlanNode* node = find(id)) return *node;
    throw Error("the model has no stage " + tensor_name(id));
}

bool Plan::before(const StageId& a, const StageId& b) const {
    const PlanNode *first = find(a), *second = find(b);
    return first != nullptr && second != nullptr && first < second;
}

std::vector<StageId> Plan::streams(Stack stack) const {
    std::vector<StageId> streams;
    std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(streams), [&](const StageId& id) { return id.stack == stack; });
    return streams;
}

bool Plan::is_stream(const StageId& id) const { return std::find(streams_.begin(), streams_.end(), id) != streams_.end(); }

PlanPart Plan::part_around(const StageId& id) const {
    const std::size_t place = static_cast<std::size_t>(&at(id) - nodes_.data());
    PlanPart part{place, place, {}};
    while (part.end < nodes_.size() && nodes_[part.end].id.stack == id.stack)
        if (is_stream(nodes_[part.end++].id)) break;
    for (; part.first > 0 && nodes_[part.first - 1].id.stack == id.stack; --part.first)
        if (const StageId& before = nodes_[part.first - 1].id; is_stream(before)) {
            part.stream = before;
            break;
        }
    return part;
}

const StageId& Plan::logits() const {
    if (nodes_.empty() || nodes_.back().op != Op::Probabilities) throw Error("the model has no output head");
    return nodes_.back().inputs[0];
}

std::size_t Plan::end_of_layers() const {
    const auto last = std::find_if(nodes_.rbegin(), nodes_.rend(), [&](const PlanNode& node) { return is_stream(node.id); });
    return static_cast<std::size_t>(nodes_.rend() - last);
}

}  // namespace attn
