#include "engine/tensor/memory.hpp"

#include <bit>
#include <chrono>
#include <iterator>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

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
constexpr std::size_t kLeastKept = std::size_t{256} << 10;                         // smaller blocks are kept by the C library
constexpr std::size_t kMostRounded = std::numeric_limits<std::size_t>::max() / 4;  // an eighth more could be beyond all sizes
constexpr std::chrono::milliseconds kKeepsAfterAllocation{500};

std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage}; }

/// Up to an eighth more, so that a block also serves a text that is a few tokens longer. Pages that nobody touches cost nothing.
std::size_t rounded(std::size_t bytes) {
    if (bytes < kLeastKept || bytes > kMostRounded) return bytes;
    const std::size_t step = std::bit_floor(bytes) / 8;
    return (bytes + step - 1) / step * step;
}

/// Freed blocks that are kept for the next pass, oldest first.
class Spare {
public:
    Spare() = default;
    Spare(const Spare&) = delete;
    Spare& operator=(const Spare&) = delete;

    void set_most(std::size_t most) {
        const std::lock_guard lock(mutex_);
        most_ = most;
        return_oldest();
    }
    /// Null if no block of this size is kept.
    void* take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        last_allocation_ = Clock::now();
        for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
            if (block->bytes != bytes) continue;
            void* const numbers = block->numbers;
            blocks_.erase(std::next(block).base());
            kept_ -= bytes;
            return numbers;
        }
        return nullptr;
    }
    /// False if the caller has to free the block.
    bool keep(void* numbers, std::size_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        if (bytes > most_ || Clock::now() - last_allocation_ > kKeepsAfterAllocation) return false;
        try {
            blocks_.push_back({numbers, bytes});
        } catch (const std::bad_alloc&) {
            return false;
        }
        kept_ += bytes;
        return_oldest();
        return true;
    }
    void return_all() {
        const std::lock_guard lock(mutex_);
        for (const Block& block : blocks_) ::operator delete(block.numbers, alignment(block.bytes));
        blocks_.clear();
        kept_ = 0;
    }
    std::size_t kept() {
        const std::lock_guard lock(mutex_);
        return kept_;
    }

private:
    using Clock = std::chrono::steady_clock;
    struct Block {
        void* numbers;
        std::size_t bytes;
    };

    void return_oldest() {
        std::size_t count = 0;
        for (; kept_ > most_; ++count) {
            ::operator delete(blocks_[count].numbers, alignment(blocks_[count].bytes));
            kept_ -= blocks_[count].bytes;
        }
        blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(count));
    }

    std::mutex mutex_;
    std::vector<Block> blocks_;
    std::size_t most_ = 0, kept_ = 0;
    Clock::time_point last_allocation_{};
};

/// One for the program, like the heap that it is a part of. Never destroyed, because other static objects may free tensors at the end.
Spare& spare() {
    static Spare& one = *new Spare;
    return one;
}

void* allocate(std::size_t bytes) {
    if (void* kept = bytes >= kLeastKept ? spare().take(bytes) : nullptr) return kept;
    try {
        return ::operator new(bytes, alignment(bytes));
    } catch (const std::bad_alloc&) {
        if (spare().kept() == 0) throw;
        spare().return_all();
        return ::operator new(bytes, alignment(bytes));
    }
}

}  // namespace

void* allocate_numbers(std::size_t bytes) {
    void* numbers = allocate(rounded(bytes));
#ifdef __linux__
    // Only whole huge pages, so that no memory is wasted. If the system declines, it falls back to ordinary pages.
    if (bytes >= kHugePage) (void)madvise(numbers, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
    return numbers;
}

void free_numbers(void* numbers, std::size_t bytes) {
    bytes = rounded(bytes);
    if (bytes < kLeastKept || !spare().keep(numbers, bytes)) ::operator delete(numbers, alignment(bytes));
}

void keep_spare_memory(std::size_t most) { spare().set_most(most); }

void return_spare_memory() { spare().return_all(); }

std::size_t spare_memory() { return spare().kept(); }

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
