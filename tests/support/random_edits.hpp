#pragma once
/// Random edits of every kind, at existing stages; some are out of range.

#include <vector>

#include "tests/support/random_model.hpp"

namespace attn::testing_support {

template <class Scalar>
Edit random_edit(RandomModel& model, const Trace<Scalar>& trace) {
    while (true) {
        const auto& stage = trace.stages[static_cast<std::size_t>(model.between(0, static_cast<std::int64_t>(trace.stages.size()) - 1))];
        Edit edit;
        edit.kind = static_cast<EditKind>(model.between(0, 3));
        if (!is_editable(stage.id.stage, edit.kind)) continue;
        const Shape& shape = stage.value.shape();
        edit.at = stage.id;
        edit.sequence = model.coin() ? Edit::kAll : model.between(0, shape[0].size - (model.coin(0.9) ? 1 : 0));
        edit.head = model.coin() ? Edit::kAll : model.between(0, (shape.rank() == 4 ? shape[1].size : 1) - (model.coin(0.9) ? 1 : 0));
        const std::int64_t rows = shape[shape.rank() - 2].size, columns = shape[shape.rank() - 1].size;
        if (edit.kind == EditKind::TakeRow || model.coin(0.6)) edit.row = model.between(0, rows - (model.coin(0.9) ? 1 : 0));
        if (model.coin(0.6)) edit.column = model.between(0, columns - (model.coin(0.9) ? 1 : 0));
        edit.from = model.between(0, rows - (model.coin(0.9) ? 1 : 0));
        if (edit.kind == EditKind::TakeRow && model.coin()) {
            edit.from_sequence = model.between(0, shape[0].size - (model.coin(0.9) ? 1 : 0));
            if (model.coin()) edit.from = Edit::kAll;
            if (model.coin()) edit.row = Edit::kAll;
        }
        edit.value = model.coin(0.2) ? 0 : static_cast<double>(model.between(-20, 20)) / 10;
        edit.pattern = static_cast<Pattern>(model.between(0, 3));
        edit.on = model.coin(0.9);
        return edit;
    }
}

/// Adds `count` edits to the model's settings.
inline void add_edits(RandomModel& model, int count) {
    const Trace<float> trace = model.trace<float>();
    for (int i = 0; i < count; ++i) model.settings.edits.push_back(random_edit(model, trace));
}

}  // namespace attn::testing_support
