#include "app/session/values/held_out.hpp"

#include <algorithm>
#include <span>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {
namespace {

std::int32_t likeliest_id(std::span<const float> logits) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// The tokens of a sequence, without predictions.
HeldOutExample unanswered(const HeldOutTexts& texts, std::int64_t sequence) {
    const auto words = [&](const TokenBatch& batch) {
        std::vector<std::string> all;
        if (batch.lengths.empty()) return all;
        const auto first = static_cast<std::size_t>(sequence * batch.length);
        for (std::size_t i = 0; i < static_cast<std::size_t>(batch.lengths[static_cast<std::size_t>(sequence)]); ++i)
            all.push_back(texts.vocabulary[static_cast<std::size_t>(batch.ids[first + i])]);
        return all;
    };
    const Batch& batch = texts.batch;
    HeldOutExample example{words(batch.tokens), {}, {}, words(batch.source)};
    const std::size_t last = static_cast<std::size_t>(sequence * batch.tokens.length) + example.tokens.size() - 1;
    // The last symbol of a sequence is only a target, never an input.
    if (!texts.fills_in && batch.targets[last] != kIgnoredTarget) example.tokens.emplace_back();
    example.predicted.resize(example.tokens.size());
    example.right.assign(example.tokens.size(), -1);
    return example;
}

/// A sequence with what is asked for; `answer` is called for each such place with its index in the batch, and gives the id said there, if
/// anything is.
template <class Answer>
HeldOutExample answered(const HeldOutTexts& texts, std::int64_t sequence, const Answer& answer) {
    const Batch& batch = texts.batch;
    HeldOutExample example = unanswered(texts, sequence);
    const auto first = static_cast<std::size_t>(sequence * batch.tokens.length);
    const std::size_t end = first + static_cast<std::size_t>(batch.tokens.lengths[static_cast<std::size_t>(sequence)]);
    for (std::size_t at = first; at < end; ++at) {
        const std::int32_t target = batch.targets[at];
        if (target == kIgnoredTarget) continue;
        const std::optional<std::int32_t> said = answer(at);
        const std::size_t place = at - first + (texts.fills_in ? 0 : 1);
        example.tokens[place] = texts.vocabulary[static_cast<std::size_t>(target)];
        if (said) example.predicted[place] = texts.vocabulary[static_cast<std::size_t>(*said)];
        example.right[place] = static_cast<std::int8_t>(said == target);
    }
    return example;
}

}  // namespace

Job<HeldOutAnswers> facet::HeldOut::make(const HeldOut& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work& work) {
        const Batch& batch = wanted.texts->batch;
        const auto trace = work.engine.forward(pass->trace->parameters, batch.tokens, batch.source, wanted.forward, work.stop);
        const std::span<const float> logits = trace.find(trace.plan->logits())->value.values();
        const auto likeliest = [&](std::size_t at) {
            return std::optional(likeliest_id(logits.subspan(at * wanted.texts->vocabulary.size(), wanted.texts->known)));
        };
        HeldOutAnswers answers{pass->trained_step, {}};
        for (std::int64_t b = 0; b < batch.tokens.size(); ++b) answers.examples.push_back(answered(*wanted.texts, b, likeliest));
        return answers;
    };
}

Job<HeldOutExample> facet::TaskExample::make(const TaskExample& wanted, Ask&) {
    return [wanted](const Work&) {
        const Dataset dataset(wanted.task, wanted.seed);
        const HeldOutTexts texts = held_out_texts(dataset, wanted.task.kind, dataset.probe_batch());
        return answered(texts, 0, [](std::size_t) { return std::optional<std::int32_t>(); });
    };
}

}  // namespace attn::app
