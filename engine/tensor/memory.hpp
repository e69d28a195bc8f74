#pragma once
/// Memory of tensors.

#include <cstddef>

namespace attn {

/// At least `bytes`, on a cache-line boundary; what fills whole huge pages of the system lies in such pages, where it offers them: a
/// product over large matrices otherwise waits for the addresses of their pages. Throws std::bad_alloc.
void* allocate_numbers(std::size_t bytes);
void free_numbers(void* numbers, std::size_t bytes);

/// From now on memory of a MiB and more goes back to the system as soon as it is freed, where the C library would keep it for later. For
/// programs, at their start.
void return_large_memory();

}  // namespace attn
