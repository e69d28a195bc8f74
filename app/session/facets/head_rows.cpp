#include "app/session/facets/head_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/tensor/error.hpp"

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

}  // namespace attn::app
