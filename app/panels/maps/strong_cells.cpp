#include "app/panels/maps/strong_cells.hpp"

#include <algorithm>
#include <tuple>

#include "app/panels/maps/matrix.hpp"

namespace attn::app {

StrongCells strong_cells(std::span<const Matrix* const> maps, float threshold, std::size_t most) {
    StrongCells out{{}, threshold};
    std::vector<MapCell>& cells = out.cells;
    for (std::size_t map = 0; map < maps.size(); ++map) {
        const Matrix& numbers = *maps[map];
        const HeatmapRegion* held = numbers.large ? numbers.data.row : nullptr;
        if (numbers.large && held == nullptr) continue;
        const std::int64_t first = held == nullptr ? 0 : held->first_row, end = held == nullptr ? numbers.data.rows : first + held->rows;
        for (std::int64_t row = first; row < end; ++row)
            for (std::int64_t col = 0; col < numbers.data.cols; ++col) {
                const float value = numbers.at(row, col);
                if (value >= threshold && !numbers.masked(row, col)) cells.push_back({map, row, col, value});
            }
    }
    // Ties are ordered, so that pictures are reproducible.
    const auto weaker = [](const MapCell& a, const MapCell& b) {
        return std::tie(a.value, a.map, a.row, a.col) < std::tie(b.value, b.map, b.row, b.col);
    };
    const bool too_many = cells.size() > most;
    if (too_many) {
        const auto kept = cells.end() - static_cast<std::ptrdiff_t>(most);
        std::nth_element(cells.begin(), kept, cells.end(), weaker);
        cells.erase(cells.begin(), kept);
    }
    std::sort(cells.begin(), cells.end(), weaker);
    if (too_many && !cells.empty()) out.least = cells.front().value;
    return out;
}

}  // namespace attn::app
