#pragma once
/// What is read off a whole trace: what each layer would predict, and attention over all layers.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/model/logit_lens.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {

struct Readings {
    std::optional<LogitLens> lens;        ///< none for a model without an output head
    std::vector<AttentionTotals> totals;  ///< of every stack
    /// nullptr where the stack has no attention.
    const AttentionTotals* of(Stack stack) const {
        for (const AttentionTotals& one : totals)
            if (one.stack == stack) return &one;
        return nullptr;
    }
};

/// What has become of the readings that were asked for last.
struct ReadingsReport {
    std::uint64_t serial = 0;                  ///< of the snapshot that was asked about; 0: none was
    std::shared_ptr<const Readings> readings;  ///< of its trace; null until they are there
    bool running = false;
    std::string problem;  ///< why there are none, "" when there are or will be
};

/// Throws Cancelled once `stop` is requested.
inline Readings read_trace(const Trace<float>& trace, const std::stop_token& stop) {
    Readings readings;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        if (trace.find({Stage::Weights, 0, stack}) != nullptr) readings.totals.push_back(attention_totals(trace, stack, stop));
    if (trace.config.lm_head) readings.lens = logit_lens(trace, stop);
    return readings;
}

}  // namespace attn::app
