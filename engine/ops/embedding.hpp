#pragma once
/// Embedding lookup: rows of a table by id.

#include <cstdint>
#include <span>

#include "engine/tensor/matrix_view.hpp"

namespace attn {

/// Throws Error if an id is outside [0, vocab_size), naming the first such id and its position.
void require_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size, const char* what);

/// y[i] = table[ids[i]]; ids are not checked.
///   ids [rows]  table [V,width]  ->  y [rows,width]
template <class Scalar>
void embed(std::span<const std::int32_t> ids, const MatrixView& table, Scalar* y);

/// dtable[ids[i]] += dy[i], in the order of i
///   dy [rows,width]  ->  dtable [V,width]
template <class Scalar>
void embed_backward(std::span<const std::int32_t> ids, const Scalar* dy, std::int64_t width, Scalar* dtable);

}  // namespace attn
