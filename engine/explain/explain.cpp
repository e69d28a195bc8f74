#include "engine/explain/explain.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "engine/explain/explain_stage.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace provenance {

std::string number(std::int64_t i) { return std::to_string(i); }

std::string cell(const TraceCells& cells, const StageId& id, const Index& index) {
    return cell_label(cells.name(id), cells.shape(id), index);
}

Operand constant(std::string label, double value) { return {{}, std::move(label), value, true}; }

Term product(std::string label, Operand a, Operand b) {
    const double value = a.value * b.value;
    return {std::move(label), {std::move(a), std::move(b)}, value};
}

Term single(std::string label, Operand a) {
    const double value = a.value;
    return {std::move(label), {std::move(a)}, value};
}

double sum_of(const std::vector<Term>& terms) {
    double sum = 0;
    for (const Term& term : terms) sum += term.value;
    return sum;
}

namespace {

Provenance explain_stage(const TraceCells& cells, const StageId& id, const Index& index) {
    const PlanNode& node = cells.plan().at(id);
    switch (node.op) {
    case Op::Tokens:
        return tokens(cells, node, index);
    case Op::Embed:
        return embed(cells, node, index);
    case Op::Positions:
        return positions(cells, node, index);
    case Op::Segments:
        return segments(cells, node, index);
    case Op::Add:
        return add(cells, node, index);
    case Op::Norm:
        return norm(cells, node, index);
    case Op::Linear:
        return linear(cells, node, index);
    case Op::Rotate:
        return rotate(cells, node, index);
    case Op::Scores:
        return scores(cells, node, index);
    case Op::Scale:
        return scale(cells, node, index);
    case Op::Cap:
        return cap(cells, node, index);
    case Op::Bias:
        return bias(cells, node, index);
    case Op::Mask:
        return mask(cells, node, index);
    case Op::Softmax:
        return softmax(cells, node, index);
    case Op::Dropout:
        return dropout(cells, node, index);
    case Op::Mix:
        return mix(cells, node, index);
    case Op::JoinHeads:
        return join_heads(cells, node, index);
    case Op::Activate:
        return activate(cells, node, index);
    case Op::Multiply:
        return multiply(cells, node, index);
    case Op::Probabilities:
        return probabilities(cells, node, index);
    case Op::Given:
        return given(cells, node, index);
    case Op::PassOn:
        return pass_on(cells, node, index);
    case Op::LinearByReshape:
        return linear(cells, node, index);
    case Op::SoftmaxOverQueries:
        return softmax_over_queries(cells, node, index);
    case Op::SoftmaxThenMask:
        return softmax_then_mask(cells, node, index);
    case Op::DropoutLeftOn:
        return dropout_left_on(cells, node, index);
    case Op::JoinByReshape:
        return join_by_reshape(cells, node, index);
    }
    throw Error("there is no operation for " + tensor_name(id));
}

Provenance explain_parameter(const TraceCells& cells, const CellRef& cell) {
    Provenance out;
    const Operand parameter = cells.operand(cell);
    out.formula = parameter.label + " of " + cell.parameter;
    out.sentence = "A parameter of the model, changed only by training.";
    out.result = parameter.value;
    return out;
}

/// The cell of another stage closest to this one: the same sequence, position, head and column as far as both stages have them. A key's
/// index along S is its position in k and v.
Index nearest_index(const TraceCells& cells, const StageId& from, const Index& index, const StageId& to) {
    const Shape& source = cells.shape(from);
    const Shape& target = cells.shape(to);
    const std::int64_t head_size = cells.config().head_size();
    const auto of = [&](Axis axis) {
        for (int i = 0; i < source.rank(); ++i)
            if (source[i].axis == axis) return index[static_cast<std::size_t>(i)];
        return std::int64_t{0};
    };
    const std::int64_t position = source.has(Axis::T) ? of(Axis::T) : of(Axis::S);
    const std::int64_t column = index[static_cast<std::size_t>(source.rank() - 1)];
    const bool from_heads = source.has(Axis::H) || source.has(Axis::G), to_heads = target.has(Axis::H) || target.has(Axis::G);
    const bool splits = !from_heads && to_heads, joins = from_heads && !to_heads;
    const std::int64_t group = cells.config().group_size(), head = source.has(Axis::G) ? of(Axis::G) * group : of(Axis::H);
    Index out{};
    for (int i = 0; i < target.rank(); ++i) {
        std::int64_t& at = out[static_cast<std::size_t>(i)];
        switch (target[i].axis) {
        case Axis::B:
            at = of(Axis::B);
            break;
        case Axis::H:
            at = splits ? column / head_size : head;
            break;
        case Axis::G:
            at = splits ? column / head_size : head / group;
            break;
        case Axis::T:
            at = position;
            break;
        case Axis::S:
            at = source.has(Axis::S) ? of(Axis::S) : position;
            break;
        case Axis::D:
            at = splits ? column % head_size : source.has(Axis::D) ? of(Axis::D) : 0;
            break;
        default:
            at = joins ? head * head_size + of(Axis::D) : source.rank() == 3 ? column : 0;
            break;
        }
        at = std::min(at, target[i].size - 1);
    }
    return out;
}

/// Notes where a deliberate mistake takes effect, and what the same operands give without it.
void explain_mistake(Provenance& out, const Provenance& right, Mistake mistake, const PlanNode& node) {
    const bool alike = out.result == right.result || (std::isnan(out.result) && std::isnan(right.result));
    const bool differs = !alike && !(std::abs(out.result - right.result) <= 1e-9 * (std::abs(out.result) + std::abs(right.result)));
    const bool acts_here = out.formula != right.formula || (differs && !out.masked) || node.settings.mask_rule != MaskRule::Right;
    if (!acts_here) return;
    out.sentence += " On purpose, " + std::string(mistake_info(mistake).words) + ".";
    if (differs && !out.masked) out.steps.push_back({"done right", right.result, {}});
}

template <class Scalar>
class CellsOf final : public TraceCells {
public:
    /// `here`: the cell looked at.
    CellsOf(const Trace<Scalar>& trace, const std::vector<ReducedMap>& rows, const CellRef& here)
        : CellsOf(trace, rows, here, *trace.plan) {}
    /// `plan` must outlive this.
    CellsOf(const Trace<Scalar>& trace, const std::vector<ReducedMap>& rows, const CellRef& here, const Plan& plan)
        : TraceCells(trace.config, plan, trace.settings, trace.parameters == nullptr ? nullptr : &trace.parameters->layout(), trace.tokens,
                     trace.source_tokens, here.stage),
          trace_(trace), rows_(rows) {}

    /// Whether the number is available.
    bool holds(const StageId& id, const Index& index) const {
        const RecordedStage<Scalar>* stage = trace_.find(id, index[1]);
        return stage != nullptr ? !stage->value.empty() : rows_of(id) != nullptr && rows_of(id)->region.holds(index[2], index[3]);
    }

private:
    /// The recorded stage, perhaps with a single head.
    const RecordedStage<Scalar>* held(const StageId& id) const {
        const auto is_it = [&](const RecordedStage<Scalar>& stage) { return stage.id == id; };
        const auto stage = std::find_if(trace_.stages.begin(), trace_.stages.end(), is_it);
        return stage == trace_.stages.end() ? nullptr : &*stage;
    }
    const Shape* find(const StageId& id) const override {
        const RecordedStage<Scalar>* stage = held(id);
        if (stage == nullptr && rows_of(id) == nullptr) return nullptr;
        return stage == nullptr || stage->only_head ? &whole_shapes_.try_emplace(tensor_name(id), trace_.shape_of(id)).first->second
                                                    : &stage->value.shape();
    }
    double stage_value(const StageId& id, std::int64_t flat) const override {
        const RecordedStage<Scalar>* stage = held(id);
        if (stage == nullptr) return number_in_rows(id, flat);
        if (!stage->only_head) return static_cast<double>(stage->value.data()[flat]);
        const std::int64_t before = flat - *stage->only_head * stage->value.size();
        if (before < 0 || before >= stage->value.size())
            throw Error("the trace has head " + std::to_string(*stage->only_head) + " of " + tensor_name(id) + " and no other");
        return static_cast<double>(stage->value.data()[before]);
    }
    double parameter_value(const ParameterInfo& whole, std::int64_t flat) const override { return trace_.parameters->number(whole, flat); }
    const Mask* mask(const StageId& id) const override {
        const RecordedStage<Scalar>* stage = held(id);
        return stage == nullptr ? nullptr : stage->mask.get();
    }
    bool masked_in_rows(const StageId& id, const Index& index) const override {
        const ReducedMap* map = rows_of(id);
        if (map == nullptr || map->keep.empty() || !map->region.holds(index[2], index[3])) return false;
        return map->keep[static_cast<std::size_t>(place_in(map->region, index[2], index[3]))] == 0;
    }

    /// Unreduced rows of a map that the trace does not hold; nullptr if there are none.
    const ReducedMap* rows_of(const StageId& id) const {
        if (held(id) != nullptr) return nullptr;
        const auto found =
            std::find_if(rows_.begin(), rows_.end(), [&](const ReducedMap& map) { return map.id == id && map.region.level == 0; });
        return found == rows_.end() ? nullptr : &*found;
    }
    static std::int64_t place_in(const MapRegion& region, std::int64_t row, std::int64_t col) {
        return (row - region.first_row) * region.cols + col - region.first_col;
    }
    double number_in_rows(const StageId& id, std::int64_t flat) const {
        const ReducedMap& map = *rows_of(id);
        const std::int64_t keys = trace_.tokens.length, col = flat % keys, row = flat / keys % keys, head = flat / keys / keys;
        const auto place = map.place_of(head, trace_.config.num_heads);
        if (!place || !map.region.holds(row, col)) throw Error("the trace has other rows of " + tensor_name(id));
        return static_cast<double>(map.numbers(*place)[place_in(map.region, row, col)]);
    }

    const Trace<Scalar>& trace_;
    const std::vector<ReducedMap>& rows_;
    mutable std::map<std::string, Shape> whole_shapes_;  ///< of stages with a single head; shape() returns references to them
};

}  // namespace
}  // namespace provenance

template <class Scalar>
Provenance explain(const Trace<Scalar>& trace, const CellRef& cell, const std::vector<ReducedMap>& rows) {
    const provenance::CellsOf<Scalar> cells(trace, rows, cell);
    const double recorded = cells.value(cell);
    Provenance out =
        cell.parameter.empty() ? provenance::explain_stage(cells, cell.stage, cell.index) : provenance::explain_parameter(cells, cell);
    if (cell.parameter.empty() && trace.settings.mistaken()) {
        const Plan right(trace.config);
        const provenance::CellsOf<Scalar> right_cells(trace, rows, cell, right);
        provenance::explain_mistake(out, provenance::explain_stage(right_cells, cell.stage, cell.index), trace.settings.mistake,
                                    trace.plan->at(cell.stage));
    }
    if (cell.parameter.empty()) provenance::explain_edits(out, cells, cell.stage, cell.index);
    out.recorded = recorded;
    return out;
}

template <class Scalar>
std::vector<Operand> where_it_goes(const Trace<Scalar>& trace, const CellRef& cell, const std::vector<ReducedMap>& rows) {
    const provenance::CellsOf<Scalar> cells(trace, rows, cell);
    (void)cells.value(cell);  // throws if there is no such cell
    std::vector<Operand> out;
    if (!cell.parameter.empty()) return out;
    for (const PlanNode& node : trace.plan->nodes()) {
        if (std::find(node.inputs.begin(), node.inputs.end(), cell.stage) == node.inputs.end()) continue;
        if (!cells.has(node.id)) continue;
        const auto index = provenance::nearest_index(cells, cell.stage, cell.index, node.id);
        if (cells.holds(node.id, index)) out.push_back(cells.operand(node.id, index));
    }
    return out;
}

template Provenance explain(const Trace<float>&, const CellRef&, const std::vector<ReducedMap>&);
template Provenance explain(const Trace<double>&, const CellRef&, const std::vector<ReducedMap>&);
template std::vector<Operand> where_it_goes(const Trace<float>&, const CellRef&, const std::vector<ReducedMap>&);
template std::vector<Operand> where_it_goes(const Trace<double>&, const CellRef&, const std::vector<ReducedMap>&);

}  // namespace attn
