#include "engine/trace/edit.hpp"

#include <fmt/format.h>

#include <cmath>

#include "engine/tensor/error.hpp"
#include "engine/trace/apply_edit.hpp"

namespace attn {
namespace {

bool has_mask(Stage stage) { return stage == Stage::Masked || stage == Stage::Weights || stage == Stage::Dropped; }

/// Such as "there is no head 7: there are only 4 heads, 0 to 3".
std::string none_of(const char* what, std::int64_t index, std::int64_t count) {
    const std::string beginning = fmt::format("there is no {} {}: there ", what, index);
    return beginning +
           (count == 1 ? fmt::format("is only 1 {}, 0", what) : fmt::format("are only {} {}s, 0 to {}", count, what, count - 1));
}

}  // namespace

bool is_editable(Stage stage) { return stage != Stage::Tokens && stage != Stage::Probabilities; }

bool is_editable(Stage stage, EditKind kind) {
    switch (kind) {
    case EditKind::Freeze:
        return stage == Stage::Weights || stage == Stage::Dropped;
    case EditKind::TakeRow:
        return is_editable(stage) && !has_mask(stage);
    default:
        return is_editable(stage);
    }
}

void require_edit(const Edit& edit) {
    if (!(std::abs(edit.value) <= Edit::kMostValue))
        throw ConfigError("an edit of " + tensor_name(edit.at) + " to " + std::to_string(edit.value) +
                          ": the number must be between -1e9 and 1e9");
}

std::vector<Edit> edits_of_text(const std::vector<Edit>& edits, std::int64_t sequence) {
    std::vector<Edit> own;
    for (Edit edit : edits) {
        if (edit.sequence != Edit::kAll && edit.sequence != sequence) continue;
        if (edit.on && edit.from_sequence != Edit::kAll && edit.from_sequence != sequence)
            throw Error("an edit takes numbers from another text, which does not grow with this one: switch it off to write on");
        edit.sequence = Edit::kAll;
        own.push_back(edit);
    }
    return own;
}

std::string why_without_effect(const Edit& edit, const Shape& shape, const Mask* mask) {
    if (!is_editable(edit.at.stage, edit.kind)) return "this stage cannot be edited like this";
    const EditReach reach(edit, shape, mask);
    const auto outside = [](std::int64_t i, std::int64_t size) { return i != Edit::kAll && (i < 0 || i >= size); };
    if (outside(edit.sequence, reach.sequences())) return none_of("text", edit.sequence, reach.sequences());
    if (shape.rank() == 4 && outside(edit.head, reach.heads())) return none_of("head", edit.head, reach.heads());
    if (outside(edit.row, reach.rows())) return none_of("position", edit.row, reach.rows());
    if (edit.kind == EditKind::TakeRow) {
        const bool of_own_text = edit.from_sequence == Edit::kAll;
        if (outside(edit.from_sequence, reach.sequences())) return none_of("text", edit.from_sequence, reach.sequences());
        if (outside(edit.from, reach.rows())) return none_of("position", edit.from, reach.rows());
        if (of_own_text && (edit.row == Edit::kAll || edit.from == Edit::kAll)) return "no row is chosen";
        if (of_own_text && edit.from == edit.row) return "a row cannot be replaced by itself";
        if (!of_own_text && (edit.from_sequence == edit.sequence || reach.sequences() == 1)) return "a text cannot be replaced by itself";
    } else if (edit.kind != EditKind::Freeze && outside(edit.column, reach.columns())) {
        return none_of("column", edit.column, reach.columns());
    }
    if (reach.first()) return "";
    return mask != nullptr ? "every cell it would change is masked" : "there is nothing to change";
}

}  // namespace attn
