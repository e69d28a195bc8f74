#pragma once
/// What is selected on the axes of all stages.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/tensor/shape.hpp"

namespace attn::app {

/// A selected index per axis. Shared by all stages, so that the same query row and key column are highlighted everywhere.
class AxisSelection {
public:
    std::optional<std::int64_t> on(Axis axis) const { return index_[static_cast<std::size_t>(axis)]; }
    void set(Axis axis, std::optional<std::int64_t> index) { index_[static_cast<std::size_t>(axis)] = index; }
    void clear() { index_ = {}; }
    bool empty() const {
        for (const auto& index : index_)
            if (index) return false;
        return true;
    }
    bool operator==(const AxisSelection&) const = default;

private:
    std::array<std::optional<std::int64_t>, static_cast<std::size_t>(Axis::N) + 1> index_{};
};

}  // namespace attn::app
