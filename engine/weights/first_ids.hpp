#pragma once
/// A model without the last ids of its vocabulary.

#include <cstdint>

#include "engine/weights/parameters.hpp"

namespace attn {

/// The same model as if it knew only the first `ids` ids: their rows of the embedding and columns of the output head, and everything else
/// as it is. So its softmax over the vocabulary is over these. Throws Error unless 1 <= ids <= its number of ids.
template <class Scalar>
Parameters<Scalar> with_first_ids(const Parameters<Scalar>& whole, std::int64_t ids);

}  // namespace attn
