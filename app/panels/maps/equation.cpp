#include "app/panels/maps/equation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/panels/kit/stage_words.hpp"
#include "engine/plan/name_beside.hpp"
#include "engine/plan/plan.hpp"

namespace attn::app {
namespace {

const char* activation_name(Activation activation) {
    switch (activation) {
    case Activation::Relu:
        return "ReLU";
    case Activation::GeluErf:
    case Activation::GeluTanh:
    case Activation::GeluClipped:
        return "GELU";
    case Activation::QuickGelu:
        return "QuickGELU";
    case Activation::Silu:
        return "SiLU";
    }
    return "";
}

/// Builds the matrices of a stage's equation; holds the arguments they share.
class Builder {
public:
    Builder(const NumberDesk& numbers, const Subject& of, const StageId& id, std::int64_t batch, std::int64_t head)
        : numbers_(numbers), of_(of), id_(id), node_(of.structure().plan->at(id)), batch_(batch), head_(head) {}

    Equation build() {
        equation_.result = stage(id_, "");
        switch (node_.op) {
        case Op::Tokens:
            break;
        case Op::Embed:
            lookup();
            break;
        case Op::Positions:
            equation_.result.symbol = "P";
            break;
        case Op::Segments:
            equation_.result.symbol = "S";
            break;
        case Op::Add:
            sum("+");
            break;
        case Op::Norm:
            norm();
            break;
        case Op::Linear:
        case Op::LinearByReshape:
            linear();
            break;
        case Op::Rotate:
            rowwise("rotate");
            break;
        case Op::Scores:
            product(input(0, "Q"), transposed(input(1, "K"), "Kᵀ"), {}, "scores");
            break;
        case Op::Scale:
            scale();
            break;
        case Op::Cap:
            rowwise(fmt::format("cap {:g}", node_.settings.cap));
            break;
        case Op::Bias:
            rowwise(node_.weight.empty() ? "− slope · distance" : "+ bias of the distance");
            break;
        case Op::Mask:
            rowwise("mask");
            break;
        case Op::Softmax:
        case Op::Probabilities:
            distributions("softmax");
            break;
        case Op::SoftmaxOverQueries:
            distributions("softmax over queries");
            break;
        case Op::SoftmaxThenMask:
            distributions("softmax, then mask");
            break;
        case Op::Given:
            if (!node_.inputs.empty()) rowwise(node_.origin.called);
            else equation_.result.symbol = of_.structure().plan->name_of(id_);
            break;
        case Op::PassOn:
            rowwise("unchanged");
            break;
        case Op::Dropout:
        case Op::DropoutLeftOn:
            distributions("dropout");
            break;
        case Op::Mix:
            product(input(0, "A"), input(1, "V"), {}, "context");
            break;
        case Op::JoinHeads:
        case Op::JoinByReshape:
            concat();
            break;
        case Op::Activate:
            rowwise(activation_name(node_.settings.activation));
            break;
        case Op::Multiply:
            sum("∘");
            break;
        }
        return std::move(equation_);
    }

private:
    /// From what is held for the equation's own stage.
    Matrix of_head(const StageId& id, std::int64_t head) const {
        return numbers_.numbers({.of = of_, .stage = id, .sequence = batch_, .head = head, .beside = id_}).map;
    }

    Matrix stage(const StageId& id, std::string symbol) {
        Matrix matrix = of_head(id, head_);
        if (!symbol.empty()) matrix.symbol = std::move(symbol);
        return matrix;
    }

    /// The i-th input stage, named after the stage, with its layer if that is another, unless a symbol is given.
    Matrix input(std::size_t i, std::string symbol = "") {
        const StageId& id = node_.inputs.at(i);
        return stage(id, symbol.empty() ? name_beside(id, id_) : std::move(symbol));
    }

    void rowwise(std::string op) {
        equation_.layout = Layout::Rowwise;
        equation_.op = std::move(op);
        equation_.operands.push_back(input(0));
        equation_.result.symbol = of_.structure().plan->name_of(id_);
    }

    /// Row-wise with rows that sum to 1.
    void distributions(std::string op) {
        rowwise(std::move(op));
        equation_.row_sums = true;
    }

    void scale() {
        if (!is_attention_map(id_.stage)) return rowwise(fmt::format("× {:.4g}", node_.settings.factor));
        rowwise(scale_words(node_.settings.factor, config().head_size()));
    }

    void norm() {
        rowwise(node_.settings.norm_kind == NormKind::LayerNorm ? "norm" : "RMS norm");
        for (const auto& [part, symbol] : {std::pair{&node_.weight, "γ"}, std::pair{&node_.bias, "β"}}) {
            Matrix matrix = numbers_.parameter(of_, {part->name, Axis::N, Axis::C});
            matrix.symbol = symbol;
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
    }

    /// Element-wise: a sum or a product of the inputs.
    void sum(std::string op) {
        equation_.op = std::move(op);
        for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
            Matrix matrix = input(i);
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
        equation_.result.symbol = of_.structure().plan->name_of(id_);
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

    /// The part of a parameter that the shown head uses.
    Matrix parameter(const PlanParameter& used, std::string symbol, Axis rows, Axis cols) {
        if (used.empty()) return {};
        const bool for_head = node_.has_heads() && node_.op != Op::LinearByReshape;  // a reshape's heads read all columns
        const std::int64_t size = config().head_size(), chosen = std::min(head_, config().num_heads - 1),
                           head = for_head && node_.axes[1] == Axis::G ? chosen / config().group_size() : chosen;
        Matrix matrix = numbers_.parameter(of_, {used.name, rows, cols, for_head ? head * size : 0, for_head ? size : -1});
        matrix.symbol = std::move(symbol);
        return matrix;
    }

    void lookup() {
        product(numbers_.one_hot(of_, id_, batch_), parameter(node_.weight, "W_E", Axis::V, node_.axes.back()), {}, "E");
        equation_.operands[0].row_axis = equation_.result.row_axis;
    }

    void linear() {
        const Stage stage = id_.stage;
        const Axis from = stage == Stage::FfnOut ? Axis::F : stage == Stage::EmbeddingIn ? Axis::N : Axis::C, to = node_.axes.back();
        Matrix left = input(0), weight;
        if (node_.has_heads()) left.row_axis = equation_.result.row_axis;
        if (node_.weight.transposed) weight = transposed(parameter(node_.weight, "W_E", to, from), "W_Eᵀ");
        else weight = parameter(node_.weight, stage == Stage::Logits ? "W_U" : "W_" + std::string(linear_subscript(stage)), from, to);
        product(std::move(left), std::move(weight), parameter(node_.bias, "b", Axis::N, to),
                node_.has_heads() ? std::string(stage_symbol(stage)) : stage_name(id_));
    }

    void concat() {
        equation_.layout = Layout::Sum;
        equation_.op = "‖";
        const StageId context = node_.inputs.front();
        for (std::int64_t h = 0; h < config().num_heads; ++h) {
            Matrix matrix = of_head(context, h);
            matrix.symbol = "head " + std::to_string(h);
            matrix.name += " " + std::to_string(h);
            if (!matrix.empty()) equation_.operands.push_back(std::move(matrix));
        }
        equation_.result.symbol = "concat";
    }

    const Config& config() const { return of_.structure().config; }

    const NumberDesk& numbers_;
    const Subject& of_;
    const StageId& id_;
    const PlanNode& node_;
    std::int64_t batch_, head_;
    Equation equation_;
};

}  // namespace

Equation equation_of(const NumberDesk& numbers, const Subject& of, const StageId& id, std::int64_t batch, std::int64_t head) {
    return Builder(numbers, of, id, batch, head).build();
}

}  // namespace attn::app
