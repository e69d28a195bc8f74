#pragma once
/// Following and cancelling the writing of a large file.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

namespace attn {

class AtomicFile;

/// Passed to a writer; by default it is neither followed nor cancelled.
struct WriteWatch {
    std::stop_token stop{};                    ///< requesting it makes the writer throw Cancelled; the target stays as it was
    std::function<void(double share)> told{};  ///< called on the writer's thread with how much is written, from 0 to 1; may be empty

    /// Throws Cancelled once a stop is requested.
    void expect_wanted() const;
    /// The same, after telling how much is written: bytes or rows.
    void at(std::uint64_t done, std::uint64_t total) const;
};

/// Writes a known number of bytes in pieces that are followed.
class WatchedBytes {
public:
    /// The file and the watch must outlive it.
    WatchedBytes(AtomicFile& file, std::uint64_t total, const WriteWatch& watch) : file_(file), watch_(watch), total_(total) {}
    /// Throws FileError, and Cancelled once a stop is requested.
    void write(std::span<const std::byte> bytes);

private:
    AtomicFile& file_;
    const WriteWatch& watch_;
    std::uint64_t done_ = 0, total_;
};

}  // namespace attn
