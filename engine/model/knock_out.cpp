#include "engine/model/knock_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/model/model_pass.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

void require_place(const Trace<float>& trace, const KnockOutQuestion::Place& place) {
    if (place.sequence < 0 || place.sequence >= trace.tokens.size()) throw Error("there is no text " + std::to_string(place.sequence));
    if (place.position < 0 || place.position >= trace.tokens.length) throw Error("there is no position " + std::to_string(place.position));
    if (place.token < 0 || place.token >= trace.config.vocab_size) throw Error("there is no token " + std::to_string(place.token));
}

/// softmax(row)[token] in double.
double probability(const Tensor<float>& logits, const KnockOutQuestion::Place& place) {
    const std::int64_t vocabulary = logits.shape()[2].size, length = logits.shape()[1].size;
    const float* row = logits.data() + (place.sequence * length + place.position) * vocabulary;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t v = 0; v < vocabulary; ++v) {
        if (std::isnan(row[v])) return std::numeric_limits<double>::quiet_NaN();
        largest = std::max(largest, static_cast<double>(row[v]));
    }
    for (std::int64_t v = 0; v < vocabulary; ++v) sum += std::exp(static_cast<double>(row[v]) - largest);
    return std::exp(static_cast<double>(row[place.token]) - largest) / sum;
}

std::vector<HeadWorth> heads_of(const Trace<float>& trace) {
    std::vector<HeadWorth> heads;
    for (const PlanNode& node : trace.plan->nodes()) {
        if (node.op != Op::Mix) continue;
        for (std::int64_t head = 0; head < trace.config.num_heads; ++head) heads.push_back({node.id, head});
    }
    return heads;
}

}  // namespace

std::vector<std::int32_t> next_tokens(const TokenBatch& tokens) {
    std::vector<std::int32_t> targets(tokens.ids.size(), kIgnoredTarget);
    for (std::int64_t b = 0; b < tokens.size(); ++b)
        for (std::int64_t t = 0; t + 1 < tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            const auto at = static_cast<std::size_t>(b * tokens.length + t);
            targets[at] = tokens.ids[at + 1];
        }
    return targets;
}

KnockOut knock_out_heads(const Trace<float>& trace, const KnockOutQuestion& question,
                         const std::function<void(std::size_t, std::size_t)>& progress, std::stop_token stop) {
    if (!trace.config.lm_head) throw ConfigError("a model without an output head predicts nothing that a head could change");
    if (question.place) require_place(trace, *question.place);
    std::vector<std::int32_t> targets = next_tokens(trace.tokens);
    if (!question.counted.empty() && question.counted.size() != targets.size())
        throw Error("what counts is said of " + std::to_string(question.counted.size()) + " positions, but there are " +
                    std::to_string(targets.size()));
    for (std::size_t at = 0; at < question.counted.size(); ++at)
        if (question.counted[at] == 0) targets[at] = kIgnoredTarget;
    ModelPass<float> pass(*trace.parameters, Keep::OneLayer);
    Tap<float> tap(false, std::move(stop));
    ForwardSettings settings = trace.settings;
    const auto measure = [&] {
        pass.forward(trace.tokens, trace.source_tokens, settings, tap);
        return question.place ? probability(pass.logits(), *question.place) : pass.loss(targets).loss;
    };
    KnockOut out;
    out.heads = heads_of(trace);
    progress(0, out.heads.size());
    out.with_all = measure();
    Edit removal;
    removal.kind = EditKind::Scale;
    settings.edits.push_back(removal);  // after all others, so that nothing brings the head back
    for (std::size_t i = 0; i < out.heads.size(); ++i) {
        progress(i, out.heads.size());
        settings.edits.back().at = out.heads[i].context;
        settings.edits.back().head = out.heads[i].head;
        out.heads[i].without = measure();
    }
    progress(out.heads.size(), out.heads.size());
    return out;
}

}  // namespace attn
