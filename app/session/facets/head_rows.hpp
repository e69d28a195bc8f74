#pragma once
/// Where every head looks from one position: one row of each of a model's attention maps.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/plan/stage.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// The heads of one kind of attention, which look at the same keys.
struct HeadRowsOf {
    bool cross = false;               ///< the keys are of the source
    std::vector<StageId> maps;        ///< of each row, the weights that it is a row of
    std::vector<std::int64_t> heads;  ///< of each row
    std::int64_t keys = 0;
    std::vector<float> weights;  ///< [rows, keys]
};

struct HeadRows {
    std::int64_t position = 0;
    std::vector<HeadRowsOf> kinds;  ///< self-attention of the stack that writes, then its cross-attention where it has one
};

/// Of a trace that holds all maps, or with `map_of`, which computes one of them, or its row at `position` alone; it is called from the
/// first layer to the last. Throws Error for a position that is not there.
HeadRows head_rows(const Trace<float>& trace, std::int64_t sequence, std::int64_t position,
                   const std::function<Tensor<float>(const StageId&)>& map_of);

}  // namespace attn::app
