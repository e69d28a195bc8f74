#pragma once
/// Memory for tensors.

#include <cstddef>

namespace attn {

/// Allocates at least `bytes`, 64-byte aligned. Large blocks use huge pages where the system offers them, because products of large
/// matrices are otherwise slowed by TLB misses. Throws std::bad_alloc.
void* allocate_numbers(std::size_t bytes);
void free_numbers(void* numbers, std::size_t bytes);

/// Makes freed blocks of a MiB or more go straight back to the system instead of being kept by the C library. Call once at program start.
void return_large_memory();

}  // namespace attn
