#pragma once
/// The axes of a stage's role, and where the cells of its picture stand in a tensor whose axes are others.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::recording {

/// The letters of a role's axes, in canonical order; "" for a role that no attention has.
std::string_view letters_of(Stage role);

/// Whether a stage's axes are those of its role, of which some may be missing. Heads of k and v may be called H, and the width of a value
/// D.
bool fits(std::string_view axes, std::string_view letters);

/// For each cell of a tensor in canonical shape, its place in a row-major tensor of which an axis that is missing, or of size 1, holds for
/// all.
class CellPlaces {
public:
    /// `axes`: a letter for each axis of `from`; `letters`: of each axis of `shape`. Nothing if they do not fit.
    static std::optional<CellPlaces> of(const std::vector<std::int64_t>& from, std::string_view axes, std::string_view letters,
                                        const Shape& shape);
    /// Of a tensor that has the same cells in the same order.
    static CellPlaces in_order(const Shape& shape);

    /// Calls visit(cell, place) in the order of the cells.
    template <class Visit>
    void for_cells(const Visit& visit) const {
        std::int64_t cell = 0;
        for (std::int64_t i = 0; i < sizes_[0]; ++i)
            for (std::int64_t j = 0; j < sizes_[1]; ++j)
                for (std::int64_t k = 0; k < sizes_[2]; ++k)
                    for (std::int64_t l = 0; l < sizes_[3]; ++l) {
                        const std::int64_t place = i * steps_[0] + j * steps_[1] + k * steps_[2] + l * steps_[3];
                        visit(static_cast<std::size_t>(cell++), static_cast<std::size_t>(place));
                    }
    }

private:
    static_assert(Shape::kMaxRank == 4);
    explicit CellPlaces(const Shape& shape);

    std::array<std::int64_t, Shape::kMaxRank> sizes_{1, 1, 1, 1}, steps_{};
};

}  // namespace attn::recording
