#pragma once
/// What the tests of readers and writers share: temporary folders, bytes, and the expectation that a bad file is refused properly.

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
/// `bytes` at the front of a file that claims to be `size` long and takes no room on the disk.
void put_sparse_file(const std::filesystem::path& path, std::string_view bytes, std::uint64_t size);
inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The little-endian bytes of a number.
template <class T>
std::string le(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Bytes that this thread's `new` handed out between construction and the call: the sum, the largest piece, and the most that were held
/// at once beyond what was held at the start.
class AllocationWatch {
public:
    AllocationWatch();
    std::size_t total() const;
    std::size_t largest() const;
    std::size_t peak() const;

private:
    std::ptrdiff_t before_;
};

/// Runs `read`, which must throw FileError of this fault whose message holds `name`, asking for no more than `max_memory` in all.
void expect_refused(const std::string& label, FileFault fault, std::string_view name, std::size_t max_memory,
                    const std::function<void()>& read);

}  // namespace attn::test
