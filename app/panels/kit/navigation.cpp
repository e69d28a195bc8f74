#include "app/panels/kit/navigation.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/model_blocks.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/states/hidden_words.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

std::int64_t position_of(const Structure& structure, const StageId& id) {
    const PlanNode* node = structure.plan->find(id);
    return node == nullptr ? -1 : node - structure.plan->nodes().data();
}

/// The model's stage closest to one that it does not have: the same stage elsewhere, otherwise the nearest in the order of computation.
StageId closest(const Structure& structure, const StageId& wanted) {
    StageId best = structure.plan->nodes().front().id;
    int best_distance = 1 << 30;
    for (const PlanNode& node : structure.plan->nodes()) {
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

std::int64_t last_position(const Structure& structure) {
    return structure.tokens.lengths.empty() ? 0 : std::max<std::int64_t>(structure.tokens.lengths[0] - 1, 0);
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

TrailPlace place_of_view(const ViewState& view) { return {view.stage, view.head, view.batch, view.locked, view.view}; }

/// What lay ahead on the trail is given up; a new way begins where something else has been looked at meanwhile.
void add_to_trail(Trail& trail, const TrailPlace& from, const TrailPlace& to) {
    if (from == to) return;
    constexpr std::size_t kMost = 64;
    const bool goes_on = trail.at < trail.places.size() && trail.places[trail.at] == from;
    if (goes_on) trail.places.resize(trail.at + 1);
    else trail.places = {from};
    trail.places.push_back(to);
    if (trail.places.size() > kMost) trail.places.erase(trail.places.begin());
    trail.at = trail.places.size() - 1;
}

}  // namespace

std::int64_t batch_size(const Structure& structure) { return structure.tokens.size(); }
std::int64_t head_count(const Structure& structure) { return structure.config.num_heads; }

namespace {

/// Views of all heads show a map that there is: the same as before, or the last one, which in our models are weights or what became of
/// them.
void keep_maps_valid(ManyHeads& heads, const Plan& plan) {
    std::optional<Stage> last;
    for (const PlanNode& node : plan.nodes()) {
        if (node.id.stage == heads.stage) return;
        if (is_attention_map(node.id.stage)) last = node.id.stage;
    }
    heads.stage = last.value_or(heads.stage);
}

}  // namespace

void keep_view_valid(ViewState& view, const Structure& structure) {
    keep_maps_valid(view.heads, *structure.plan);
    if (position_of(structure, view.stage) < 0) view.stage = closest(structure, view.stage);
    view.head = std::clamp<std::int64_t>(view.head, 0, head_count(structure) - 1);
    view.batch = std::clamp<std::int64_t>(view.batch, 0, batch_size(structure) - 1);
}

void keep_selection_in_text(ViewState& view, const Structure& structure) {
    SelectionWhileTyping& typing = view.text_row.typing;
    // Of the shown text: what follows it is padding.
    const std::vector<std::int64_t>& lengths = structure.tokens.lengths;
    const auto text = static_cast<std::size_t>(view.batch);
    const std::int64_t length = text < lengths.size() && !view.text_row.source ? lengths[text] : structure.tokens.length;
    const std::int64_t last = std::max<std::int64_t>(length - 1, 0);  // an empty text is a place of padding
    const std::int64_t before = std::exchange(typing.length, length);
    const bool edits = view.text_row.edit.editing, edited = std::exchange(typing.editing, edits);
    if ((edits || edited) && view.locked == typing.kept) {
        view.locked = typing.wanted;
    } else {
        typing.wanted = view.locked;
        typing.at_end = before > 0 && view.locked.on(Axis::T) == before - 1;
    }
    if ((edits || edited) && typing.at_end) view.locked.set(Axis::T, last);
    for (const Axis axis : {Axis::T, Axis::S})
        if (const auto index = view.locked.on(axis); (edits || edited) && index && *index >= length) view.locked.set(axis, last);
    if (structure.plan->find(view.stage) != nullptr) {
        for (const Dim& dim : structure.shape_of(view.stage)) {
            if (dim.axis != Axis::T && dim.axis != Axis::S) continue;
            if (const auto index = view.locked.on(dim.axis); index && *index >= dim.size) view.locked.set(dim.axis, dim.size - 1);
        }
    }
    typing.kept = view.locked;
}

bool step_stage(ViewState& view, const Structure& structure, int direction) {
    const std::int64_t next = position_of(structure, view.stage) + direction;
    if (next < 0 || next >= std::ssize(structure.plan->nodes())) return false;
    view.stage = structure.plan->nodes()[static_cast<std::size_t>(next)].id;
    return true;
}

void go_to_first_stage(ViewState& view, const Structure& structure) { view.stage = structure.plan->nodes().front().id; }

void go_to_last_stage(ViewState& view, const Structure& structure) { view.stage = structure.plan->nodes().back().id; }

void select_first_cell(ViewState& view, const Structure& structure) {
    const std::int64_t last = last_position(structure);
    view.locked.set(Axis::T, std::min<std::int64_t>(6, last));
    view.locked.set(Axis::S, std::min<std::int64_t>(2, last));
}

void select_opening_cell(ViewState& view, const Document& document, const Snapshot& snapshot) {
    const Structure& structure = *snapshot.trace;
    select_first_cell(view, structure);
    // An example has its own cell for each of its sentences; of any other text, the last word is what the model goes on from.
    const bool own_text =
        document.model == nullptr && structure.config.lm_head && preset_of(document) != nullptr && shown_sentence(document) == nullptr;
    if ((document.model == nullptr && !own_text) || document.look) return;
    std::int64_t query = last_position(structure);
    if (structure.config.architecture == Architecture::Encoder && !snapshot.tokens.empty()) {
        const std::vector<Token>& tokens = snapshot.tokens.front();
        const std::string mask = conventions_of(document).mask;
        const auto hidden = std::find_if(tokens.begin(), tokens.end(), [&](const Token& token) { return token.text == mask; });
        if (!mask.empty() && hidden != tokens.end()) query = hidden - tokens.begin();
    }
    view.locked.set(Axis::T, query);
}

void step_block(ViewState& view, const Structure& structure, int direction) {
    const std::vector<ModelBlock> blocks = model_blocks(*structure.plan);
    const auto now = static_cast<std::ptrdiff_t>(block_of(blocks, *structure.plan, view.stage));
    const std::ptrdiff_t next = std::clamp<std::ptrdiff_t>(now + direction, 0, static_cast<std::ptrdiff_t>(blocks.size()) - 1);
    if (next == now) return;
    view.playing = false;
    view.stage = stage_in(*structure.plan, blocks[static_cast<std::size_t>(next)], view.stage);
}

void go_to_layer(ViewState& view, const Structure& structure, int layer) {
    StageId wanted = view.stage;
    wanted.layer = layer;
    if (!is_layer_stage(wanted.stage)) wanted.stage = Stage::Weights;
    view.stage = position_of(structure, wanted) >= 0 ? wanted : closest(structure, wanted);
}

std::optional<CellRef> selected_cell(const ViewState& view, const Structure& structure, const AxisSelection& selection) {
    if (structure.plan->find(view.stage) == nullptr) return std::nullopt;
    const Shape shape = structure.shape_of(view.stage);
    if (!touches(shape, selection)) return std::nullopt;
    CellRef cell;
    cell.stage = view.stage;
    for (int a = 0; a < shape.rank(); ++a) {
        std::int64_t index = 0;
        if (shape[a].axis == Axis::B) index = view.batch;
        else if (shape[a].axis == Axis::H || shape[a].axis == Axis::G) index = head_of(structure.config, shape, view.head);
        else index = selection.on(shape[a].axis).value_or(default_index(shape[a], selection, view.locked));
        if (index >= shape[a].size) return std::nullopt;
        cell.index[static_cast<std::size_t>(a)] = index;
    }
    return cell;
}

std::string head_name(const Structure& structure, const CellRef& cell) {
    if (!cell.parameter.empty() || structure.plan->find(cell.stage) == nullptr) return "";
    const Shape shape = structure.shape_of(cell.stage);
    for (int a = 0; a < shape.rank(); ++a)
        if (shape[a].axis == Axis::H || shape[a].axis == Axis::G)
            return attention_name(cell.stage, cell.index[static_cast<std::size_t>(a)]);
    return "";
}

bool is_on_trail(const ViewState& view) {
    const Trail& trail = view.trail;
    return trail.places.size() > 1 && trail.at < trail.places.size() && trail.places[trail.at] == place_of_view(view);
}

void follow_to(ViewState& view, const CellRef& cell) { view.trail.followed = cell; }

void keep_up_with_trail(ViewState& view, const Structure& structure) {
    if (const auto followed = std::exchange(view.trail.followed, {})) go_to_cell(view, structure, *followed);
    const auto wanted = std::exchange(view.trail.wanted, {});
    if (!wanted || *wanted >= view.trail.places.size()) return;
    while (view.trail.at != *wanted) walk_trail(view, structure, *wanted < view.trail.at ? -1 : +1);
}

void walk_trail(ViewState& view, const Structure& structure, int direction) {
    Trail& trail = view.trail;
    const bool can = direction < 0 ? trail.at > 0 : trail.at + 1 < trail.places.size();
    if (!can) return;
    const TrailPlace& place = trail.places[direction < 0 ? --trail.at : ++trail.at];
    if (structure.plan->find(place.stage) == nullptr) return;
    view.stage = place.stage;
    view.head = place.head;
    view.batch = std::min(place.batch, batch_size(structure) - 1);
    view.locked = place.cell;
    view.view = place.view;
}

void open_in_step(ViewState& view, const StageId& stage, std::int64_t head) {
    const TrailPlace from = place_of_view(view);
    view.stage = stage;
    view.head = head;
    view.view = View::Step;
    add_to_trail(view.trail, from, place_of_view(view));
}

void go_to_cell(ViewState& view, const Structure& structure, const CellRef& cell) {
    if (!cell.parameter.empty()) return;
    if (structure.plan->find(cell.stage) == nullptr) return;
    const TrailPlace from = place_of_view(view);
    view.stage = cell.stage;
    const Shape shape = structure.shape_of(cell.stage);
    for (int a = 0; a < shape.rank(); ++a) {
        if (shape[a].axis == Axis::B) view.batch = cell.index[static_cast<std::size_t>(a)];
        if (shape[a].axis == Axis::H || shape[a].axis == Axis::G)
            view.head = query_head(structure.config, shape, cell.index[static_cast<std::size_t>(a)], view.head);
    }
    select_axes(view.locked, shape, cell);
    view.hovered.clear();
    add_to_trail(view.trail, from, place_of_view(view));
}

}  // namespace attn::app
