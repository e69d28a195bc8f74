#pragma once
/// Edits applied to a stage's tensor, and to its gradient.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/trace/edit.hpp"
#include "engine/trace/edit_marks.hpp"

namespace attn {

/// A cell that an edit changes.
struct ReachedCell {
    std::int64_t cell = 0;  ///< flat index in the tensor
    std::int64_t from = 0;  ///< TakeRow: flat index of the cell it is copied from
    double frozen = 0;      ///< Freeze: the pattern's weight
};

/// The cells of a tensor [B,T,C] or [B,H,T,C] that an edit changes; none if its indices are out of range. Tensor and mask may cover only
/// the positions from `first_row` on; TakeRow must not be used then.
class EditReach {
public:
    EditReach(const Edit& edit, const Shape& shape, const Mask* mask, std::int64_t first_row = 0)
        : edit_(edit), mask_(mask), first_row_(first_row), fits_(is_editable(edit.at.stage, edit.kind) && shape.rank() >= 3) {
        if (!fits_) return;
        const bool split = shape.rank() == 4;
        sequences_ = shape[0].size;
        heads_ = split ? shape[1].size : 1;
        rows_ = shape[split ? 2 : 1].size;
        columns_ = shape[split ? 3 : 2].size;
        all_heads_ = !split || edit.head == Edit::kAll;
    }

    std::int64_t sequences() const { return sequences_; }
    std::int64_t heads() const { return heads_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t columns() const { return columns_; }

    /// Calls visit(ReachedCell) in the order of the tensor.
    template <class Visit>
    void for_cells(const Visit& visit) const {
        for_rows([&](std::int64_t b, std::int64_t h, std::int64_t t) {
            for_row(b, h, t, visit);
            return true;
        });
    }

    /// The first of these cells, if there is one.
    std::optional<ReachedCell> first() const {
        std::optional<ReachedCell> found;
        for_rows([&](std::int64_t b, std::int64_t h, std::int64_t t) {
            for_row(b, h, t, [&](const ReachedCell& cell) {
                if (!found) found = cell;
            });
            return !found;
        });
        return found;
    }

private:
    std::int64_t flat(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) const {
        return ((b * heads_ + h) * rows_ + t) * columns_ + s;
    }
    bool allowed(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) const {
        return mask_ == nullptr || mask_->may_attend(b, h, t, s);
    }

    struct Range {
        std::int64_t first, end;
    };
    /// All indices, the one chosen, or none if it is out of range.
    static Range chosen(std::int64_t index, std::int64_t size) { return index == Edit::kAll ? Range{0, size} : one(index, size); }
    static Range one(std::int64_t index, std::int64_t size) { return index >= 0 && index < size ? Range{index, index + 1} : Range{0, 0}; }

    bool takes() const { return edit_.kind == EditKind::TakeRow; }
    bool takes_from_other_text() const { return takes() && edit_.from_sequence != Edit::kAll; }
    /// For TakeRow: whether there is a row to take.
    bool can_take() const {
        if (edit_.from >= rows_) return false;
        if (takes_from_other_text()) return edit_.from_sequence >= 0 && edit_.from_sequence < sequences_ && edit_.from >= Edit::kAll;
        return edit_.row >= 0 && edit_.from >= 0 && edit_.from != edit_.row;
    }

    /// Calls row(b, h, t) for every row the edit applies to, until it returns false.
    template <class Row>
    void for_rows(const Row& row) const {
        if (takes() && !can_take()) return;
        const Range sequences = chosen(edit_.sequence, sequences_), heads = chosen(all_heads_ ? Edit::kAll : edit_.head, heads_),
                    rows = edit_.row == Edit::kAll ? chosen(Edit::kAll, rows_) : one(edit_.row - first_row_, rows_);
        for (std::int64_t b = sequences.first; b < sequences.end; ++b) {
            if (takes() && b == edit_.from_sequence) continue;
            for (std::int64_t h = heads.first; h < heads.end; ++h)
                for (std::int64_t t = rows.first; t < rows.end; ++t)
                    if (!row(b, h, t)) return;
        }
    }

    template <class Visit>
    void for_row(std::int64_t b, std::int64_t h, std::int64_t t, const Visit& visit) const {
        if (edit_.kind == EditKind::Freeze) return freeze_row(b, h, t, visit);
        const Range columns = takes() ? Range{0, columns_} : chosen(edit_.column, columns_);
        const std::int64_t from_text = takes_from_other_text() ? edit_.from_sequence : b, from = edit_.from == Edit::kAll ? t : edit_.from;
        for (std::int64_t s = columns.first; s < columns.end; ++s)
            if (allowed(b, h, t, s)) visit(ReachedCell{flat(b, h, t, s), takes() ? flat(from_text, h, from, s) : 0, 0});
    }

    template <class Visit>
    void freeze_row(std::int64_t b, std::int64_t h, std::int64_t t, const Visit& visit) const {
        const std::int64_t position = first_row_ + t;
        const std::int64_t key = edit_.pattern == Pattern::First      ? 0
                                 : edit_.pattern == Pattern::Previous ? std::max<std::int64_t>(0, position - 1)
                                                                      : position;
        std::int64_t keys = 0;
        for (std::int64_t s = 0; s < columns_; ++s) keys += allowed(b, h, t, s) ? 1 : 0;
        const bool uniform = edit_.pattern == Pattern::Uniform;
        if (keys == 0 || (!uniform && (key >= columns_ || !allowed(b, h, t, key)))) return;
        for (std::int64_t s = 0; s < columns_; ++s) {
            const double share = uniform ? 1 / static_cast<double>(keys) : s == key ? 1 : 0;
            if (allowed(b, h, t, s)) visit(ReachedCell{flat(b, h, t, s), 0, share});
        }
    }

    const Edit& edit_;
    const Mask* mask_;
    std::int64_t first_row_;
    bool fits_;
    bool all_heads_ = true;
    std::int64_t sequences_ = 0, heads_ = 0, rows_ = 0, columns_ = 0;  // all 0 if the edit does not apply to the tensor
};

/// Applies the enabled edits of a stage, in list order, to `value`, which holds its rows from `first_row` on.
template <class Scalar>
void apply_edits(std::span<const Edit> edits, const StageId& id, Tensor<Scalar>& value, const Mask* mask, std::int64_t first_row = 0) {
    for (const Edit& edit : edits) {
        if (!edit.on || edit.at != id) continue;
        Scalar* x = value.data();
        const auto number = static_cast<Scalar>(edit.value);
        EditReach(edit, value.shape(), mask, first_row).for_cells([&](const ReachedCell& at) {
            switch (edit.kind) {
            case EditKind::Set:
                x[at.cell] = number;
                break;
            case EditKind::Scale:
                x[at.cell] = number == 0 ? 0 : x[at.cell] * number;  // a factor of 0 also removes a NaN
                break;
            case EditKind::Freeze:
                x[at.cell] = static_cast<Scalar>(at.frozen);
                break;
            case EditKind::TakeRow:
                x[at.cell] = x[at.from];
                break;
            }
        });
    }
}

/// Which cells these edits set in a stage of this shape; null if none.
inline std::shared_ptr<const EditMarks> marks_of(std::span<const Edit> edits, const StageId& id, const Shape& shape, const Mask* mask) {
    std::shared_ptr<EditMarks> marks;
    for (std::size_t i = 0; i < edits.size(); ++i) {
        if (!edits[i].on || edits[i].at != id) continue;
        const EditReach reach(edits[i], shape, mask);
        const std::int64_t cells_of_slice = reach.rows() * reach.columns();
        reach.for_cells([&](const ReachedCell& at) {
            if (marks == nullptr) {
                marks = std::make_shared<EditMarks>();
                marks->by.resize(static_cast<std::size_t>(shape.count()));
                marks->in_slice.resize(static_cast<std::size_t>(reach.sequences() * reach.heads()));
            }
            marks->by[static_cast<std::size_t>(at.cell)] = static_cast<std::uint32_t>(i + 1);
            marks->in_slice[static_cast<std::size_t>(at.cell / cells_of_slice)] = 1;
        });
    }
    return marks;
}

/// Turns the gradient with respect to the edited stage into that with respect to the stage before its edits: 0 for overwritten numbers,
/// scaled for scaled ones, and added to the row that a number was copied from.
template <class Scalar>
void apply_edits_backward(std::span<const Edit> edits, const StageId& id, Tensor<Scalar>& gradient, const Mask* mask) {
    for (std::size_t i = edits.size(); i-- > 0;) {
        const Edit& edit = edits[i];
        if (!edit.on || edit.at != id) continue;
        Scalar* g = gradient.data();
        const auto number = static_cast<Scalar>(edit.value);
        EditReach(edit, gradient.shape(), mask).for_cells([&](const ReachedCell& at) {
            if (edit.kind == EditKind::TakeRow) g[at.from] += g[at.cell];
            g[at.cell] = edit.kind == EditKind::Scale && number != 0 ? g[at.cell] * number : 0;
        });
    }
}

/// Whether an enabled edit of the list applies to the stage.
inline bool any_edit_at(std::span<const Edit> edits, const StageId& id) {
    return std::any_of(edits.begin(), edits.end(), [&](const Edit& edit) { return edit.on && edit.at == id; });
}

}  // namespace attn
