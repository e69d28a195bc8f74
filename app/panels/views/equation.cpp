#include "app/panels/views/equation.hpp"

#include <algorithm>
#include <utility>

#include "engine/trace/wiring.hpp"

namespace attn::app {
namespace {

constexpr const char* kTokenTable = "token_embedding.weight";

/// Parameter prefix of a stack: "encoder.", "decoder." or nothing.
std::string stack_prefix(Stack stack) { return stack == Stack::Encoder ? "encoder." : stack == Stack::Decoder ? "decoder." : ""; }

/// Parameter prefix of a layer: "layers.0.", "decoder.layers.1.".
std::string layer_prefix(const StageId& id) { return stack_prefix(id.stack) + "layers." + std::to_string(id.layer) + "."; }

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
            equation_.result.symbol = "P";
            break;
        case Stage::Embedding:
            sum();
            break;
        case Stage::FinalNorm:
            norm(stack_prefix(id_.stack) + "final_norm");
            break;
        case Stage::Logits:
            logits();
            break;
        case Stage::Probabilities:
            rowwise("softmax");
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

    /// The i-th stage that this one is computed from, under its own name unless a symbol is given.
    Matrix input(std::size_t i, std::string symbol = "") {
        const std::vector<StageId> inputs = stage_inputs(trace_.config, id_);
        if (i >= inputs.size()) return {};
        return stage(inputs[i], symbol.empty() ? std::string(stage_name(inputs[i].stage)) : std::move(symbol));
    }

    void rowwise(std::string op) {
        equation_.layout = Layout::Rowwise;
        equation_.op = std::move(op);
        equation_.operands.push_back(input(0));
        equation_.result.symbol = stage_name(id_.stage);
    }

    void norm(const std::string& parameters) {
        rowwise("norm");
        for (const auto& [part, symbol] : {std::pair{".weight", "γ"}, std::pair{".bias", "β"}}) {
            Matrix matrix = store_.parameter(trace_, parameters + part, Axis::N, Axis::C, 0, -1);
            matrix.symbol = symbol;
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
    }

    void sum() {
        equation_.op = "+";
        for (std::size_t i = 0; i < stage_inputs(trace_.config, id_).size(); ++i) {
            Matrix matrix = input(i);
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
        equation_.result.symbol = stage_name(id_.stage);
        equation_.layout = equation_.operands.empty() ? Layout::Single : Layout::Sum;
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

    /// input · weight + bias with a whole parameter.
    void linear(const std::string& name, const char* symbol, Axis from, Axis to) {
        product(input(0), weight(name + ".weight", symbol, from, to), weight(name + ".bias", "b", Axis::N, to),
                std::string(stage_name(id_.stage)));
    }

    void lookup() {
        product(store_.one_hot(trace_, id_, batch_), weight(kTokenTable, "W_E", Axis::V, Axis::C), {}, "E");
        equation_.operands[0].row_axis = equation_.result.row_axis;
    }

    void logits() {
        Matrix head = trace_.config.tied_lm_head ? store_.transposed(weight(kTokenTable, "W_E", Axis::V, Axis::C), "W_Eᵀ")
                                                 : weight("lm_head.weight", "W_U", Axis::C, Axis::V);
        product(input(0), std::move(head), {}, "logits");
    }

    void layer_stage() {
        const bool cross = is_cross(id_.stage);
        const std::string prefix = layer_prefix(id_), attention = prefix + (cross ? "cross_attention." : "attention.");
        switch (to_self(id_.stage)) {
        case Stage::Norm1:
            norm(prefix + (cross ? "cross_norm" : "norm_1"));
            break;
        case Stage::Norm2:
            norm(prefix + "norm_2");
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
            product(input(0, "Q"), store_.transposed(input(1, "K"), "Kᵀ"), {}, "scores");
            break;
        case Stage::Scaled:
            rowwise("÷ √" + std::to_string(trace_.config.head_size()));
            break;
        case Stage::Masked:
            rowwise("mask");
            break;
        case Stage::Weights:
            rowwise("softmax");
            equation_.row_sums = true;
            break;
        case Stage::Dropped:
            rowwise("dropout");
            equation_.row_sums = true;
            break;
        case Stage::Context:
            product(input(0, "A"), input(1, "V"), {}, "context");
            break;
        case Stage::Concat:
            concat();
            break;
        case Stage::AttentionOut:
            linear(attention + "out", "W_O", Axis::C, Axis::C);
            break;
        case Stage::Residual1:
        case Stage::Residual2:
            sum();
            break;
        case Stage::FfnHidden:
            linear(prefix + "ffn.in", "W_1", Axis::C, Axis::F);
            break;
        case Stage::FfnActivation:
            rowwise(trace_.config.activation == Activation::Relu ? "ReLU" : "GELU");
            break;
        case Stage::FfnOut:
            linear(prefix + "ffn.out", "W_2", Axis::F, Axis::C);
            break;
        default:
            break;
        }
    }

    /// part: 0 query, 1 key, 2 value. Self-attention packs the three; cross-attention packs key and value, which read the memory.
    void projection(int part, bool cross, const char* symbol, const char* weight_symbol) {
        const std::int64_t width = trace_.config.attention_width(), size = trace_.config.head_size();
        const std::int64_t head = std::min(head_, trace_.config.num_heads - 1);
        const std::string packed = layer_prefix(id_) + (cross ? part == 0 ? "cross_attention.q" : "cross_attention.kv" : "attention.qkv");
        const std::int64_t first = (cross ? std::max(part - 1, 0) : part) * width + head * size;
        Matrix left = input(0);
        left.row_axis = equation_.result.row_axis;
        product(std::move(left), weight(packed + ".weight", weight_symbol, Axis::C, Axis::D, first, size),
                weight(packed + ".bias", "b", Axis::N, Axis::D, first, size), symbol);
    }

    void concat() {
        equation_.layout = Layout::Sum;
        equation_.op = "‖";
        const StageId context = stage_inputs(trace_.config, id_).front();
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

Equation equation_of(MatrixStore& store, const Trace<float>& trace, const StageId& id, std::int64_t batch, std::int64_t head) {
    return Builder(store, trace, id, batch, head).build();
}

}  // namespace attn::app
