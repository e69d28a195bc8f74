#include "app/panels/equation.hpp"

#include <algorithm>

namespace attn::app {
namespace {

bool has(const Trace<float>& trace, const StageId& id) { return trace.find(id) != nullptr; }

StageId in_layer(const StageId& id, Stage stage) { return {stage, id.layer, id.stack}; }
StageId outside(const StageId& id, Stage stage) { return {stage, -1, id.stack}; }

/// Parameter prefix of a layer: "layers.0.", "decoder.layers.1.".
std::string layer_prefix(const StageId& id) {
    const std::string stack = id.stack == Stack::Encoder ? "encoder." : id.stack == Stack::Decoder ? "decoder." : "";
    return stack + "layers." + std::to_string(id.layer) + ".";
}

/// The last of `candidates` that the trace has; the model's embedding when it has none.
StageId first_recorded(const Trace<float>& trace, std::initializer_list<StageId> candidates) {
    for (const StageId& id : candidates)
        if (has(trace, id)) return id;
    return *std::prev(candidates.end());
}

/// The residual stream as it enters a layer.
StageId layer_input(const Trace<float>& trace, const StageId& id) {
    if (id.layer == 0) return first_recorded(trace, {outside(id, Stage::Embedding), outside(id, Stage::TokenEmbedding)});
    const StageId before{id.stage, id.layer - 1, id.stack};
    const bool post = trace.config.norm == NormPlacement::Post;
    if (post && has(trace, in_layer(before, Stage::Norm2))) return in_layer(before, Stage::Norm2);
    return first_recorded(trace,
                          {in_layer(before, Stage::Residual2), in_layer(before, Stage::FfnOut),
                           in_layer(before, post ? Stage::CrossNorm : Stage::CrossResidual), in_layer(before, Stage::CrossAttentionOut),
                           in_layer(before, post ? Stage::Norm1 : Stage::Residual1), in_layer(before, Stage::Residual1),
                           in_layer(before, Stage::AttentionOut), in_layer(before, Stage::Concat)});
}

/// The residual stream after a layer's self-attention sublayer.
StageId after_attention(const Trace<float>& trace, const StageId& id) {
    if (trace.config.norm == NormPlacement::Post && has(trace, in_layer(id, Stage::Norm1))) return in_layer(id, Stage::Norm1);
    return first_recorded(trace, {in_layer(id, Stage::Residual1), in_layer(id, Stage::AttentionOut), in_layer(id, Stage::Concat)});
}

/// The residual stream as it enters the feed-forward sublayer.
StageId before_ffn(const Trace<float>& trace, const StageId& id) {
    if (trace.config.norm == NormPlacement::Post && has(trace, in_layer(id, Stage::CrossNorm))) return in_layer(id, Stage::CrossNorm);
    if (has(trace, in_layer(id, Stage::CrossResidual))) return in_layer(id, Stage::CrossResidual);
    if (has(trace, in_layer(id, Stage::CrossAttentionOut))) return in_layer(id, Stage::CrossAttentionOut);
    return after_attention(trace, id);
}

/// The last state of a stack, which its final norm or the head reads.
StageId stack_output(const Trace<float>& trace, Stack stack) {
    const StageId beyond{Stage::Residual2, static_cast<int>(trace.config.num_layers), stack};
    return layer_input(trace, beyond);
}

/// What keys and values of a cross-attention are made from.
StageId memory(const Trace<float>& trace) {
    const StageId final_norm{Stage::FinalNorm, -1, Stack::Encoder};
    return has(trace, final_norm) ? final_norm : stack_output(trace, Stack::Encoder);
}

/// Builds the matrices of one stage's equation: the arguments that all of them share.
class Builder {
public:
    Builder(MatrixStore& store, const Trace<float>& trace, const StageId& id, std::int64_t batch, std::int64_t head)
        : store_(store), trace_(trace), id_(id), batch_(batch), head_(head) {}

    Equation build() {
        equation_.result = stage(id_, "");
        switch (id_.stage) {
        case Stage::Tokens:
            break;
        case Stage::TokenEmbedding:
            lookup();
            break;
        case Stage::PositionEmbedding:
            positions();
            break;
        case Stage::Embedding:
            sum({outside(id_, Stage::TokenEmbedding), outside(id_, Stage::PositionEmbedding)});
            break;
        case Stage::FinalNorm:
            rowwise(stack_output(trace_, id_.stack), "norm");
            norm_parameters(id_.stack == Stack::Main ? "final_norm" : stack_name() + "final_norm");
            break;
        case Stage::Logits:
            logits();
            break;
        case Stage::Probabilities:
            rowwise(outside(id_, Stage::Logits), "softmax");
            equation_.row_sums = true;
            break;
        default:
            layer_stage();
            break;
        }
        return std::move(equation_);
    }

private:
    Matrix stage(const StageId& id, std::string symbol) {
        Matrix matrix = store_.stage(trace_, id, batch_, head_);
        if (!symbol.empty()) matrix.symbol = std::move(symbol);
        return matrix;
    }
    std::string stack_name() const { return id_.stack == Stack::Encoder ? "encoder." : id_.stack == Stack::Decoder ? "decoder." : ""; }

    void rowwise(const StageId& input, std::string op) {
        equation_.layout = Layout::Rowwise;
        equation_.op = std::move(op);
        equation_.operands.push_back(stage(input, std::string(stage_name(input.stage))));
        equation_.result.symbol = stage_name(id_.stage);
    }

    void norm_parameters(const std::string& name) {
        for (const char* part : {".weight", ".bias"}) {
            Matrix matrix = store_.parameter(trace_, name + part, Axis::N, Axis::C, 0, -1);
            matrix.symbol = part == std::string(".weight") ? "γ" : "β";
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
    }

    void sum(std::initializer_list<StageId> summands) {
        equation_.layout = Layout::Sum;
        equation_.op = "+";
        for (const StageId& id : summands) {
            Matrix matrix = stage(id, std::string(stage_name(id.stage)));
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
        equation_.result.symbol = stage_name(id_.stage);
        if (equation_.operands.empty()) equation_.layout = Layout::Single;
    }

    void product(Matrix left, Matrix right, Matrix bias, std::string symbol) {
        equation_.layout = Layout::Product;
        equation_.op = "·";
        equation_.operands.push_back(std::move(left));
        equation_.operands.push_back(std::move(right));
        if (!bias.empty()) {
            bias.symbol = "b";
            equation_.operands.push_back(std::move(bias));
        }
        equation_.result.symbol = std::move(symbol);
    }

    Matrix weight(const std::string& name, const char* symbol, Axis rows, Axis cols, std::int64_t first_col = 0, std::int64_t count = -1) {
        Matrix matrix = store_.parameter(trace_, name, rows, cols, first_col, count);
        matrix.symbol = symbol;
        return matrix;
    }

    void lookup() {
        product(store_.one_hot(trace_, id_, batch_), weight(token_table(), "W_E", Axis::V, Axis::C), {}, "E");
        equation_.operands[0].row_axis = equation_.result.row_axis;
    }
    std::string token_table() const { return "token_embedding.weight"; }

    void positions() {
        equation_.layout = Layout::Single;
        equation_.result.symbol = "P";
    }

    void logits() {
        const StageId input =
            has(trace_, outside(id_, Stage::FinalNorm)) ? outside(id_, Stage::FinalNorm) : stack_output(trace_, id_.stack);
        Matrix head = trace_.config.tied_lm_head ? store_.transposed(weight(token_table(), "W_E", Axis::V, Axis::C), "W_Eᵀ")
                                                 : weight("lm_head.weight", "W_U", Axis::C, Axis::V);
        product(stage(input, std::string(stage_name(input.stage))), std::move(head), {}, "logits");
    }

    void layer_stage() {
        const bool cross = is_cross(id_.stage);
        const auto mine = [&](Stage self) { return in_layer(id_, cross ? to_cross(self) : self); };
        const std::string attention = layer_prefix(id_) + (cross ? "cross_attention." : "attention.");
        switch (to_self(id_.stage)) {
        case Stage::Norm1:
            norm(cross ? "cross_norm" : "norm_1", cross ? Stage::CrossResidual : Stage::Residual1,
                 cross ? after_attention(trace_, id_) : layer_input(trace_, id_));
            break;
        case Stage::Norm2:
            norm("norm_2", Stage::Residual2, before_ffn(trace_, id_));
            break;
        case Stage::Q:
            projection(0, cross, "Q", "W_Q");
            break;
        case Stage::K:
            projection(1, cross, "K", "W_K");
            break;
        case Stage::V:
            projection(2, cross, "V", "W_V");
            break;
        case Stage::Scores:
            product(stage(mine(Stage::Q), "Q"), store_.transposed(stage(mine(Stage::K), "K"), "Kᵀ"), {}, "scores");
            break;
        case Stage::Scaled:
            rowwise(mine(Stage::Scores), "÷ √" + std::to_string(trace_.config.head_size()));
            break;
        case Stage::Masked:
            rowwise(mine(Stage::Scaled), "mask");
            break;
        case Stage::Weights:
            rowwise(mine(Stage::Masked), "softmax");
            equation_.row_sums = true;
            break;
        case Stage::Dropped:
            rowwise(mine(Stage::Weights), "dropout");
            equation_.row_sums = true;
            break;
        case Stage::Context:
            product(stage(mine(Stage::Dropped), "A"), stage(mine(Stage::V), "V"), {}, "context");
            break;
        case Stage::Concat:
            concat(mine(Stage::Context));
            break;
        case Stage::AttentionOut:
            product(stage(mine(Stage::Concat), "concat"), weight(attention + "out.weight", "W_O", Axis::C, Axis::C),
                    weight(attention + "out.bias", "b", Axis::N, Axis::C), "attention_out");
            break;
        case Stage::Residual1:
            sum({residual_input(cross), mine(Stage::AttentionOut)});
            break;
        case Stage::FfnHidden:
            product(stage(ffn_input(), ffn_input_name()), weight(layer_prefix(id_) + "ffn.in.weight", "W_1", Axis::C, Axis::F),
                    weight(layer_prefix(id_) + "ffn.in.bias", "b", Axis::N, Axis::F), "ffn_hidden");
            break;
        case Stage::FfnActivation:
            rowwise(mine(Stage::FfnHidden), trace_.config.activation == Activation::Relu ? "ReLU" : "GELU");
            break;
        case Stage::FfnOut:
            product(stage(mine(Stage::FfnActivation), "ffn_activation"),
                    weight(layer_prefix(id_) + "ffn.out.weight", "W_2", Axis::F, Axis::C),
                    weight(layer_prefix(id_) + "ffn.out.bias", "b", Axis::N, Axis::C), "ffn_out");
            break;
        case Stage::Residual2:
            sum({before_ffn(trace_, id_), mine(Stage::FfnOut)});
            break;
        default:
            break;
        }
    }

    /// A pre-norm reads the residual stream, a post-norm the sum that its sublayer made.
    void norm(const char* name, Stage post_input, const StageId& pre_input) {
        const StageId summed = in_layer(id_, post_input);
        const bool post = trace_.config.norm == NormPlacement::Post;
        const Stage bare = post_input == Stage::Residual1       ? Stage::AttentionOut
                           : post_input == Stage::CrossResidual ? Stage::CrossAttentionOut
                                                                : Stage::FfnOut;
        rowwise(post ? first_recorded(trace_, {summed, in_layer(id_, bare)}) : pre_input, "norm");
        norm_parameters(layer_prefix(id_) + name);
    }

    StageId residual_input(bool cross) const { return cross ? after_attention(trace_, id_) : layer_input(trace_, id_); }

    StageId ffn_input() const {
        return trace_.config.norm == NormPlacement::Pre && has(trace_, in_layer(id_, Stage::Norm2)) ? in_layer(id_, Stage::Norm2)
                                                                                                    : before_ffn(trace_, id_);
    }
    std::string ffn_input_name() const { return std::string(stage_name(ffn_input().stage)); }

    /// part: 0 query, 1 key, 2 value. Self-attention packs the three; cross-attention packs key and value, which read the memory.
    void projection(int part, bool cross, const char* symbol, const char* weight_symbol) {
        const std::int64_t width = trace_.config.attention_width(), size = trace_.config.head_size();
        const std::int64_t head = std::min(head_, trace_.config.num_heads - 1);
        const std::string prefix = layer_prefix(id_) + (cross ? "cross_attention." : "attention.");
        const std::string packed = prefix + (!cross ? "qkv" : part == 0 ? "q" : "kv");
        const std::int64_t first = (cross ? std::max(part - 1, 0) : part) * width + head * size;
        const StageId input = cross && part > 0 ? memory(trace_) : attention_input(trace_, id_);
        Matrix left = stage(input, std::string(stage_name(input.stage)));
        left.row_axis = equation_.result.row_axis;
        product(std::move(left), weight(packed + ".weight", weight_symbol, Axis::C, Axis::D, first, size),
                weight(packed + ".bias", "b", Axis::N, Axis::D, first, size), symbol);
    }

    void concat(const StageId& context) {
        equation_.layout = Layout::Sum;
        equation_.op = "‖";
        for (std::int64_t h = 0; h < trace_.config.num_heads; ++h) {
            Matrix matrix = store_.stage(trace_, context, batch_, h);
            matrix.symbol = "head " + std::to_string(h);
            matrix.name += " " + std::to_string(h);
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
        equation_.result.symbol = "concat";
    }

    MatrixStore& store_;
    const Trace<float>& trace_;
    const StageId& id_;
    std::int64_t batch_, head_;
    Equation equation_;
};

}  // namespace

StageId attention_input(const Trace<float>& trace, const StageId& id) {
    const Stage norm = is_cross(id.stage) ? Stage::CrossNorm : Stage::Norm1;
    if (trace.config.norm == NormPlacement::Pre && has(trace, in_layer(id, norm))) return in_layer(id, norm);
    return is_cross(id.stage) ? after_attention(trace, id) : layer_input(trace, id);
}

Equation equation_of(MatrixStore& store, const Trace<float>& trace, const StageId& id, std::int64_t batch, std::int64_t head) {
    return Builder(store, trace, id, batch, head).build();
}

}  // namespace attn::app
