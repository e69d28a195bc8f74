#include "engine/tensor/memory.hpp"

#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace attn {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage}; }

}  // namespace

void* allocate_numbers(std::size_t bytes) {
    void* numbers = ::operator new(bytes, alignment(bytes));
#ifdef __linux__
    // Only whole huge pages, so that no memory is wasted. If the system declines, it falls back to ordinary pages.
    if (bytes >= kHugePage) (void)madvise(numbers, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
    return numbers;
}

void free_numbers(void* numbers, std::size_t bytes) { ::operator delete(numbers, alignment(bytes)); }

void return_large_memory() {
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    // Smaller memory is needed again by the next pass: giving it back each time would cost more than copying into it.
    (void)mallopt(M_TRIM_THRESHOLD, 16 << 20);
    // One arena: with several, each would hold on to the memory its threads freed.
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace attn
