#include "app/panels/views/knock_out_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/part_words.hpp"
#include "app/panels/views/knock_out_parts.hpp"
#include "app/panels/views/token_choice.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/session/document/knock_out_names.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kMostAnswers = 12;

std::int64_t shown_text(const PanelContext& context) {
    return std::clamp<std::int64_t>(context.view.batch, 0, context.structure().tokens.size() - 1);
}

/// Numbers of the chosen text replace those of the shown one; if that is the chosen one, those of the text beside it do. None: zeros.
std::optional<KnockOutQuestion::Patch> shown_patch(const PanelContext& context) {
    const std::int64_t texts = context.structure().tokens.size(), shown = shown_text(context);
    const std::optional<std::int64_t>& from = context.view.knock_out.from;
    if (!from || *from >= texts || texts < 2) return std::nullopt;
    return KnockOutQuestion::Patch{*from != shown ? *from : text_beside_shown(context), shown};
}

/// What is measured, before it is known what replaces the parts.
KnockOutQuestion measure_of(const PanelContext& context) {
    if (context.view.knock_out.measure == AnswerMeasure::Loss) return {.counted = context.snapshot.asked, .text = shown_text(context)};
    const std::optional<AskedPlace> place = asked_place(context.snapshot, context.view);
    if (!place) return {};
    const std::int64_t token = context.view.locked.on(Axis::V).value_or(own_answer(context).value_or(0));
    return {.place = KnockOutQuestion::Place{
                place->sequence, place->position,
                static_cast<std::int32_t>(std::clamp<std::int64_t>(token, 0, context.structure().config.vocab_size - 1))}};
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
std::string why_unchanged(const Structure& structure, const KnockOutQuestion& question) {
    const std::optional<std::int64_t> differ = first_difference(structure.tokens, *question.patch);
    const bool sources_differ = structure.source_tokens.size() > 0 && first_difference(structure.source_tokens, *question.patch);
    if (!differ && !sources_differ) return "the texts are the same: change a word";
    if (question.place && differ && !sources_differ && *differ > question.place->position)
        return "up to this position the texts are the same";
    return "nothing changes it";
}

/// The chosen token, or the first that suggests itself; none while that is not known.
std::optional<std::int32_t> answer_against(const PanelContext& context, const KnockOutQuestion& question) {
    const std::optional<std::int32_t>& chosen = context.view.knock_out.against;
    if (chosen && *chosen != question.place->token && *chosen < context.structure().config.vocab_size) return chosen;
    const std::vector<std::int32_t> answers = other_answers(context, question);
    return answers.empty() || answers.front() >= context.structure().config.vocab_size ? std::nullopt : std::optional(answers.front());
}

std::string_view measure_name(AnswerMeasure measure) { return kMeasureNames[static_cast<std::size_t>(measure)]; }

/// Where the other text has another word at the place asked about: " after ‘was’".
std::string other_place(const PanelContext& context, const KnockOutQuestion& question) {
    const TokenBatch& tokens = context.structure().tokens;
    const auto token = [&](std::int64_t text) {
        return tokens.ids[static_cast<std::size_t>(text * tokens.length + question.place->position)];
    };
    if (token(question.patch->from) == token(question.patch->into)) return "";
    return fmt::format(" {} ‘{}’", reads_both_ways(context) ? "at" : "after",
                       index_label(context, {Stage::Logits, -1}, Axis::V, token(question.patch->from)));
}

/// Nothing says which words of two texts belong together if one is longer.
std::string matched_words(const Structure& structure, const KnockOutQuestion::Patch& patch) {
    const auto of = [&](const char* texts, Stack stack) -> std::string {
        const std::vector<std::int64_t>& lengths = structure.tokens_of(stack).lengths;
        const std::int64_t from = lengths[static_cast<std::size_t>(patch.from)], into = lengths[static_cast<std::size_t>(patch.into)];
        if (from == into) return "";
        return fmt::format(" The {} have {} and {} tokens: they are matched by position, not by word, and only the first {} are replaced.",
                           texts, into, from, std::min(from, into));
    };
    if (structure.source() == nullptr) return of("texts", Stack::Main);
    return of("sources", Stack::Encoder) + of("targets", Stack::Decoder);
}

}  // namespace

KnockOutQuestion knock_out_question(const PanelContext& context) {
    if (!context.ready()) return {};
    KnockOutQuestion question = measure_of(context);
    question.patch = shown_patch(context);
    const std::vector<ReplacedParts> parts = replaceable_parts(context.structure(), question.patch.has_value());
    const bool possible = std::find(parts.begin(), parts.end(), context.view.knock_out.parts) != parts.end();
    question.parts = possible ? context.view.knock_out.parts : ReplacedParts::Heads;
    if (context.view.knock_out.measure == AnswerMeasure::LogitDifference && question.place)
        question.place->against = answer_against(context, question);
    return question;
}

void keep_up_with_vocabulary(PanelContext& context) {
    // Until then, the chosen token belongs to a vocabulary that is not available yet.
    if (!context.up_to_date || context.view.opening) return;
    KnockOutState& state = context.view.knock_out;
    state.against = followed_token(context.snapshot.vocabulary, state.against, state.against_was);
}

std::string why_not_measured(const PanelContext& context, const KnockOutQuestion& question) {
    if (!context.structure().config.lm_head) return without_output_head(context.document.model != nullptr);
    const std::int64_t length = context.structure().tokens.lengths[static_cast<std::size_t>(shown_text(context))];
    if (!question.place && !reads_both_ways(context) && length <= 1)
        return "A text of one token has no next token to predict, so there is no loss: write a longer text, or choose a token's "
               "probability.";
    if (context.view.knock_out.measure == AnswerMeasure::LogitDifference && question.measure() != AnswerMeasure::LogitDifference)
        return context.structure().config.vocab_size > 1 ? "The likely tokens are being computed."
                                                         : "There is no other token to compare with.";
    return "";
}

std::optional<AskedPlace> asked_place(const Snapshot& snapshot, const ViewState& view) {
    const TokenBatch& tokens = snapshot.trace->tokens;
    if (tokens.size() == 0 || tokens.length == 0) return std::nullopt;
    const std::int64_t sequence = std::clamp<std::int64_t>(view.batch, 0, tokens.size() - 1);
    const std::int64_t length = std::max<std::int64_t>(tokens.lengths[static_cast<std::size_t>(sequence)], 1);
    const bool both_ways = snapshot.trace->config.architecture == Architecture::Encoder;
    const bool hides = both_ways && snapshot.state != nullptr && !conventions_of(*snapshot.state->setup).ids;
    const std::optional<std::int64_t> hidden = hides ? hidden_position(snapshot, view) : std::nullopt;
    const std::int64_t asked = hidden ? *hidden : view.locked.on(Axis::T).value_or(length - (both_ways ? 1 : 2));
    AskedPlace place{sequence, std::clamp<std::int64_t>(asked, 0, length - 1)};
    // Nothing says which word is hidden, or what would follow the text.
    const std::int64_t answer = place.position + (both_ways ? 0 : 1);
    if (!hidden && answer < length) place.written = tokens.ids[static_cast<std::size_t>(sequence * tokens.length + answer)];
    return place;
}

std::optional<std::int32_t> own_answer(const PanelContext& context) {
    const std::optional<AskedPlace> place = asked_place(context.snapshot, context.view);
    if (!place || place->written) return place ? place->written : std::nullopt;
    if (const auto words = context.ask_latest(facet::NextWords{place->sequence, {}, place->position}); words && !words->likeliest.empty())
        return words->likeliest.front().id;
    // Until the likeliest is known, the question is about the token at the position itself.
    const TokenBatch& tokens = context.structure().tokens;
    return tokens.ids[static_cast<std::size_t>(place->sequence * tokens.length + place->position)];
}

std::vector<std::int32_t> likely_answers(const PanelContext& context, const KnockOutQuestion& question) {
    std::vector<std::int32_t> answers;
    if (const auto words = context.ask_latest(facet::NextWords{question.place->sequence, {}, question.place->position}))
        for (const NextWord& word : words->likeliest)
            if (answers.size() < kMostAnswers) answers.push_back(word.id);
    return answers;
}

std::vector<std::int32_t> other_answers(const PanelContext& context, const KnockOutQuestion& question) {
    std::vector<std::int32_t> answers;
    const auto add = [&](std::int32_t token) {
        const bool known = token == question.place->token || std::find(answers.begin(), answers.end(), token) != answers.end();
        if (!known && answers.size() < kMostAnswers) answers.push_back(token);
    };
    const auto add_likeliest = [&](std::int64_t text, std::size_t most) {
        const auto words = context.ask_latest(facet::NextWords{text, {}, question.place->position});
        for (std::size_t i = 0; words && i < std::min(most, words->likeliest.size()); ++i) add(words->likeliest[i].id);
        return words.value != nullptr;
    };
    const std::int64_t from = question.patch ? question.patch->from : question.place->sequence;
    const TokenBatch& tokens = context.structure().tokens;
    if (from != question.place->sequence && question.place->position < tokens.lengths[static_cast<std::size_t>(from)]) {
        const std::int64_t next = question.place->position + (reads_both_ways(context) ? 0 : 1);
        if (next < tokens.lengths[static_cast<std::size_t>(from)]) add(tokens.ids[static_cast<std::size_t>(from * tokens.length + next)]);
        if (!add_likeliest(from, 1)) return answers;  // what is likely here would otherwise be first for a moment
    }
    add_likeliest(question.place->sequence, kMostAnswers);
    return answers;
}

std::int64_t text_beside_shown(const PanelContext& context) {
    const std::int64_t shown = shown_text(context);
    return shown > 0 ? shown - 1 : 1;
}

std::string question_words(const PanelContext& context, const KnockOutQuestion& question) {
    const bool both_ways = reads_both_ways(context);
    if (!question.place) {
        const std::int64_t texts = context.structure().tokens.size();
        const std::string text = texts > 1 ? fmt::format("text {} of {}", shown_text(context) + 1, texts) : "the shown text";
        if (both_ways) return fmt::format("loss on every word of {} that is not hidden", text);
        if (question.counted.empty()) return "next-token loss on " + text;
        return fmt::format("loss on what the task asks for in {}; the rest cannot be predicted", text);
    }
    const auto& place = *question.place;
    const bool two_texts = context.structure().config.architecture == Architecture::EncoderDecoder;
    const auto token = [&](std::int32_t id) { return index_label(context, {Stage::Logits, -1}, Axis::V, id); };
    const std::string asked = place.against ? fmt::format("logits ‘{}’ − ‘{}’", token(place.token), token(*place.against))
                                            : fmt::format("probability of ‘{}’", token(place.token));
    return fmt::format("{} {} position {} ‘{}’{}", asked, both_ways ? "at" : "after", place.position,
                       index_label(context, {Stage::Logits, -1}, Axis::T, place.position), two_texts ? " of the target" : "");
}

std::string measured_words(const Structure& structure, const KnockOutQuestion& question) {
    const bool loss = question.measure() == AnswerMeasure::Loss;
    const char *worse = loss ? "rises" : "falls", *better = loss ? "falls" : "rises";
    const std::string what = fmt::format("Change in the {} when {}", measure_name(question.measure()), sentence_name(question.parts));
    if (question.patch)
        return fmt::format(
            "{} is taken from text {} and everything after it is recomputed (activation patching). Orange: it {}, so its own numbers help. "
            "Blue: it {}.{}",
            what, question.patch->from + 1, worse, better, matched_words(structure, *question.patch));
    return fmt::format(
        "{0} is set to zero and everything after it is recomputed. Orange: it {2} without the {1}, which helps. Blue: it {3}; "
        "the {1} hurts.",
        what, question.parts == ReplacedParts::Heads ? "head" : "block", worse, better);
}

std::string measured_whole(const PanelContext& context, const KnockOutQuestion& question, const KnockOut& result) {
    const std::string_view measure = measure_name(question.measure());
    const std::string value = format_number(result.with_all, {.decimals = 4});
    std::string words = fmt::format(
        "{} {} {}", measure, question.patch ? "with nothing replaced" : "with all " + std::string(counted_name(question.parts)), value);
    if (!question.patch) return words;
    if (result.in_other_text)
        words += fmt::format(" · in text {}{}: {}", question.patch->from + 1, other_place(context, question),
                             format_number(*result.in_other_text, {.decimals = 4}));
    const bool changed = !result.strongest.empty() && result.change(result.parts[result.strongest.front()]) != 0;
    if (!changed) return fmt::format("{} {} · {}", measure, value, why_unchanged(context.structure(), question));
    return words;
}

}  // namespace attn::app
