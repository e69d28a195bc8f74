#include "app/session/readings.hpp"

#include "engine/model/outline.hpp"

namespace attn::app {
namespace {

/// One layer after the other, in the memory of one.
AttentionTotals totals_of_outline(const std::shared_ptr<const Trace<float>>& outline, Stack stack, const std::stop_token& stop) {
    Recomputation<float> again(outline);
    TotalsOfLayers totals(stack);
    for (int layer = 0; layer < outline->config.num_layers; ++layer) {
        const StageId weights{Stage::Weights, layer, stack};
        totals.add(head_mean(*again.trace_around(weights, stop).find(weights)));
    }
    return totals.take();
}

}  // namespace

Readings read_trace(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop) {
    Readings readings;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder}) {
        if (trace->plan->find({Stage::Weights, 0, stack}) == nullptr) continue;
        readings.totals.push_back(trace->whole() ? attention_totals(*trace, stack, stop) : totals_of_outline(trace, stack, stop));
    }
    if (trace->config.lm_head) readings.lens = logit_lens(*trace, stop);
    return readings;
}

}  // namespace attn::app
