#pragma once
/// Which cells of a stage were edited; plain data.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn {

/// Which edit, if any, set each cell of a stage.
struct EditMarks {
    std::vector<std::uint32_t> by;       ///< one per cell: 0, or 1 + the list index of the last edit that set it
    std::vector<std::uint8_t> in_slice;  ///< one per matrix of rows and columns: whether any of its cells is marked

    bool marked(std::int64_t cell) const { return by[static_cast<std::size_t>(cell)] != 0; }
    bool any_in(std::int64_t slice) const { return in_slice[static_cast<std::size_t>(slice)] != 0; }
};

}  // namespace attn
