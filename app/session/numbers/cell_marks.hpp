#pragma once
/// Marks for cells that were set by an edit.

#include <cstdint>

namespace attn::app {

/// A view of one number per cell: 0 for a computed cell, otherwise the number of the edit that set it, counted from 1.
struct CellMarks {
    const std::uint32_t* by = nullptr;  ///< null: no marks
    std::int64_t row_stride = 0, col_stride = 0;
    std::uint32_t lit = 0;  ///< the edit whose cells are highlighted; 0: none

    std::uint32_t at(std::int64_t row, std::int64_t col) const { return by == nullptr ? 0 : by[row * row_stride + col * col_stride]; }
};

}  // namespace attn::app
