#include "app/panels/views/knock_out_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "app/panels/maps/labels.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/session/facets/next_words.hpp"
#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

std::int64_t shown_text(const PanelContext& context) {
    return std::clamp<std::int64_t>(context.view.batch, 0, context.trace().tokens.size() - 1);
}

/// Numbers of the chosen text replace those of the shown one; if that is the chosen one, those of the text beside it do. None: zeros.
std::optional<KnockOutQuestion::Patch> shown_patch(const PanelContext& context) {
    const std::int64_t texts = context.trace().tokens.size(), shown = shown_text(context);
    const std::optional<std::int64_t>& from = context.view.knock_out.from;
    if (!from || *from >= texts || texts < 2) return std::nullopt;
    return KnockOutQuestion::Patch{*from != shown ? *from : text_beside_shown(context), shown};
}

/// What is measured, before it is known what replaces the parts.
KnockOutQuestion measure_of(const PanelContext& context) {
    if (!context.view.knock_out.chance) return {{}, context.snapshot.asked};
    const TokenBatch& tokens = context.trace().tokens;
    const std::int64_t batch = std::min(context.view.batch, tokens.size() - 1);
    if (batch < 0 || tokens.length == 0) return {};
    const std::int64_t length = std::max<std::int64_t>(tokens.lengths[static_cast<std::size_t>(batch)], 1);
    const bool both_ways = reads_both_ways(context);
    const std::optional<std::int64_t> hidden = both_ways ? hidden_position(context) : std::nullopt;
    const std::int64_t asked = hidden ? *hidden : context.view.locked.on(Axis::T).value_or(length - (both_ways ? 1 : 2));
    const std::int64_t position = std::clamp<std::int64_t>(asked, 0, length - 1);
    const std::int64_t next = both_ways ? position : std::min(position + 1, length - 1);
    std::int64_t said = tokens.ids[static_cast<std::size_t>(batch * tokens.length + next)];
    // Nothing says which word is hidden, or what would follow the text: the likeliest is asked for.
    if (hidden || (!both_ways && position == length - 1))
        if (const auto words = context.ask_latest(facet::NextWords{batch, {}, position}); words && !words->likeliest.empty())
            said = words->likeliest.front().id;
    const std::int64_t token = context.view.locked.on(Axis::V).value_or(said);
    return {KnockOutQuestion::Place{batch, position,
                                    static_cast<std::int32_t>(std::clamp<std::int64_t>(token, 0, context.trace().config.vocab_size - 1))},
            {}};
}

/// The first position at which two texts of a batch differ, or at which the shorter one ends; none: they are the same.
std::optional<std::int64_t> first_difference(const TokenBatch& tokens, const KnockOutQuestion::Patch& patch) {
    const auto text = [&](std::int64_t index) {
        return std::span(tokens.ids)
            .subspan(static_cast<std::size_t>(index * tokens.length),
                     static_cast<std::size_t>(tokens.lengths[static_cast<std::size_t>(index)]));
    };
    const std::span<const std::int32_t> from = text(patch.from), into = text(patch.into);
    const auto differ = std::mismatch(from.begin(), from.end(), into.begin(), into.end());
    return differ.first == from.end() && differ.second == into.end() ? std::nullopt : std::optional(differ.first - from.begin());
}

/// Why no replacement changes anything, as far as the texts tell.
std::string why_unchanged(const Trace<float>& trace, const KnockOutQuestion& question) {
    const std::optional<std::int64_t> differ = first_difference(trace.tokens, *question.patch);
    const bool sources_differ = trace.source_tokens.size() > 0 && first_difference(trace.source_tokens, *question.patch);
    if (!differ && !sources_differ) return "the texts are the same: change a word";
    if (question.place && differ && !sources_differ && *differ > question.place->position)
        return "up to this position the texts are the same";
    return "nothing changes it";
}

}  // namespace

KnockOutQuestion knock_out_question(const PanelContext& context) {
    if (!context.ready()) return {};
    KnockOutQuestion question = measure_of(context);
    question.patch = shown_patch(context);
    if (question.patch) question.parts = context.view.knock_out.parts;
    return question;
}

std::int64_t text_beside_shown(const PanelContext& context) {
    const std::int64_t shown = shown_text(context);
    return shown > 0 ? shown - 1 : 1;
}

std::int64_t longest_counted(const TokenBatch& tokens, const KnockOutQuestion& question) {
    if (question.patch) return tokens.lengths[static_cast<std::size_t>(question.patch->into)];
    return tokens.lengths.empty() ? 0 : *std::max_element(tokens.lengths.begin(), tokens.lengths.end());
}

std::string question_words(const PanelContext& context, const KnockOutQuestion& question) {
    const bool both_ways = reads_both_ways(context), of_all = context.trace().tokens.size() > 1 && !question.patch;
    if (!question.place && both_ways)
        return of_all ? "loss on every word of all texts that is not hidden" : "loss on every word of the shown text that is not hidden";
    if (!question.place && !question.counted.empty()) return "loss on what the task asks for; the rest cannot be predicted";
    if (!question.place) return of_all ? "next-token loss on all texts" : "next-token loss on the shown text";
    const auto& place = *question.place;
    const bool two_texts = context.trace().config.architecture == Architecture::EncoderDecoder;
    return fmt::format("probability of ‘{}’ {} position {} ‘{}’{}", index_label(context, {Stage::Logits, -1}, Axis::V, place.token),
                       both_ways ? "at" : "after", place.position, index_label(context, {Stage::Logits, -1}, Axis::T, place.position),
                       two_texts ? " of the target" : "");
}

std::string measured_words(const KnockOutQuestion& question) {
    if (!question.patch)
        return question.place ? "Change in the probability when a head's context is set to zero and everything after it is recomputed. "
                                "Orange: it rises without the head, which opposes the token. Blue: it falls; the head favours the token."
                              : "Change in the loss when a head's context is set to zero and everything after it is recomputed. Orange: it "
                                "rises without the head, which helps. Blue: it falls; the head hurts.";
    const char* part = question.parts == ReplacedParts::Heads ? "a head's context" : "the stream that enters a layer, at one position,";
    return fmt::format(
        "Change in the {} when {} is taken from text {} and everything after it is recomputed (activation patching). Orange: "
        "it rises. Blue: it falls.",
        question.place ? "probability" : "loss", part, question.patch->from + 1);
}

std::string measured_whole(const Trace<float>& trace, const KnockOutQuestion& question, const KnockOut& result) {
    std::string words =
        fmt::format("{} {} {}", question.place ? "probability" : "loss", question.patch ? "with nothing replaced" : "with all heads",
                    format_number(result.with_all, {.decimals = 4}));
    if (!question.patch) return words;
    if (result.in_other_text)
        words += fmt::format(" · in text {}: {}", question.patch->from + 1, format_number(*result.in_other_text, {.decimals = 4}));
    const bool changed =
        std::any_of(result.parts.begin(), result.parts.end(), [&](const PartWorth& part) { return part.without != result.with_all; });
    if (!changed)
        return fmt::format("{} {} · {}", question.place ? "probability" : "loss", format_number(result.with_all, {.decimals = 4}),
                           why_unchanged(trace, question));
    const auto length = [&](std::int64_t text) { return trace.tokens.lengths[static_cast<std::size_t>(text)]; };
    const std::int64_t from = length(question.patch->from), into = length(question.patch->into);
    return from == into ? words : words + fmt::format(" · only the first {} positions, which both texts have", std::min(from, into));
}

}  // namespace attn::app
