#pragma once
/// The numbers of a map as its picture needs them: whole, or one for each block of cells with finer parts on top.

#include <cstdint>

namespace attn::app {

/// Reads the number at offset `at` from the first one.
using NumberReader = float (*)(const void* first, std::int64_t at);

/// Part of a matrix at its own resolution, finer than that of the matrix (see HeatmapData::level).
struct HeatmapRegion {
    std::uint64_t key = 0;                                          ///< as HeatmapData::key
    std::int64_t first_row = 0, rows = 0, first_col = 0, cols = 0;  ///< in cells
    int level = 0;
    const float* values = nullptr;       ///< row-major and contiguous
    const std::uint8_t* keep = nullptr;  ///< likewise; null if nothing is masked

    std::int64_t block_cols() const { return ((cols - 1) >> level) + 1; }
    /// Whether it holds the number of this exact cell.
    bool knows(std::int64_t row, std::int64_t col) const {
        return level == 0 && row >= first_row && row < first_row + rows && col >= first_col && col < first_col + cols;
    }
    std::int64_t place(std::int64_t row, std::int64_t col) const { return (row - first_row) * cols + col - first_col; }
};

/// A matrix of numbers. The memory it points to only needs to live for the duration of the call.
struct HeatmapData {
    std::uint64_t key = 0;  ///< identity of the numbers and of `keep`, which are uploaded once per key; 0 = none, uploaded every time
    const float* values = nullptr;
    std::int64_t rows = 0, cols = 0;
    std::int64_t row_stride = 0;         ///< distance between rows, in numbers
    const std::uint8_t* keep = nullptr;  ///< [rows, cols] bytes, 0 = masked; null if nothing is masked
    std::int64_t col_stride = 1;         ///< distance between columns
    /// Numbers in another storage format, replacing `values`: where they are stored, the offset of the first, and how to read one.
    const void* stored = nullptr;
    std::int64_t first = 0;
    NumberReader read = nullptr;
    /// If not 0, each number of `values` and `keep` is the one of largest magnitude in a block of 2^level x 2^level cells (see ReducedMap).
    /// row_stride is then the distance between rows of blocks.
    int level = 0;
    /// With `level`: a region at a finer resolution, drawn on top, and the exact numbers of a row. Either may be null.
    const HeatmapRegion *finer = nullptr, *row = nullptr;

    bool empty() const { return values == nullptr && stored == nullptr; }
    /// Whether the number of this exact cell is known. If not, at() and masked() describe the block that contains it.
    bool knows(std::int64_t row_index, std::int64_t col) const { return level == 0 || region_with(row_index, col) != nullptr; }
    bool masked(std::int64_t row_index, std::int64_t col) const {
        if (const HeatmapRegion* region = region_with(row_index, col))
            return region->keep != nullptr && region->keep[region->place(row_index, col)] == 0;
        return keep != nullptr && keep[(row_index >> level) * (((cols - 1) >> level) + 1) + (col >> level)] == 0;
    }
    float at(std::int64_t row_index, std::int64_t col) const {
        if (const HeatmapRegion* region = region_with(row_index, col)) return region->values[region->place(row_index, col)];
        const std::int64_t place = (row_index >> level) * row_stride + (col >> level) * col_stride;
        return values != nullptr ? values[place] : read(stored, first + place);
    }

private:
    const HeatmapRegion* region_with(std::int64_t row_index, std::int64_t col) const {
        if (level == 0) return nullptr;
        return row != nullptr && row->knows(row_index, col) ? row : finer != nullptr && finer->knows(row_index, col) ? finer : nullptr;
    }
};

}  // namespace attn::app
