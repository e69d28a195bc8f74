#pragma once
/// Results read from a whole trace: the logit lens, and attention accumulated over all layers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "app/session/states/facet.hpp"
#include "engine/model/logit_lens.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {

struct Readings {
    std::uint64_t serial = 0;                 ///< unique per computation, once it is complete
    std::optional<LogitLens> lens;            ///< none for a model without an output head, or if totals were requested
    std::vector<double> losses;               ///< of the lens, see lens_losses()
    std::vector<std::int32_t> first_choices;  ///< of the lens: every token that is likeliest somewhere, once
    std::vector<AttentionTotals> totals;      ///< one per stack; empty if the lens was requested
    /// Null if the stack has no attention.
    const AttentionTotals* of(Stack stack) const {
        for (const AttentionTotals& one : totals)
            if (one.stack == stack) return &one;
        return nullptr;
    }
};

/// Reports the results so far and how many of `total` steps are done.
using ReadingsProgress = std::function<void(const Readings& so_far, std::size_t done, std::size_t total)>;

/// [stages,B]: the mean of -ln p(next) over the positions that have a next token and count ([B,T], empty: all); NaN where there are none,
/// and for stages that are not computed. Throws ShapeError if `counts` has another size.
std::vector<double> lens_losses(const LogitLens& lens, std::span<const std::uint8_t> counts);

/// The tokens that are likeliest in at least one cell, in ascending order.
std::vector<std::int32_t> lens_first_choices(const LogitLens& lens);

/// Memory needed to compute the totals, MiB.
double mib_of_totals(const Trace<float>& trace);

/// Memory that readings take, MiB.
double mib_of(const Readings& readings);

/// Also accepts an outline and recomputes its layers one after the other. Throws Cancelled once `stop` is requested.
Readings read_trace(const std::shared_ptr<const Trace<float>>& trace, ReadingKind kind, const std::stop_token& stop,
                    const ReadingsProgress& each = {});

}  // namespace attn::app
