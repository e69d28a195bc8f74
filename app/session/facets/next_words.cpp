#include "app/session/values/next_words.hpp"

#include <algorithm>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/model/logit_lens.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

Stack writing_stack(const Config& config) { return config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main; }

/// The row of x [B,T,X] at one position.
std::span<const float> row_of(const Tensor<float>& x, std::int64_t sequence, std::int64_t position) {
    const std::int64_t width = x.shape()[2].size;
    return x.values().subspan(static_cast<std::size_t>((sequence * x.shape()[1].size + position) * width), static_cast<std::size_t>(width));
}

}  // namespace

std::vector<float> logits_at(const Trace<float>& trace, std::int64_t sequence, std::int64_t position) {
    const auto copied = [](std::span<const float> row) { return std::vector<float>(row.begin(), row.end()); };
    if (const RecordedStage<float>* logits = trace.find(trace.plan->logits())) return copied(row_of(logits->value, sequence, position));
    const StageId stream = trace.plan->streams(writing_stack(trace.config)).back();
    const RecordedStage<float>* last = trace.find(stream);
    if (last == nullptr) throw Error("there is no word to continue from");
    const std::span<const float> row = row_of(last->value, sequence, position);
    Trace<float> one;
    one.config = trace.config;
    one.plan = trace.plan;
    one.settings = trace.settings;
    one.parameters = trace.parameters;
    one.stages.push_back({stream, Tensor<float>({{Axis::B, 1}, {Axis::T, 1}, {Axis::C, static_cast<std::int64_t>(row.size())}})});
    std::copy(row.begin(), row.end(), one.stages.back().value.data());
    return copied(row_of(lens_logits(one, stream), 0, 0));
}

NextWords next_words(const Snapshot& snapshot, std::int64_t sequence, const SamplingSettings& sampling,
                     std::optional<std::int64_t> position) {
    const Trace<float>& trace = *snapshot.trace;
    const Architecture architecture = trace.config.architecture;
    const bool writes = architecture == Architecture::EncoderDecoder || trace.settings.masks.causal;
    const bool fills_in = position && architecture == Architecture::Encoder;
    if (fills_in && !trace.config.lm_head) throw Error("this model does not fill in words");
    if (!trace.config.lm_head || (!position && !writes)) throw Error("this model does not predict next words");
    const std::int64_t row = std::clamp<std::int64_t>(sequence, 0, trace.tokens.size() - 1);
    const std::int64_t length = trace.tokens.lengths.at(static_cast<std::size_t>(row));
    if (length == 0) throw Error("there is no word to continue from");
    if (position && (*position < 0 || *position >= length)) throw Error("there is no word at this position");
    const std::vector<float> logits = logits_at(trace, row, position.value_or(length - 1));
    const std::int32_t first_word = snapshot.state == nullptr ? 0 : conventions_of(*snapshot.state->setup).first_word;
    const Candidates candidates = candidates_of(logits, sampling, kMostNextWords + 2);
    NextWords words;
    words.rest = 1;
    words.kept = candidates.kept;
    words.kept_share = candidates.kept_share;
    words.first_cut = candidates.first_cut;
    for (const Candidate& candidate : candidates.likeliest) {
        if (candidate.id < first_word) continue;
        if (words.likeliest.size() == kMostNextWords) break;
        const auto id = static_cast<std::size_t>(candidate.id);
        words.likeliest.push_back({candidate.id, id < snapshot.vocabulary.size() ? snapshot.vocabulary[id] : "", candidate.heated,
                                   candidate.predicted, candidate.chance, candidate.cut});
        words.rest -= candidate.heated;
    }
    words.others = static_cast<std::int64_t>(logits.size() - words.likeliest.size());
    words.rest = std::max(words.rest, 0.0);
    return words;
}

Job<NextWords> facet::NextWords::make(const NextWords& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work&) { return next_words(*pass, wanted.sequence, wanted.sampling, wanted.position); };
}

}  // namespace attn::app
