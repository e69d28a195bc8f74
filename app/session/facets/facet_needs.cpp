#include "app/session/facets/facet_needs.hpp"

#include <algorithm>

#include "app/session/facets/snapshot.hpp"
#include "app/session/states/part_looked_at.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/value_norms.hpp"

namespace attn::app {
namespace {

/// What a facet of one stage reads.
struct ReadStage {
    StageId id;
    std::optional<std::int64_t> head{};
    MapsWanted maps = MapsWanted::Numbers;
};

std::optional<ReadStage> read_stage(const Facet& facet) {
    const auto* explanation = std::get_if<facet::Explanation>(&facet);
    if (explanation != nullptr && explanation->cell.parameter.empty())
        return ReadStage{explanation->cell.stage, explanation->head, explanation->in_rows ? MapsWanted::Reduced : MapsWanted::Numbers};
    if (const auto* mean = std::get_if<facet::HeadMean>(&facet)) return ReadStage{mean->stage};
    if (const auto* moved = std::get_if<facet::ValueNorms>(&facet)) return ReadStage{values_of(moved->weights), {}, MapsWanted::Reduced};
    const auto* statistics = std::get_if<facet::Statistics>(&facet);
    if (statistics != nullptr && !statistics->head && !statistics->part && statistics->parameter.empty())
        return ReadStage{statistics->stage};
    return {};
}

/// Whether an outline, perhaps only begun, suffices to compute the part around a stage.
bool reaches(const Trace<float>& outline, const StageId& id) {
    if (outline.whole()) return true;
    if (outline.plan->find(id) == nullptr) return false;
    const PlanPart part = outline.plan->part_around(id);
    return !part.stream || outline.find(*part.stream) != nullptr;
}

/// The beginning of a pass that the facet can be computed from, as long as the whole pass is not known; null if there is none.
std::shared_ptr<const Fact> beginning_for(const Request& request, const Results& results) {
    const std::optional<StageId> id = looks_at(request.facet);
    if (!id || results.find(request.state, facet::Trace{})) return nullptr;
    std::shared_ptr<const Fact> begun = results.begun(request.state);
    if (begun == nullptr) return nullptr;
    const Snapshot& snapshot = Results::answer<facet::Beginning>(begun.get())->snapshot;
    return reaches(*snapshot.trace, *id) ? begun : nullptr;
}

}  // namespace

std::optional<facet::Inside> part_needed(const Facet& facet, const Trace<float>& trace) {
    if (const auto* mean = std::get_if<facet::HeadMean>(&facet); mean != nullptr && !trace.whole() && mean->part) return mean->part;
    const std::optional<ReadStage> read = read_stage(facet);
    if (!read || trace.whole() || trace.plan->find(read->id) == nullptr) return {};
    return inside_with(trace, read->id, read->head, read->maps);
}

std::shared_ptr<const Snapshot> known_snapshot(const StateRef& state, const Results& results) {
    if (const auto trace = results.find(state, facet::Trace{})) return trace.value;
    const std::shared_ptr<const Fact> begun = results.begun(state);
    if (begun == nullptr) return nullptr;
    const auto pass = Results::answer<facet::Beginning>(begun.get()).value;
    return {pass, &pass->snapshot};
}

std::optional<facet::Inside> part_of_map(const Trace<float>& trace, const StageId& map) {
    if (trace.whole() || can_compute_in_rows(trace) || trace.plan->find(map) == nullptr) return {};
    return inside_with(trace, map);
}

std::optional<StageId> looks_at(const Facet& facet) {
    if (const auto* inside = std::get_if<facet::Inside>(&facet)) return inside->first;
    if (const auto* map = std::get_if<facet::MapRegion>(&facet); map != nullptr && map->change.minus == nullptr) return map->stage;
    if (const auto* statistics = std::get_if<facet::Statistics>(&facet);
        statistics != nullptr && !statistics->gradients && statistics->parameter.empty())
        return statistics->stage;
    if (const auto* slice = std::get_if<facet::ChangedSlice>(&facet)) return slice->stage;
    if (const auto* cells = std::get_if<facet::StrongCells>(&facet)) return cells->stage;
    const std::optional<ReadStage> read = read_stage(facet);
    return read ? std::optional(read->id) : std::nullopt;
}

namespace {

// What facets are computed from besides the trace:

std::vector<Request> needs_of_statistics(const StateRef& state, const facet::Statistics& statistics, const Results& results) {
    if (statistics.gradients) return {{state, facet::Gradients{}}};
    std::vector<Request> needs;
    const auto snapshot = statistics.part ? known_snapshot(state, results) : nullptr;
    if (snapshot != nullptr && !snapshot->trace->whole()) needs.push_back({state, *statistics.part});
    if (statistics.head && *statistics.head < 0) needs.push_back({state, facet::HeadMean{statistics.stage, statistics.part}});
    return needs;
}

std::vector<Request> needs_of_map(const StateRef& state, const facet::MapRegion& map, const Results& results) {
    std::vector<Request> needs;
    const auto need_part = [&](const StateRef& of, const StageId& id) {
        if (const auto there = known_snapshot(of, results))
            if (const auto part = part_of_map(*there->trace, id)) needs.push_back({of, *part});
    };
    if (map.change.minus != nullptr) needs.push_back({map.change.minus, facet::Trace{}});
    if (map.change != facet::MapChange{}) need_part(state, map.stage);
    if (map.change.minus != nullptr) need_part(map.change.minus, map.change.minus_stage);
    if (!map.change.norm_weighted) return needs;
    const facet::ValueNorms moved = facet::ValueNorms::of(map.stage);
    if (const auto snapshot = known_snapshot(state, results))
        if (const auto part = part_needed(moved, *snapshot->trace)) needs.push_back({state, *part});
    needs.push_back({state, moved});
    return needs;
}

std::vector<Request> needs_of_slice(const StateRef& state, const facet::ChangedSlice& slice, const Results& results) {
    std::vector<Request> needs;
    const auto need_part = [&](const StateRef& of, const std::optional<facet::Inside>& part) {
        const auto there = known_snapshot(of, results);
        if (part && there && !there->trace->whole()) needs.push_back({of, *part});
    };
    need_part(state, slice.part);
    if (slice.head < 0) needs.push_back({state, facet::HeadMean{slice.stage, slice.part}});
    if (slice.change.norm_weighted) needs.push_back({state, facet::ValueNorms::of(slice.stage)});
    const StateRef& other = slice.change.minus;
    if (other == nullptr) return needs;
    if (other != state) needs.push_back({other, facet::Trace{}});
    const facet::ChangedSlice subtracted = subtracted_slice(slice);
    need_part(other, subtracted.part);
    if (subtracted.head < 0) needs.push_back({other, facet::HeadMean{subtracted.stage, subtracted.part}});
    return needs;
}

std::vector<Request> needs_of_cells(const StateRef& state, const facet::StrongCells& cells, const Results& results) {
    const bool with_mean = std::any_of(cells.heads.begin(), cells.heads.end(), [](std::int64_t head) { return head < 0; });
    return needs_of_slice(state, {.stage = cells.stage, .head = with_mean ? -1 : 0, .part = cells.part}, results);
}

}  // namespace

facet::ChangedSlice subtracted_slice(const facet::ChangedSlice& slice) {
    return {.stage = slice.change.minus_stage,
            .sequence = slice.minus_sequence,
            .head = slice.change.minus_head.value_or(slice.head),
            .part = slice.minus_part};
}

std::vector<Request> needs_of(const Request& request, const Results& results) {
    const bool is_pass = std::holds_alternative<facet::Trace>(request.facet) || std::holds_alternative<facet::Beginning>(request.facet);
    if (request.state == nullptr || is_pass) return {};
    const std::shared_ptr<const Fact> beginning = beginning_for(request, results);
    std::vector<Request> needs{beginning != nullptr ? beginning->request : Request{request.state, facet::Trace{}}};
    if (const auto snapshot =
            beginning != nullptr ? known_snapshot(request.state, results) : results.find(request.state, facet::Trace{}).value)
        if (const auto part = part_needed(request.facet, *snapshot->trace)) needs.push_back({request.state, *part});
    const auto add = [&needs](const std::vector<Request>& more) { needs.insert(needs.end(), more.begin(), more.end()); };
    if (const auto* statistics = std::get_if<facet::Statistics>(&request.facet))
        add(needs_of_statistics(request.state, *statistics, results));
    if (const auto* map = std::get_if<facet::MapRegion>(&request.facet)) add(needs_of_map(request.state, *map, results));
    if (const auto* slice = std::get_if<facet::ChangedSlice>(&request.facet)) add(needs_of_slice(request.state, *slice, results));
    if (const auto* cells = std::get_if<facet::StrongCells>(&request.facet)) add(needs_of_cells(request.state, *cells, results));
    if (const auto* totals = std::get_if<facet::TotalsSlice>(&request.facet)) {
        needs.push_back({request.state, facet::Totals{}});
        if (totals->minus != nullptr) add({{totals->minus, facet::Trace{}}, {totals->minus, facet::Totals{}}});
    }
    if (std::holds_alternative<facet::RolloutTerms>(request.facet)) needs.push_back({request.state, facet::Totals{}});
    if (const auto* same = std::get_if<facet::SameNumbers>(&request.facet)) needs.push_back({same->other, facet::Trace{}});
    if (const auto* first = std::get_if<facet::FirstDifference>(&request.facet)) needs.push_back({first->other, facet::Trace{}});
    return needs;
}

bool comes_with_trace(const Request& request) {
    if (request.state == nullptr || info_of(request.facet).lane != Lane::Prompt) return false;
    const auto* statistics = std::get_if<facet::Statistics>(&request.facet);
    const bool waits_for_gradients = statistics != nullptr && statistics->gradients,
               of_weights = statistics != nullptr && !statistics->parameter.empty();
    const auto* slice = std::get_if<facet::ChangedSlice>(&request.facet);
    const bool sums_rows = slice != nullptr && slice->row_sums;  // numbers beside the picture, which can come later
    // Another tokenizer's file has to be read first, which can take long.
    return !waits_for_gradients && !of_weights && !sums_rows && !std::holds_alternative<facet::Trace>(request.facet) &&
           !std::holds_alternative<facet::Beginning>(request.facet) && !std::holds_alternative<facet::SameNumbers>(request.facet) &&
           !std::holds_alternative<facet::FirstDifference>(request.facet) && !std::holds_alternative<facet::OtherTokens>(request.facet);
}

}  // namespace attn::app
