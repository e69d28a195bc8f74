#pragma once
/// Which cells of a matrix were set by hand, and by which line of the list of edits.

#include <cstdint>

namespace attn::app {

/// A view of one number per cell: 0 for a computed cell, else the line of the list, counted from 1.
struct CellMarks {
    const std::uint32_t* by = nullptr;  ///< null: no cell is marked
    std::int64_t row_stride = 0, col_stride = 0;
    std::uint32_t lit = 0;  ///< the line whose cells are framed; 0: none

    std::uint32_t at(std::int64_t row, std::int64_t col) const { return by == nullptr ? 0 : by[row * row_stride + col * col_stride]; }
};

}  // namespace attn::app
