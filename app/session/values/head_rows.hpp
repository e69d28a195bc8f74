#pragma once
/// Where every head attends from one position: one row of each attention map.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/session/values/facet.hpp"
#include "engine/plan/stage.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// All heads of one kind of attention; they share the same keys.
struct HeadRowsOf {
    bool cross = false;               ///< the keys are those of the source
    std::vector<StageId> maps;        ///< per row: the weights stage it comes from
    std::vector<std::int64_t> heads;  ///< per row: the head
    std::int64_t keys = 0;
    std::vector<float> weights;  ///< [rows, keys]
};

struct HeadRows {
    std::int64_t position = 0;
    float largest = 0;              ///< of all weights
    std::vector<HeadRowsOf> kinds;  ///< self-attention of the generating stack, then its cross-attention if it has one
};

/// `map_of` returns a whole map or only its row at `position`; it is called from the first layer to the last. Throws Error if there is no
/// such position.
HeadRows head_rows(const Trace<float>& trace, std::int64_t sequence, std::int64_t position,
                   const std::function<Tensor<float>(const StageId&)>& map_of);

namespace facet {

/// The attention row of every head in every layer for one position of one sequence.
struct HeadRows {
    using Value = app::HeadRows;
    static constexpr FacetInfo kInfo{.failed = "could not compute where the heads look: "};
    std::int64_t sequence = 0, position = 0;
    static Job<Value> make(const HeadRows&, Ask& ask);
    bool operator==(const HeadRows&) const = default;
};

}  // namespace facet

}  // namespace attn::app
