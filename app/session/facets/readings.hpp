#pragma once
/// What is read off a whole trace: what each layer would predict, and attention over all layers.

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
    std::optional<LogitLens> lens;        ///< none for a model without an output head, and of totals
    std::vector<AttentionTotals> totals;  ///< of every stack; none of a lens
    /// nullptr where the stack has no attention.
    const AttentionTotals* of(Stack stack) const {
        for (const AttentionTotals& one : totals)
            if (one.stack == stack) return &one;
        return nullptr;
    }
};

/// Called with what is read by then; of `total` steps so many are done.
using ReadingsProgress = std::function<void(const Readings& so_far, std::size_t done, std::size_t total)>;

/// What computing the totals takes at once, MiB.
double mib_of_totals(const Trace<float>& trace);

/// Of an outline, too, whose layers are computed again one after the other. Throws Cancelled once `stop` is requested.
Readings read_trace(const std::shared_ptr<const Trace<float>>& trace, ReadingKind kind, const std::stop_token& stop,
                    const ReadingsProgress& each = {});

}  // namespace attn::app
