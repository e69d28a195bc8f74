#pragma once
/// Results read from a whole trace: the logit lens, and attention accumulated over all layers.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "app/session/states/facet.hpp"
#include "engine/model/logit_lens.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {

struct Readings {
    std::optional<LogitLens> lens;        ///< none for a model without an output head, or if totals were requested
    std::vector<AttentionTotals> totals;  ///< one per stack; empty if the lens was requested
    /// Null if the stack has no attention.
    const AttentionTotals* of(Stack stack) const {
        for (const AttentionTotals& one : totals)
            if (one.stack == stack) return &one;
        return nullptr;
    }
};

/// Reports the results so far and how many of `total` steps are done.
using ReadingsProgress = std::function<void(const Readings& so_far, std::size_t done, std::size_t total)>;

/// Memory needed to compute the totals, MiB.
double mib_of_totals(const Trace<float>& trace);

/// Memory that readings take, MiB.
double mib_of(const Readings& readings);

/// Also accepts an outline and recomputes its layers one after the other. Throws Cancelled once `stop` is requested.
Readings read_trace(const std::shared_ptr<const Trace<float>>& trace, ReadingKind kind, const std::stop_token& stop,
                    const ReadingsProgress& each = {});

}  // namespace attn::app
