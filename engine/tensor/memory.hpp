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

/// From now on keeps up to `most` bytes of large blocks that are freed within half a second of an allocation, because the next pass needs
/// as many again, and pages that the system has to clear take a tenth of its time. 0, as at first: keeps none, and returns what is kept.
/// Whoever allocates calls return_spare_memory() when it has rested longer than that.
void keep_spare_memory(std::size_t most);
/// Returns the kept blocks to the system.
void return_spare_memory();
/// How many bytes are kept.
std::size_t spare_memory();

}  // namespace attn
