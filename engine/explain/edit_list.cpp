#include "engine/explain/edit_list.hpp"

#include <algorithm>
#include <utility>

#include "engine/trace/apply_edit.hpp"

namespace attn {
namespace {

bool same_place(const Edit& a, const Edit& b) {
    return a.kind == b.kind && a.at == b.at && a.sequence == b.sequence && a.head == b.head && a.row == b.row && a.column == b.column;
}

/// Null if the stage has no mask or was not recorded; masked cells are then treated like others.
const Mask* mask_of(const Trace<float>& trace, const StageId& id) {
    const RecordedStage<float>* stage = trace.find(id);
    return stage == nullptr ? nullptr : stage->mask.get();
}

/// The mask that is applied to a stage of scores further on; null for other stages, and where no mask comes before the softmax.
const Mask* later_mask(const Trace<float>& trace, const StageId& id) {
    if (!is_attention_map(id.stage)) return nullptr;
    const StageId masked = of_same_attention(id, Stage::Masked);
    return trace.plan->before(id, masked) && trace.plan->at(masked).op == Op::Mask ? mask_of(trace, masked) : nullptr;
}

/// Other steps of a recording may have other stages.
std::string why_absent(const Trace<float>& trace, const StageId& id) {
    const bool is_lost = std::any_of(trace.lost.begin(), trace.lost.end(), [&](const LostStage& each) { return each.id == id; });
    if (is_lost) return "its other numbers are not known after the edits before it";
    const auto& nodes = trace.plan->nodes();
    const bool is_recorded = std::any_of(nodes.begin(), nodes.end(), [](const PlanNode& node) { return node.op == Op::Given; });
    return is_recorded ? "this step has no such stage" : "this model has no such stage";
}

bool holds(std::int64_t chosen, std::int64_t index) { return chosen == Edit::kAll || chosen == index; }

}  // namespace

std::vector<Edit> with_edit(std::vector<Edit> edits, const Edit& edit) {
    std::erase_if(edits, [&](const Edit& other) { return same_place(other, edit); });
    if (edits.size() < kMostEdits) edits.push_back(edit);
    return edits;
}

std::vector<Edit> without_text(std::vector<Edit> edits, std::int64_t text) {
    std::erase_if(edits, [&](const Edit& edit) { return edit.sequence == text || edit.from_sequence == text; });
    for (Edit& edit : edits)
        for (std::int64_t* index : {&edit.sequence, &edit.from_sequence})
            if (*index > text) --*index;
    return edits;
}

std::string why_without_effect(const Edit& edit, const Trace<float>& trace) {
    if (trace.plan->find(edit.at) == nullptr) return why_absent(trace, edit.at);
    const Shape shape = trace.shape_of(edit.at);
    const std::string why = why_without_effect(edit, shape, mask_of(trace, edit.at));
    const Mask* later = later_mask(trace, edit.at);
    if (!why.empty() || later == nullptr || EditReach(edit, shape, later).first()) return why;
    return "masked: takes no part";
}

std::vector<std::string> edits_in_vain(const Trace<float>& trace) {
    std::vector<std::string> reasons;
    for (const Edit& edit : trace.settings.edits) reasons.push_back(why_without_effect(edit, trace));
    return reasons;
}

std::vector<IdleEdit> idle_edits(const Trace<float>& trace) {
    std::vector<IdleEdit> idle;
    std::vector<std::string> reasons = edits_in_vain(trace);
    for (std::size_t i = 0; i < reasons.size(); ++i)
        if (trace.settings.edits[i].on && !reasons[i].empty()) idle.push_back({i, std::move(reasons[i])});
    return idle;
}

bool is_inside(const Shape& shape, const CellRef& cell) {
    for (int axis = 0; axis < static_cast<int>(cell.index.size()); ++axis) {
        const std::int64_t i = cell.index[static_cast<std::size_t>(axis)];
        if (i < 0 || i >= (axis < shape.rank() ? shape[axis].size : 1)) return false;
    }
    return true;
}

bool reaches(const Edit& edit, const Trace<float>& trace, const CellRef& cell) {
    if (!edit.on || !cell.parameter.empty() || edit.at != cell.stage || trace.plan->find(cell.stage) == nullptr) return false;
    const Shape shape = trace.shape_of(cell.stage);
    if (!is_inside(shape, cell)) return false;
    const auto row_axis = static_cast<std::size_t>(shape.rank() - 2);
    const bool split = shape.rank() == 4;
    if (!holds(edit.sequence, cell.index[0]) || !holds(edit.row, cell.index[row_axis]) || (split && !holds(edit.head, cell.index[1])))
        return false;
    // Restricted to the cell's own row.
    Edit here = edit;
    here.sequence = cell.index[0];
    here.row = cell.index[row_axis];
    if (split) here.head = cell.index[1];
    std::int64_t flat = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) flat = flat * shape[axis].size + cell.index[static_cast<std::size_t>(axis)];
    bool any = false;
    EditReach(here, shape, mask_of(trace, cell.stage)).for_cells([&](const ReachedCell& at) { any = any || at.cell == flat; });
    return any;
}

CellRef first_cell(const Edit& edit, const Trace<float>& trace) {
    CellRef cell{edit.at, "", {}};
    if (trace.plan->find(edit.at) == nullptr) return cell;
    const Shape shape = trace.shape_of(edit.at);
    const std::optional<ReachedCell> first = EditReach(edit, shape, mask_of(trace, edit.at)).first();
    std::int64_t rest = first ? first->cell : 0;
    for (int axis = shape.rank(); first && axis-- > 0;) {
        cell.index[static_cast<std::size_t>(axis)] = rest % shape[axis].size;
        rest /= shape[axis].size;
    }
    return cell;
}

}  // namespace attn
