#include "app/panels/state/path_columns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attn::app {

PathColumns::PathColumns(std::vector<float> units, float width, float least, float most) : widths_(std::move(units)) {
    const float all = std::accumulate(widths_.begin(), widths_.end(), 0.F);
    const float unit = std::clamp(width / std::max(all, 1.F), least, most);
    for (float& one : widths_) one *= unit;
    settle();
}

void PathColumns::widen(float first, float last, float pixels) {
    const auto begin = static_cast<std::size_t>(std::max(first, 0.F));
    const std::size_t end = std::min(static_cast<std::size_t>(std::ceil(std::max(last, 0.F))), widths_.size());
    float have = 0;
    for (std::size_t i = begin; i < end; ++i) {
        const auto column = static_cast<float>(i);
        have += widths_[i] * (std::min(last, column + 1) - std::max(first, column));
    }
    if (have <= 0 || have >= pixels) return;
    for (std::size_t i = begin; i < end; ++i) widths_[i] *= pixels / have;
}

void PathColumns::settle() {
    edges_.assign(1, 0);
    for (const float width : widths_) edges_.push_back(edges_.back() + width);
}

float PathColumns::at(float column) const {
    const auto whole = std::min(static_cast<std::size_t>(std::max(column, 0.F)), edges_.size() - 1);
    const float begin = edges_[whole], end = edges_[std::min(whole + 1, edges_.size() - 1)];
    return begin + (end - begin) * (column - static_cast<float>(whole));
}

}  // namespace attn::app
