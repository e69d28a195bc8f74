#include "engine/io/write_watch.hpp"

#include <algorithm>

#include "engine/io/atomic_file.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

void WriteWatch::expect_wanted() const {
    if (stop.stop_requested()) throw Cancelled();
}

void WriteWatch::at(std::uint64_t done, std::uint64_t total) const {
    if (told) told(total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total));
    expect_wanted();
}

void WatchedBytes::write(std::span<const std::byte> bytes) {
    constexpr std::size_t kPiece = 1 << 22;
    while (!bytes.empty()) {
        const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kPiece));
        file_.write(piece);
        watch_.at(done_ += piece.size(), total_);
        bytes = bytes.subspan(piece.size());
    }
}

}  // namespace attn
