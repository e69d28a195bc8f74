#pragma once
/// The seam between panels and the GPU: panels ask for heatmaps, the canvas draws them. A test's canvas only notes what was asked.

#include <cstdint>

struct ImDrawList;
struct ImVec2;

namespace attn::app {

enum class ColorMap : std::uint8_t { Auto, Sequential, Diverging, Viridis, Cividis, Grey };
inline constexpr int kColorMapCount = 6;

/// Reads the number that comes `at` numbers after the first one.
using NumberReader = float (*)(const void* first, std::int64_t at);

/// Part of a matrix with numbers that stand for fewer cells than the matrix' own: HeatmapData::level.
struct HeatmapRegion {
    std::uint64_t key = 0;                                          ///< as HeatmapData::key
    std::int64_t first_row = 0, rows = 0, first_col = 0, cols = 0;  ///< cells
    int level = 0;
    const float* values = nullptr;       ///< row-major, without gaps
    const std::uint8_t* keep = nullptr;  ///< the same; null when nothing is masked

    std::int64_t block_cols() const { return ((cols - 1) >> level) + 1; }
    /// Has the number of this very cell.
    bool knows(std::int64_t row, std::int64_t col) const {
        return level == 0 && row >= first_row && row < first_row + rows && col >= first_col && col < first_col + cols;
    }
    std::int64_t place(std::int64_t row, std::int64_t col) const { return (row - first_row) * cols + col - first_col; }
};

/// One matrix of numbers. The memory has to live during the call it is passed to only.
struct HeatmapData {
    std::uint64_t key = 0;  ///< identity of the numbers and of `keep`: they are uploaded once per key; 0 = none, uploaded every time
    const float* values = nullptr;
    std::int64_t rows = 0, cols = 0;
    std::int64_t row_stride = 0;         ///< distance between rows, in numbers
    const std::uint8_t* keep = nullptr;  ///< [rows, cols] bytes, 0 = masked; null when nothing is masked
    std::int64_t col_stride = 1;         ///< distance between columns
    /// Numbers that are stored in another form, instead of values: where they begin, how many come before the first, how each is read.
    const void* stored = nullptr;
    std::int64_t first = 0;
    NumberReader read = nullptr;
    /// Not 0: each of `values` and of `keep` stands for 2^level x 2^level cells, as the one of largest magnitude among them (see
    /// ReducedMap); row_stride is a distance between rows of such numbers.
    int level = 0;
    /// With `level`: what is known better. The first is drawn over the rest, the second has the numbers of a row. May be null.
    const HeatmapRegion *finer = nullptr, *row = nullptr;

    bool empty() const { return values == nullptr && stored == nullptr; }
    /// The number of this very cell is there; where it is not, at() and masked() tell of the block that it is in.
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

/// How numbers become colours. `lo` and `hi` are the ends of the colour bar; numbers beyond them take the colour of the end.
/// A diverging map is symmetric about 0 and reaches to the larger of |lo| and |hi|.
struct HeatmapStyle {
    ColorMap map = ColorMap::Sequential;  ///< never Auto here
    float lo = 0, hi = 1;
    bool per_row = false;  ///< every row has its own range: see row_style(); lo and hi are not used
    bool log = false;      ///< logarithmic where lo > 0, log(1 + x) where it is not, symmetric for a diverging map
    bool operator==(const HeatmapStyle&) const = default;
};

struct HeatmapRequest {
    HeatmapData data;
    HeatmapStyle style;
    /// The part shown, in cells; all zero means everything.
    float first_col = 0, last_col = 0, first_row = 0, last_row = 0;
    bool grid = false;  ///< thin lines between cells where they are large enough
    float opacity = 1;  ///< below 1 what lies under it shows through
};

class Canvas {
public:
    virtual ~Canvas() = default;
    /// Draws into [min, max] of the list, in the order of the list's other contents and inside its clip rectangle.
    /// The request's numbers are read before it returns.
    virtual void heatmap(ImDrawList& list, const ImVec2& min, const ImVec2& max, const HeatmapRequest& request) = 0;
    /// Fills whole pixels with one opaque colour (0xAABBGGRR), likewise. Where there is no graphics card, large areas take less time so
    /// than by the list itself.
    virtual void fill(ImDrawList& list, const ImVec2& min, const ImVec2& max, std::uint32_t color);
    /// Colour of one value as the shader draws it (0xAABBGGRR), for colour bars, legible ink and exports. For a per-row style pass
    /// that row's own: row_style() of app/widgets/value_scale.hpp, where value_at() also gives the numbers along a colour bar.
    virtual std::uint32_t color(const HeatmapStyle& style, float value) const = 0;
};

}  // namespace attn::app
