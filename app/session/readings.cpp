#include "app/session/readings.hpp"

#include "engine/model/outline.hpp"

namespace attn::app {
namespace {

/// One layer after the other, in the memory of one.
AttentionTotals totals_of_outline(const std::shared_ptr<const Trace<float>>& outline, Stack stack, const std::stop_token& stop,
                                  const std::function<void()>& each) {
    Recomputation<float> again(outline);
    TotalsOfLayers totals(stack);
    for (int layer = 0; layer < outline->config.num_layers; ++layer) {
        const StageId weights{Stage::Weights, layer, stack};
        totals.add(head_mean(*again.trace_around(weights, stop).find(weights)));
        each();
    }
    return totals.take();
}

}  // namespace

Readings read_trace(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop, const ReadingsProgress& each) {
    std::vector<Stack> stacks;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        if (trace->plan->find({Stage::Weights, 0, stack}) != nullptr) stacks.push_back(stack);
    const std::size_t steps_of_lens = trace->config.lm_head ? lens_stages(trace->config).size() : 0;
    const std::size_t total = steps_of_lens + stacks.size() * static_cast<std::size_t>(trace->config.num_layers);
    Readings readings;
    std::size_t done = 0;
    const auto tell = [&] {
        ++done;
        if (each) each(readings, done, total);
    };
    if (trace->config.lm_head)
        readings.lens = logit_lens(*trace, stop, [&](const LogitLens& so_far) {
            readings.lens = so_far;
            tell();
        });
    for (const Stack stack : stacks)
        readings.totals.push_back(trace->whole() ? attention_totals(*trace, stack, stop) : totals_of_outline(trace, stack, stop, tell));
    return readings;
}

}  // namespace attn::app
