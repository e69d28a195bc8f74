#pragma once
/// Interprets mask tensors of any framework's shape and convention.

#include <vector>

#include "engine/doctor/dump.hpp"

namespace attn::doctor {

/// Sizes of the maps a mask applies to.
struct MapSizes {
    std::int64_t batches = 1, heads = 1, queries = 1, keys = 1;
};

/// The combined meaning of the masks for every sequence; `given` is false if there are none. Accepts anything that broadcasts to [B,H,T,S],
/// [B,T,S], [H,T,S], [BH,T,S], [T,S], [B,S], [S]. Throws FileError naming
/// file, tensor and expected shape.
std::vector<Intent> read_masks(const ArrayFile& file, const std::vector<NamedPart>& masks, const MapSizes& sizes, const Reading& reading);
/// Whether it holds floating-point ones and zeros, and PyTorch, which adds such a mask, has a mask of this name.
bool may_be_added(const ArrayFile& file, const NamedPart& mask);

}  // namespace attn::doctor
