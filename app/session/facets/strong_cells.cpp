#include "app/session/values/strong_cells.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_parts.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// Ties are ordered, so that pictures are reproducible.
bool is_weaker(const MapCell& a, const MapCell& b) {
    return std::tie(a.value, a.head, a.row, a.col) < std::tie(b.value, b.head, b.row, b.col);
}

}  // namespace

std::span<const MapCell> StrongCells::at_least(float threshold) const {
    const auto first =
        std::lower_bound(cells.begin(), cells.end(), threshold, [](const MapCell& cell, float value) { return cell.value < value; });
    return {first, cells.end()};
}

float StrongCells::least(float threshold) const { return cut && !cells.empty() ? std::max(threshold, cells.front().value) : threshold; }

void StrongestCells::add(const MapCell& cell) {
    if (!(cell.value >= 0)) return;
    // Once cells were dropped, weaker ones cannot be among the strongest; the first is the weakest of those kept.
    if (found_.cut && (found_.cells.empty() || is_weaker(cell, found_.cells.front()))) return;
    found_.cells.push_back(cell);
    if (found_.cells.size() > 2 * most_) drop_weakest();
}

void StrongestCells::add(std::int64_t head, const NumberGrid& grid) {
    for (std::int64_t row = 0; row < grid.rows; ++row)
        for (std::int64_t col = 0; col < grid.cols; ++col)
            if (grid.keep == nullptr || grid.keep[row * grid.cols + col] != 0)
                add({head, row, col, grid.at(row * grid.row_stride + col * grid.col_stride)});
}

StrongCells StrongestCells::take() {
    if (found_.cells.size() > most_) drop_weakest();
    std::sort(found_.cells.begin(), found_.cells.end(), is_weaker);
    return std::move(found_);
}

void StrongestCells::drop_weakest() {
    std::vector<MapCell>& cells = found_.cells;
    found_.cut = true;
    const auto kept = cells.end() - static_cast<std::ptrdiff_t>(most_);
    std::nth_element(cells.begin(), kept, cells.end(), is_weaker);
    cells.erase(cells.begin(), kept);  // the first one left is the weakest
}

Job<StrongCells> facet::StrongCells::make(const StrongCells& wanted, Ask& ask) {
    const auto pass = ask.pass_to(wanted.stage);
    const bool with_mean = std::any_of(wanted.heads.begin(), wanted.heads.end(), [](std::int64_t head) { return head < 0; });
    const SequenceOfStage numbers = ask_sequence(ask, ask.state(), pass, wanted.stage, wanted.sequence, wanted.part, with_mean);
    return [wanted, numbers](const Work& work) -> Made<app::StrongCells> {
        StrongestCells strongest(wanted.most);
        for (const std::int64_t head : wanted.heads) {
            if (work.stop.stop_requested()) throw Cancelled();
            strongest.add(head, numbers.head(head));
        }
        app::StrongCells found = strongest.take();
        const auto bytes = static_cast<double>(found.cells.size() * sizeof(MapCell));
        return {std::move(found), bytes / (1024.0 * 1024.0)};
    };
}

}  // namespace attn::app
