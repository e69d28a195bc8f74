#include "app/panels/edit/edit_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/panels/kit/labels.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

/// The last two axes of an editable stage.
struct RowsAndColumns {
    Axis row, column;
};

RowsAndColumns axes_of(const PanelContext& context, const Edit& edit) {
    const Shape shape = context.has_stage(edit.at) ? context.structure().shape_of(edit.at) : Shape();
    if (shape.rank() < 3) return {Axis::T, Axis::N};
    return {shape[shape.rank() - 2].axis, shape[shape.rank() - 1].axis};
}

/// A token by text and position, to distinguish equal texts.
std::string token_name(const PanelContext& context, const Edit& edit, Axis axis, std::int64_t position) {
    const auto& sequences = tokens_of(context, edit.at, axis);
    if (sequences.empty()) return fmt::format("{}", position);
    const auto b = std::clamp<std::int64_t>(edit.sequence, 0, static_cast<std::int64_t>(sequences.size()) - 1);
    const auto& tokens = sequences[static_cast<std::size_t>(b)];
    if (position >= static_cast<std::int64_t>(tokens.size())) return fmt::format("{}", position);
    const Token& token = tokens[static_cast<std::size_t>(position)];
    return fmt::format("{} ‘{}’", position, token.padding ? "pad" : shown_token(token.text, token.id));
}

std::string column_name(const PanelContext& context, const Edit& edit, Axis axis) {
    if (axis == Axis::S || axis == Axis::T) return "key " + token_name(context, edit, axis, edit.column);
    if (axis == Axis::V && edit.column < static_cast<std::int64_t>(context.snapshot.vocabulary.size()))
        return fmt::format("token ‘{}’", shown_token(context.snapshot.vocabulary, edit.column));
    return fmt::format("column {}", edit.column);
}

/// What a row or every row is taken from, such as "text 2, 3 ‘dog’".
std::string source_words(const PanelContext& context, const Edit& edit) {
    Edit source = edit;
    std::string words;
    if (edit.from_sequence != Edit::kAll) {
        source.sequence = edit.from_sequence;
        words = fmt::format("text {}", edit.from_sequence + 1);
    }
    if (edit.from == Edit::kAll || (edit.from == edit.row && !words.empty())) return words;
    return words + (words.empty() ? "" : ", ") + token_name(context, source, axes_of(context, edit).row, edit.from);
}

std::string value_text(double value) { return format_exact(static_cast<float>(value)); }

}  // namespace

std::string target_of(const PanelContext& context, const Edit& edit) {
    const auto [row_axis, column_axis] = axes_of(context, edit);
    const bool whole_row = edit.column == Edit::kAll || edit.kind == EditKind::Freeze || edit.kind == EditKind::TakeRow;
    const std::string row = edit.row == Edit::kAll ? "" : "row " + token_name(context, edit, row_axis, edit.row);
    if (!whole_row) return row + (row.empty() ? "" : ", ") + column_name(context, edit, column_axis);
    return row.empty() ? "every row" : row;
}

std::string_view pattern_name(Pattern pattern) {
    switch (pattern) {
    case Pattern::Uniform:
        return "uniform";
    case Pattern::Previous:
        return "the previous token";
    case Pattern::Self:
        return "itself";
    case Pattern::First:
        return "the first token";
    }
    return "";
}

std::string place_words(const StageId& id, std::int64_t head, Axis heads) {
    std::string words = id.layer < 0 ? "" : fmt::format("layer {}", id.layer);
    if (id.stack != Stack::Main)
        words = std::string(id.stack == Stack::Encoder ? "encoder" : "decoder") + (words.empty() ? "" : " ") + words;
    if (head >= 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", axis_words(heads), head);
    return words;
}

EditWords words_of(const PanelContext& context, const Edit& edit) {
    EditWords words;
    words.place = stage_name(edit.at);
    std::replace(words.place.begin(), words.place.end(), '_', ' ');
    const bool has_heads = stage_kind(edit.at.stage) == StageKind::Heads || is_attention_map(edit.at.stage);
    const Axis heads = context.has_stage(edit.at) && context.structure().shape_of(edit.at).has(Axis::G) ? Axis::G : Axis::H;
    if (const std::string place = place_words(edit.at, has_heads ? edit.head : Edit::kAll, heads); !place.empty())
        words.place += ", " + place;
    if (has_heads && edit.head == Edit::kAll) words.place += ", all heads";
    if (edit.sequence != Edit::kAll && context.snapshot.tokens.size() > 1) words.place += fmt::format(", text {}", edit.sequence + 1);

    const std::string target_words = target_of(context, edit);
    switch (edit.kind) {
    case EditKind::Set:
        words.what = fmt::format("{} set to {}", target_words, value_text(edit.value));
        break;
    case EditKind::Scale:
        words.what = edit.value == 0 ? target_words + " removed" : fmt::format("{} times {}", target_words, value_text(edit.value));
        break;
    case EditKind::Freeze:
        words.what =
            fmt::format("{} {} {}", target_words, edit.pattern == Pattern::Uniform ? "set to" : "looks at", pattern_name(edit.pattern));
        break;
    case EditKind::TakeRow:
        words.what = fmt::format("{} taken from {}", target_words, source_words(context, edit));
        break;
    }
    return words;
}

}  // namespace attn::app
