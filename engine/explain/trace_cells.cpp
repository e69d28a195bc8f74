#include "engine/explain/trace_cells.hpp"

#include <optional>

#include "engine/ops/dropout.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/apply_edit.hpp"

namespace attn {
namespace {

bool ends_with(const std::string& text, std::string_view end) { return std::string_view(text).ends_with(end); }

/// A parameter's symbol: "W_Q", "b_1", "γ".
std::string parameter_symbol(const std::string& name) {
    const bool bias = ends_with(name, ".bias");
    const std::string letter = bias ? "b_" : "W_";
    const std::string owner = name.substr(0, name.rfind('.'));
    if (name == "token_embedding.weight") return "E";
    if (name.ends_with("position_embedding.weight")) return "P";
    if (name == "segment_embedding.weight") return "S";
    if (name.ends_with("position_bias.weight")) return "bias";
    if (name == "head_transform.weight") return "W_h";
    if (name == "head_transform.bias") return "b_h";
    if (name == "lm_head.weight") return "W_head";
    if (name == "lm_head.bias") return "b_head";
    if (name == "embedding_in.weight") return "W_in";
    if (name == "head_in.weight") return "W_out";
    if (ends_with(owner, ".q")) return letter + "Q";
    if (ends_with(owner, ".k")) return letter + "K";
    if (ends_with(owner, ".v")) return letter + "V";
    if (ends_with(owner, "attention.out")) return letter + "O";
    if (ends_with(owner, "ffn.gate")) return letter + "g";
    if (ends_with(owner, "ffn.in")) return letter + "1";
    if (ends_with(owner, "ffn.out")) return letter + "2";
    return bias ? "β" : "γ";
}

}  // namespace

std::int64_t flat_index(const Shape& shape, const TraceCells::Index& index, const std::string& what) {
    std::int64_t at = 0;
    for (int axis = 0; axis < static_cast<int>(index.size()); ++axis) {
        const std::int64_t i = index[static_cast<std::size_t>(axis)];
        const std::int64_t size = axis < shape.rank() ? shape[axis].size : 1;
        if (i < 0 || i >= size)
            throw Error(what + " " + shape.text() + " has no index " + std::to_string(i) + " on its axis " + std::to_string(axis));
        at = at * size + i;
    }
    return at;
}

std::string cell_label(const std::string& symbol, const Shape& shape, const TraceCells::Index& index) {
    std::string out = symbol + "[";
    const int rank = shape.rank();
    // A [B,T] stage is a row per sequence: the position is enough.
    const int first = rank == 2 && shape[0].axis == Axis::B ? 1 : rank > 2 ? rank - 2 : 0;
    for (int axis = first; axis < rank; ++axis) {
        if (axis > first) out += ",";
        out += std::to_string(index[static_cast<std::size_t>(axis)]);
    }
    return out + "]";
}

const Shape& TraceCells::shape(const StageId& id) const {
    const Shape* shape = find(id);
    if (shape == nullptr) throw Error("the trace has no stage " + tensor_name(id));
    return *shape;
}

ParameterPlace TraceCells::place(const std::string& name) const {
    const ParameterPlace place = layout_ == nullptr ? ParameterPlace{} : layout_->place(name);
    if (place.whole == nullptr) throw Error("the model has no parameter " + name);
    return place;
}

double TraceCells::value(const CellRef& cell) const {
    if (cell.parameter.empty()) return stage_value(cell.stage, flat_index(shape(cell.stage), cell.index, tensor_name(cell.stage)));
    const ParameterPlace place = this->place(cell.parameter);
    const Shape shape = place.shape();
    flat_index(shape, cell.index, cell.parameter);  // checks the index
    const bool matrix = shape.rank() == 2;
    return parameter_value(*place.whole, place.first_column + (matrix ? cell.index[0] * place.stride() + cell.index[1] : cell.index[0]));
}

bool TraceCells::masked(const StageId& id, const Index& index) const {
    const Mask* found = mask(id);
    return found != nullptr ? !found->may_attend(index[0], index[1], index[2], index[3]) : masked_in_rows(id, index);
}

double TraceCells::bias(const StageId& id, const Index& index) const {
    const Mask* found = mask(id);
    return found == nullptr || !found->has_bias() ? 0 : found->bias_row(index[0], index[1], index[2])[index[3]];
}

double TraceCells::dropout_factor(const StageId& site, const Shape& shape, const Index& index, double rate) const {
    const DropoutPattern pattern(rate, settings_.dropout.seed, site);
    return pattern.keeps(flat_index(shape, index, tensor_name(site))) ? 1 / (1 - rate) : 0;
}

std::vector<CellEdit> TraceCells::edits_of(const StageId& id, const Index& index) const {
    std::vector<CellEdit> out;
    if (!any_edit_at(settings_.edits, id)) return out;
    const Shape& whole = shape(id);
    const std::int64_t cell = flat_index(whole, index, tensor_name(id));
    const auto row_axis = static_cast<std::size_t>(whole.rank() - 2);
    std::optional<Mask> row;  // for a map of which only some rows are available
    if (mask(id) == nullptr && is_attention_map(id.stage)) row = mask_of_row(id, index);
    for (const Edit& edit : settings_.edits) {
        if (!edit.on || edit.at != id) continue;
        Edit here = edit;  // restricted to the cell's own row
        if (here.row == Edit::kAll) here.row = index[row_axis];
        const bool in_row = row && edit.kind != EditKind::TakeRow;  // maps in rows have no such edits
        const std::int64_t wanted = in_row ? (index[0] * whole[1].size + index[1]) * whole[3].size + index[3] : cell;
        const EditReach reach(here, in_row ? whole.with_size(2, 1) : whole, in_row ? &*row : mask(id), in_row ? index[2] : 0);
        reach.for_cells([&](const ReachedCell& at) {
            if (at.cell == wanted) out.push_back({&edit, at.frozen});
        });
    }
    return out;
}

Mask TraceCells::mask_of_row(const StageId& id, const Index& index) const {
    const std::int64_t keys = shape(id)[3].size;
    Mask row(1, keys);
    for (std::int64_t s = 0; s < keys; ++s)
        if (masked_in_rows(id, {index[0], index[1], index[2], s})) row.forbid(0, s);
    return row;
}

Operand TraceCells::operand(const StageId& id, const Index& index) const {
    const CellRef cell{id, "", index};
    return {cell, cell_label(name(id), shape(id), index), value(cell)};
}

Operand TraceCells::operand(const CellRef& cell) const {
    return cell.parameter.empty() ? operand(cell.stage, cell.index) : parameter(cell.parameter, cell.index);
}

Operand TraceCells::parameter(const std::string& name, const Index& index) const {
    const CellRef cell{{}, name, index};
    return {cell, cell_label(parameter_symbol(name), place(name).shape(), index), value(cell)};
}

}  // namespace attn
