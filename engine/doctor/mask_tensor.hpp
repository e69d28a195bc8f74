#pragma once
/// Mask tensors of any framework's shape and convention, brought to one meaning.

#include <vector>

#include "engine/doctor/dump.hpp"

namespace attn::doctor {

/// Sizes of the maps that a mask has to fit.
struct MapSizes {
    std::int64_t batches = 1, heads = 1, queries = 1, keys = 1;
};

/// What the masks together mean for every sequence; nothing is `given` when there is no mask. Accepted shapes: anything that
/// broadcasts to [B,H,T,S], [B,T,S], [H,T,S], [BH,T,S], [T,S], [B,S], [S]. `flip` reads masks of ambiguous meaning as
/// true = may not attend. Throws FileError naming file, tensor and the expected shape.
std::vector<Intent> read_masks(const ArrayFile& file, const std::vector<NamedPart>& masks, const MapSizes& sizes, bool flip);

}  // namespace attn::doctor
