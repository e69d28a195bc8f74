#include "app/panels/kit/labels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/widgets/token_chips.hpp"

namespace attn::app {

const std::vector<std::vector<Token>>& tokens_of(const PanelContext& context, const StageId& id, Axis axis, const LabelledBy& by) {
    const Snapshot& snapshot = by.snapshot != nullptr ? *by.snapshot : context.snapshot;
    const bool source = id.stack == Stack::Encoder || (id.attention == kCrossAttention && axis == Axis::S);
    return snapshot.texts_of(source ? Stack::Encoder : Stack::Main);
}

namespace {

std::string label_in_one_state(const PanelContext& context, const StageId& id, Axis axis, std::int64_t i, const LabelledBy& by) {
    if (axis == Axis::T || axis == Axis::S) {
        const auto& tokens = tokens_of(context, id, axis, by);
        if (!tokens.empty()) {
            const std::int64_t batch = by.snapshot != nullptr ? by.batch : context.view.batch;
            const auto& row = tokens[static_cast<std::size_t>(std::min(batch, static_cast<std::int64_t>(tokens.size()) - 1))];
            if (i < static_cast<std::int64_t>(row.size())) {
                const Token& token = row[static_cast<std::size_t>(i)];
                return token.padding ? "pad" : shown_token(token.text, token.id);
            }
        }
    }
    const auto& vocabulary = by.snapshot != nullptr ? by.snapshot->vocabulary : context.snapshot.vocabulary;
    return axis == Axis::V ? shown_token(vocabulary, i) : std::to_string(i);
}

}  // namespace

std::string index_label(const PanelContext& context, const StageId& id, Axis axis, std::int64_t i, const LabelledBy& by) {
    std::string label = label_in_one_state(context, id, axis, i, by);
    if (by.before == nullptr || (axis != Axis::T && axis != Axis::S)) return label;
    const std::string before = label_in_one_state(context, id, axis, i, {by.before, by.batch_before});
    return before == label ? label : before + "→" + label;
}

LabelOf axis_label(const PanelContext& context, const StageId& id, Axis axis, const LabelledBy& by) {
    if (axis != Axis::T && axis != Axis::S && axis != Axis::V) return {};
    return [&context, id, axis, by](std::int64_t i) { return index_label(context, id, axis, i, by); };
}

std::vector<std::string> axis_labels(const PanelContext& context, const StageId& id, Axis axis, std::int64_t count, const LabelledBy& by) {
    std::vector<std::string> labels;
    labels.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) labels.push_back(index_label(context, id, axis, i, by));
    return labels;
}

std::string_view axis_title(Axis axis) {
    switch (axis) {
    case Axis::T:
        return "query";
    case Axis::S:
        return "key";
    case Axis::C:
        return "d_model";
    case Axis::D:
        return "d_head";
    case Axis::F:
        return "d_ff";
    case Axis::V:
        return "vocabulary";
    default:
        return "";
    }
}

std::string attention_name(const StageId& id, std::optional<std::int64_t> head, bool brief) {
    const char* which = id.attention == kCrossAttention ? "cross "
                        : id.stack == Stack::Encoder    ? (brief ? "enc " : "encoder ")
                        : id.stack == Stack::Decoder    ? (brief ? "dec " : "decoder ")
                                                        : "";
    return fmt::format("{}L{}{}", which, id.layer, head ? fmt::format(" H{}", *head) : "");
}

}  // namespace attn::app
