#include "app/panels/kit/navigation.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "app/panels/kit/head_of.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/model_blocks.hpp"
#include "app/session/states/kept_tokenizer.hpp"

namespace attn::app {
namespace {

std::int64_t position_of(const Trace<float>& trace, const StageId& id) {
    const PlanNode* node = trace.plan->find(id);
    return node == nullptr ? -1 : node - trace.plan->nodes().data();
}

/// The model's stage closest to one that it does not have: the same stage elsewhere, otherwise the nearest in the order of computation.
StageId closest(const Trace<float>& trace, const StageId& wanted) {
    StageId best = trace.plan->nodes().front().id;
    int best_distance = 1 << 30;
    for (const PlanNode& node : trace.plan->nodes()) {
        const int distance = steps_between(node.id.stage, wanted.stage) * 1000 + std::abs(node.id.layer - wanted.layer) * 4 +
                             (node.id.attention == wanted.attention ? 0 : 2) + (node.id.stack == wanted.stack ? 0 : 1);
        if (distance < best_distance) {
            best_distance = distance;
            best = node.id;
        }
    }
    return best;
}

void select_axes(AxisSelection& selection, const Shape& shape, const CellRef& cell) {
    for (int a = 0; a < shape.rank(); ++a)
        if (shape[a].axis != Axis::B && shape[a].axis != Axis::H && shape[a].axis != Axis::G)
            selection.set(shape[a].axis, cell.index[static_cast<std::size_t>(a)]);
}

std::int64_t last_position(const Trace<float>& trace) {
    return trace.tokens.lengths.empty() ? 0 : std::max<std::int64_t>(trace.tokens.lengths[0] - 1, 0);
}

/// Whether the selection has an index on one of the tensor's axes.
bool touches(const Shape& shape, const AxisSelection& selection) {
    return std::any_of(shape.begin(), shape.end(), [&](const Dim& dim) { return selection.on(dim.axis).has_value(); });
}

/// The index on an axis that `selection` does not name: the one selected by a click; if there is none, on a token axis the position
/// selected on the other one, otherwise the first.
std::int64_t default_index(const Dim& dim, const AxisSelection& selection, const AxisSelection& locked) {
    if (const auto index = locked.on(dim.axis); index && *index < dim.size) return *index;
    const Axis other = dim.axis == Axis::T ? Axis::S : dim.axis == Axis::S ? Axis::T : dim.axis;
    return std::min(selection.on(other).value_or(0), dim.size - 1);
}

}  // namespace

std::int64_t batch_size(const Trace<float>& trace) { return trace.tokens.size(); }
std::int64_t head_count(const Trace<float>& trace) { return trace.config.num_heads; }

void keep_view_valid(ViewState& view, const Trace<float>& trace) {
    if (position_of(trace, view.stage) < 0) view.stage = closest(trace, view.stage);
    view.head = std::clamp<std::int64_t>(view.head, 0, head_count(trace) - 1);
    view.batch = std::clamp<std::int64_t>(view.batch, 0, batch_size(trace) - 1);
}

void keep_selection_in_text(ViewState& view, const Trace<float>& trace) {
    if (trace.plan->find(view.stage) == nullptr) return;
    for (const Dim& dim : trace.shape_of(view.stage)) {
        if (dim.axis != Axis::T && dim.axis != Axis::S) continue;
        if (const auto index = view.locked.on(dim.axis); index && *index >= dim.size) view.locked.set(dim.axis, dim.size - 1);
    }
}

bool step_stage(ViewState& view, const Trace<float>& trace, int direction) {
    const std::int64_t next = position_of(trace, view.stage) + direction;
    if (next < 0 || next >= std::ssize(trace.plan->nodes())) return false;
    view.stage = trace.plan->nodes()[static_cast<std::size_t>(next)].id;
    return true;
}

void go_to_first_stage(ViewState& view, const Trace<float>& trace) { view.stage = trace.plan->nodes().front().id; }

void go_to_last_stage(ViewState& view, const Trace<float>& trace) { view.stage = trace.plan->nodes().back().id; }

void select_first_cell(ViewState& view, const Trace<float>& trace) {
    const std::int64_t last = last_position(trace);
    view.locked.set(Axis::T, std::min<std::int64_t>(6, last));
    view.locked.set(Axis::S, std::min<std::int64_t>(2, last));
}

void select_opening_cell(ViewState& view, const Document& document, const Snapshot& snapshot) {
    const Trace<float>& trace = *snapshot.trace;
    select_first_cell(view, trace);
    if (document.model == nullptr || document.look) return;
    std::int64_t query = last_position(trace);
    if (trace.config.architecture == Architecture::Encoder && !snapshot.tokens.empty()) {
        const std::vector<Token>& tokens = snapshot.tokens.front();
        const std::string mask = conventions_of(document).mask;
        const auto hidden = std::find_if(tokens.begin(), tokens.end(), [&](const Token& token) { return token.text == mask; });
        if (!mask.empty() && hidden != tokens.end()) query = hidden - tokens.begin();
    }
    view.locked.set(Axis::T, query);
}

void step_block(ViewState& view, const Trace<float>& trace, int direction) {
    const std::vector<ModelBlock> blocks = model_blocks(*trace.plan);
    const auto now = static_cast<std::ptrdiff_t>(block_of(blocks, *trace.plan, view.stage));
    const std::ptrdiff_t next = std::clamp<std::ptrdiff_t>(now + direction, 0, static_cast<std::ptrdiff_t>(blocks.size()) - 1);
    if (next == now) return;
    view.playing = false;
    view.stage = stage_in(*trace.plan, blocks[static_cast<std::size_t>(next)], view.stage);
}

void go_to_layer(ViewState& view, const Trace<float>& trace, int layer) {
    StageId wanted = view.stage;
    wanted.layer = layer;
    if (!is_layer_stage(wanted.stage)) wanted.stage = Stage::Weights;
    view.stage = position_of(trace, wanted) >= 0 ? wanted : closest(trace, wanted);
}

std::optional<CellRef> selected_cell(const ViewState& view, const Trace<float>& trace, const AxisSelection& selection) {
    if (trace.plan->find(view.stage) == nullptr) return std::nullopt;
    const Shape shape = trace.shape_of(view.stage);
    if (!touches(shape, selection)) return std::nullopt;
    CellRef cell;
    cell.stage = view.stage;
    for (int a = 0; a < shape.rank(); ++a) {
        std::int64_t index = 0;
        if (shape[a].axis == Axis::B) index = view.batch;
        else if (shape[a].axis == Axis::H || shape[a].axis == Axis::G) index = head_of(trace.config, shape, view.head);
        else index = selection.on(shape[a].axis).value_or(default_index(shape[a], selection, view.locked));
        if (index >= shape[a].size) return std::nullopt;
        cell.index[static_cast<std::size_t>(a)] = index;
    }
    return cell;
}

std::string head_name(const Trace<float>& trace, const CellRef& cell) {
    if (!cell.parameter.empty() || trace.plan->find(cell.stage) == nullptr) return "";
    const Shape shape = trace.shape_of(cell.stage);
    for (int a = 0; a < shape.rank(); ++a)
        if (shape[a].axis == Axis::H || shape[a].axis == Axis::G)
            return attention_name(cell.stage, cell.index[static_cast<std::size_t>(a)]);
    return "";
}

void go_to_cell(ViewState& view, const Trace<float>& trace, const CellRef& cell) {
    if (!cell.parameter.empty()) return;
    if (trace.plan->find(cell.stage) == nullptr) return;
    view.stage = cell.stage;
    const Shape shape = trace.shape_of(cell.stage);
    for (int a = 0; a < shape.rank(); ++a) {
        if (shape[a].axis == Axis::B) view.batch = cell.index[static_cast<std::size_t>(a)];
        if (shape[a].axis == Axis::H || shape[a].axis == Axis::G)
            view.head = query_head(trace.config, shape, cell.index[static_cast<std::size_t>(a)], view.head);
    }
    select_axes(view.locked, shape, cell);
    view.hovered.clear();
}

}  // namespace attn::app
