#include "app/session/values/head_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/model/looked_at_part.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/reduced_map.hpp"

namespace attn::app {
namespace {

/// Appends one row of every head. `map` is a full map [B,H,T,S] or a single row of it, [1,N,1,S] with N ≥ H.
void add_rows(HeadRowsOf& rows, const StageId& id, const Tensor<float>& map, std::int64_t sequence, std::int64_t position,
              std::int64_t heads) {
    const std::int64_t planes = map.shape()[1].size, positions = map.shape()[2].size, keys = map.shape()[3].size;
    rows.keys = keys;
    position = std::min(position, positions - 1);
    for (std::int64_t head = 0; head < heads; ++head) {
        const float* row = map.data() + ((sequence * planes + head) * positions + position) * keys;
        rows.weights.insert(rows.weights.end(), row, row + keys);
        rows.maps.push_back(id);
        rows.heads.push_back(head);
    }
}

}  // namespace

HeadRows head_rows(const Trace<float>& trace, std::int64_t sequence, std::int64_t position,
                   const std::function<Tensor<float>(const StageId&)>& map_of) {
    const std::vector<std::int64_t>& lengths = trace.tokens.lengths;
    if (sequence < 0 || sequence >= trace.tokens.size() || position < 0 || position >= lengths[static_cast<std::size_t>(sequence)])
        throw Error(fmt::format("there is no position {} in text {}", position, sequence + 1));
    const Stack stack = trace.config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main;
    HeadRows rows{.position = position, .kinds = {}};
    for (const std::uint8_t attention : {kSelfAttention, kCrossAttention}) {
        HeadRowsOf kind{.cross = attention == kCrossAttention, .maps = {}, .heads = {}, .weights = {}};
        for (int layer = 0; layer < trace.config.num_layers; ++layer) {
            const StageId id{Stage::Weights, layer, stack, attention};
            if (trace.plan->find(id) == nullptr) continue;
            if (const RecordedStage<float>* map = trace.find(id))
                add_rows(kind, id, map->value, sequence, position, trace.config.num_heads);
            else add_rows(kind, id, map_of(id), sequence, position, trace.config.num_heads);
        }
        for (const float weight : kind.weights) rows.largest = std::max(rows.largest, weight);
        if (!kind.maps.empty()) rows.kinds.push_back(std::move(kind));
    }
    return rows;
}

// Of an outline, computes only the row; if maps cannot be computed in rows, computes one map after the other.
Job<HeadRows> facet::HeadRows::make(const HeadRows& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work& work) {
        const std::shared_ptr<const attn::Trace<float>>& held = pass->trace;
        const bool in_rows = !held->whole() && can_compute_in_rows(*held);
        const auto rows_of = [&](const StageId& id) {
            if (in_rows) {
                const attn::MapRegion row{wanted.position, 1, 0, held->shape_of(id)[3].size, 0};
                return work.engine.region(*held, id, row, nullptr, {}, work.stop).values;
            }
            facet::Inside inside = inside_with(*held, id);
            inside.map = id.stage;
            work.expect_room(mib_to_compute(inside, *held));
            LookedAtPart part = work.engine.inside(held, id, NumbersOfPart{std::vector{id}}, {}, work.stop);
            for (RecordedStage<float>& stage : part.trace.stages)
                if (stage.id == id) return std::move(stage.value);
            throw Error("this model has no stage " + tensor_name(id));
        };
        return head_rows(*held, wanted.sequence, wanted.position, rows_of);
    };
}

}  // namespace attn::app
