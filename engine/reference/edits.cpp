#include "engine/reference/edits.hpp"

namespace attn::reference {
namespace {

/// Index of a cell: sequence, head (0 if there are none), row and column.
struct Place {
    std::int64_t b = 0, h = 0, t = 0, s = 0;
};

/// An edit of a stage; computes the new number of any cell.
class CellRule {
public:
    CellRule(const Edit& edit, const Tensor<double>& before, const Permissions* permissions, std::int64_t first_row)
        : edit_(edit), before_(before), permissions_(permissions), first_row_(first_row), has_heads_(before.shape().rank() == 4),
          rows_(before.shape()[before.shape().rank() - 2].size), columns_(before.shape()[before.shape().rank() - 1].size) {}

    double operator()(const Place& at) const {
        const double old = number(at);
        if (edit_.sequence != Edit::kAll && edit_.sequence != at.b) return old;
        if (has_heads_ && edit_.head != Edit::kAll && edit_.head != at.h) return old;
        if (edit_.row != Edit::kAll && edit_.row != first_row_ + at.t) return old;
        if (!may(at)) return old;
        const bool in_column = edit_.column == Edit::kAll || edit_.column == at.s;
        switch (edit_.kind) {
        case EditKind::Set:
            return in_column ? edit_.value : old;
        case EditKind::Scale:
            return !in_column ? old : edit_.value == 0 ? 0 : old * edit_.value;
        case EditKind::Freeze:
            return frozen(at, old);
        case EditKind::TakeRow:
            return taken(at, old);
        }
        return old;
    }

private:
    double number(const Place& at) const { return has_heads_ ? before_(at.b, at.h, at.t, at.s) : before_(at.b, at.t, at.s); }
    bool may(const Place& at) const { return permissions_ == nullptr || permissions_->may_attend(at.b, at.h, at.t, at.s); }

    double taken(const Place& at, double old) const {
        if (permissions_ != nullptr || edit_.from >= rows_) return old;
        if (edit_.from_sequence == Edit::kAll)
            return edit_.row == Edit::kAll || edit_.from == Edit::kAll ? old : number({at.b, at.h, edit_.from, at.s});
        if (edit_.from_sequence == at.b || edit_.from_sequence >= before_.shape()[0].size) return old;
        return number({edit_.from_sequence, at.h, edit_.from == Edit::kAll ? at.t : edit_.from, at.s});
    }
    double frozen(const Place& at, double old) const {
        if (edit_.at.stage != Stage::Weights && edit_.at.stage != Stage::Dropped) return old;
        if (edit_.pattern == Pattern::Uniform) {
            double allowed = 0;
            for (std::int64_t s = 0; s < columns_; ++s) allowed += may({at.b, at.h, at.t, s}) ? 1 : 0;
            return 1 / allowed;  // this cell is one of them
        }
        const std::int64_t position = first_row_ + at.t;
        std::int64_t looks_at = position;
        if (edit_.pattern == Pattern::First) looks_at = 0;
        if (edit_.pattern == Pattern::Previous && position > 0) looks_at = position - 1;
        if (looks_at >= columns_ || !may({at.b, at.h, at.t, looks_at})) return old;
        return at.s == looks_at ? 1 : 0;
    }

    const Edit& edit_;
    const Tensor<double>& before_;
    const Permissions* permissions_;
    std::int64_t first_row_;
    bool has_heads_;
    std::int64_t rows_, columns_;
};

Tensor<double> after(const Edit& edit, const Tensor<double>& before, const Permissions* permissions, std::int64_t first_row) {
    const CellRule rule(edit, before, permissions, first_row);
    const Shape& shape = before.shape();
    Tensor<double> out(shape);
    const std::int64_t heads = shape.rank() == 4 ? shape[1].size : 1, rows = shape[shape.rank() - 2].size,
                       columns = shape[shape.rank() - 1].size;
    for (std::int64_t i = 0; i < before.size(); ++i)
        out.data()[i] = rule({i / columns / rows / heads, i / columns / rows % heads, i / columns % rows, i % columns});
    return out;
}

}  // namespace

Tensor<double> edited(const std::vector<Edit>& edits, const StageId& id, Tensor<double> value, const Permissions* permissions,
                      std::int64_t first_row) {
    if (id.stage == Stage::Tokens || id.stage == Stage::Probabilities) return value;
    for (const Edit& edit : edits)
        if (edit.on && edit.at == id) value = after(edit, value, permissions, first_row);
    return value;
}

}  // namespace attn::reference
