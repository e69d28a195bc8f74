#pragma once
/// Memory of tensors.

#include <cstddef>

namespace attn {

/// At least `bytes`, on a cache-line boundary; what fills whole huge pages of the system lies in such pages, where it offers them: a
/// product over large matrices otherwise waits for the addresses of their pages. Throws std::bad_alloc.
void* allocate_numbers(std::size_t bytes);
void free_numbers(void* numbers, std::size_t bytes);

}  // namespace attn
