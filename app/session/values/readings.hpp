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

#include "app/session/values/facet.hpp"
#include "engine/model/logit_lens.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {

struct LensReading {
    std::uint64_t serial = 0;                 ///< unique per computation, once it is complete
    std::optional<LogitLens> lens;            ///< none for a model without an output head
    std::vector<double> losses;               ///< see lens_losses()
    std::vector<std::int32_t> first_choices;  ///< every token that is likeliest somewhere, once
};

struct TotalsReading {
    std::uint64_t serial = 0;             ///< unique per computation
    std::vector<AttentionTotals> totals;  ///< one per stack whose tokens attend to each other
    /// Null if the stack has no attention.
    const AttentionTotals* of(Stack stack) const {
        for (const AttentionTotals& one : totals)
            if (one.stack == stack) return &one;
        return nullptr;
    }
};

/// Reports how many of `total` layers are read, the lens with what is known of it so far.
using LensProgress = std::function<void(const LensReading& so_far, std::size_t done, std::size_t total)>;
using TotalsProgress = std::function<void(std::size_t done, std::size_t total)>;

/// [stages,B]: the mean of -ln p(next) over the positions that have a next token and count ([B,T], empty: all); NaN where there are none,
/// and for stages that are not computed. Throws ShapeError if `counts` has another size.
std::vector<double> lens_losses(const LogitLens& lens, std::span<const std::uint8_t> counts);

/// The tokens that are likeliest in at least one cell, in ascending order.
std::vector<std::int32_t> lens_first_choices(const LogitLens& lens);

/// Memory needed to compute the totals, MiB.
double mib_of_totals(const Trace<float>& trace);

/// Memory that they take, MiB.
double mib_of(const LensReading& reading);
double mib_of(const TotalsReading& reading);

/// Also accept an outline and recompute its layers one after the other. Throw Cancelled once `stop` is requested.
LensReading read_lens(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop, const LensProgress& each = {});
TotalsReading read_totals(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop, const TotalsProgress& each = {});

namespace facet {

/// What each layer would predict if it were the last one. Read from the whole trace.
struct Lens {
    using Value = app::LensReading;
    static constexpr FacetInfo kInfo{.runs_model = true};
    static Job<Value> make(const Lens&, Ask& ask);
    bool operator==(const Lens&) const = default;
};

/// Attention accumulated over all layers. Read from the whole trace.
struct Totals {
    using Value = app::TotalsReading;
    static constexpr FacetInfo kInfo{};
    static Job<Value> make(const Totals&, Ask& ask);
    bool operator==(const Totals&) const = default;
};

}  // namespace facet

}  // namespace attn::app
