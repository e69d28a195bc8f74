#include "app/panels/views/knock_out_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/panels/edit/edit_words.hpp"
#include "app/panels/kit/labels.hpp"

namespace attn::app {
namespace {

struct PartWords {
    std::string_view menu, counted, sentence, opened;
};
// In the order of ReplacedParts.
constexpr std::array<PartWords, 5> kPartWords = {{
    {"heads", "heads", "a head's context", "the head"},
    {"blocks", "blocks", "what an attention or feed-forward block adds to the stream", "what the block adds"},
    {"stream", "positions", "the stream that enters a layer, at one position,", "the stream that enters the layer"},
    {"attention", "positions", "what attention adds to the stream at one position", "what attention adds"},
    {"feed-forward", "positions", "what the feed-forward network adds to the stream at one position", "what the feed-forward network adds"},
}};

const PartWords& words_of(ReplacedParts parts) { return kPartWords[static_cast<std::size_t>(parts)]; }

// In the order of BlockColumn.
constexpr std::array<std::string_view, 3> kBlocks = {"attention", "feed-forward", "cross-attention"};
constexpr std::array<std::string_view, 3> kBlockColumns = {"attention", "ffn", "cross"};

/// An encoder-decoder has up to three attentions per layer, whose names must fit beside the picture.
std::string short_name(const StageId& id) { return id.stack == Stack::Main ? place_words(id, -1) : attention_name(id, {}, true); }

/// The word at the position and, where the text taken from has another, that one: "Lily←Mia".
std::string position_name(const PanelContext& context, const PartWorth& part) {
    std::string own = index_label(context, part.stage, Axis::T, part.index);
    const auto& patch = context.view.knock_out.last_question.patch;
    if (!patch) return own;
    const std::string other = index_label(context, part.stage, Axis::T, part.index, {.snapshot = &context.snapshot, .batch = patch->from});
    return other == own ? own : own + "←" + other;
}

}  // namespace

std::vector<ReplacedParts> replaceable_parts(const Structure& structure, bool by_other_text) {
    const auto& nodes = structure.plan->nodes();
    const auto has = [&](auto&& is_it) { return std::any_of(nodes.begin(), nodes.end(), is_it); };
    const bool networks = has([](const PlanNode& node) { return node.id.stage == Stage::FfnOut; });
    std::vector<ReplacedParts> parts = {ReplacedParts::Heads, ReplacedParts::Blocks};
    if (!by_other_text) return parts;
    parts.push_back(ReplacedParts::Positions);
    parts.push_back(ReplacedParts::AttentionPositions);
    if (networks) parts.push_back(ReplacedParts::FeedForwardPositions);
    return parts;
}

std::string_view menu_name(ReplacedParts parts) { return words_of(parts).menu; }
std::string_view counted_name(ReplacedParts parts) { return words_of(parts).counted; }
std::string_view sentence_name(ReplacedParts parts) { return words_of(parts).sentence; }
std::string_view opened_name(ReplacedParts parts) { return words_of(parts).opened; }

std::string row_name(const PartWorth& part, ReplacedParts parts) {
    StageId id = part.stage;
    if (parts == ReplacedParts::Positions) ++id.layer;  // a stream is named by the layer that it enters
    if (parts == ReplacedParts::Blocks) id = {Stage::FfnOut, id.layer, id.stack};
    return short_name(id);
}

bool has_two_texts(const KnockOut& result) {
    return !result.parts.empty() && result.parts.front().stage.stack != result.parts.back().stage.stack;
}

std::string column_name(const PanelContext& context, const KnockOut& result, ReplacedParts parts, std::int64_t column) {
    if (parts == ReplacedParts::Heads) return fmt::format("H{}", column);
    if (parts == ReplacedParts::Blocks) return std::string(kBlockColumns[static_cast<std::size_t>(column)]);
    if (has_two_texts(result)) return fmt::format("{}", column);
    return position_name(context, {result.parts.front().stage, column});
}

std::string part_name(const PanelContext& context, const PartWorth& part, ReplacedParts parts) {
    if (parts == ReplacedParts::Heads)
        return part.stage.stack == Stack::Main ? place_words(part.stage, part.index) : attention_name(part.stage, part.index, true);
    if (parts == ReplacedParts::Blocks) return fmt::format("{}, {}", row_name(part, parts), kBlocks[static_cast<std::size_t>(part.column)]);
    return fmt::format("{}, {} ‘{}’", row_name(part, parts), part.index, position_name(context, part));
}

void open_part(PanelContext& context, const PartWorth& part, ReplacedParts parts) {
    context.view.view = View::Step;
    context.view.stage = parts == ReplacedParts::Heads ? weights_of(part.stage) : part.stage;
    if (parts == ReplacedParts::Heads) context.view.head = part.index;
    if (!at_positions(parts)) return;
    context.view.knock_out.opened = {part.index, context.view.locked.on(Axis::T)};
    context.view.locked.set(Axis::T, part.index);
}

}  // namespace attn::app
