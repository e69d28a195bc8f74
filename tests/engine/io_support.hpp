#pragma once
/// Helpers for tests of readers and writers: temporary folders, bytes, and the expectation that an invalid file is refused properly.

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/io/file_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::test {

std::string file_bytes(const std::filesystem::path& path);
void put_file(const std::filesystem::path& path, std::string_view bytes);
/// Writes a sparse file of `size` bytes that begins with `bytes`.
void put_sparse_file(const std::filesystem::path& path, std::string_view bytes, std::uint64_t size);
inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The little-endian bytes of a number.
template <class T>
std::string le(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Counts the bytes that this thread allocates with `new` from construction on: the sum, the largest block, and the peak relative to the
/// start.
class AllocationWatch {
public:
    AllocationWatch();
    std::size_t total() const;
    std::size_t largest() const;
    std::size_t peak() const;

private:
    std::ptrdiff_t before_;
};

/// Runs `read`, which must throw FileError with this fault and a message that contains `name`, and may allocate at most `max_memory` in
/// total.
void expect_refused(const std::string& label, FileFault fault, std::string_view name, std::size_t max_memory,
                    const std::function<void()>& read);

}  // namespace attn::test
