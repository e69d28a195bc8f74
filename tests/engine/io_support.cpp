#include "tests/engine/io_support.hpp"

#include <malloc.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <sstream>

namespace {
thread_local std::size_t allocated_total = 0;
thread_local std::size_t allocated_largest = 0;
thread_local std::ptrdiff_t live = 0, most_live = 0;

void* noted(void* memory, std::size_t size) {
    allocated_total += size;
    if (size > allocated_largest) allocated_largest = size;
    live += static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
    if (live > most_live) most_live = live;
    return memory;
}

void release(void* memory) {
    live -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
    std::free(memory);
}
}  // namespace

// Replaces the program's `new` to count a reader's allocations exactly instead of estimating them from resident memory. Both forms are
// replaced, because the same `delete` frees memory from either.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return noted(std::malloc(size != 0 ? size : 1), size); }
void* operator new(std::size_t size) {
    void* memory = operator new(size, std::nothrow);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    const std::size_t step = static_cast<std::size_t>(alignment);
    void* memory = noted(std::aligned_alloc(step, (size / step + 1) * step), size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }

namespace attn::test {

std::string file_bytes(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in) << path;
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

void put_file(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.flush()) << path;
}

void put_sparse_file(const std::filesystem::path& path, std::string_view bytes, std::uint64_t size) {
    put_file(path, bytes);
    std::filesystem::resize_file(path, size);
}

AllocationWatch::AllocationWatch() : before_(live) {
    allocated_total = allocated_largest = 0;
    most_live = live;
}
std::size_t AllocationWatch::peak() const { return static_cast<std::size_t>(most_live - before_); }
std::size_t AllocationWatch::total() const { return allocated_total; }
std::size_t AllocationWatch::largest() const { return allocated_largest; }

void expect_refused(const std::string& label, FileFault fault, std::string_view name, std::size_t max_memory,
                    const std::function<void()>& read) {
    const AllocationWatch watch;
    try {
        read();
        ADD_FAILURE() << label << ": accepted";
    } catch (const FileError& error) {
        const std::size_t total = watch.total();
        EXPECT_EQ(error.fault(), fault) << label << ": " << error.what();
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << label << ": the file is not named: " << error.what();
        EXPECT_LE(total, max_memory) << label;
    } catch (const std::exception& error) {
        ADD_FAILURE() << label << ": not a FileError: " << error.what();
    }
}

}  // namespace attn::test
