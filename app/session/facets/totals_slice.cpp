#include "app/session/values/totals_slice.hpp"

#include <utility>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {
namespace {

/// A state's totals, and the pass that they are of.
struct AskedTotals {
    std::shared_ptr<const Snapshot> pass;
    std::shared_ptr<const TotalsReading> totals;

    std::int64_t positions(Stack stack) const {
        return (stack == Stack::Encoder ? pass->trace->source_tokens : pass->trace->tokens).length;
    }
    ChangedSlice slice(bool rollout, const facet::TotalsSlice::Place& at) const {
        const AttentionTotals* of_stack = totals->of(at.stack);
        if (of_stack == nullptr) throw Error("that state has no attention of this kind");
        return slice_of_totals({*pass->trace, *of_stack, rollout, at.layer, at.sequence});
    }
};

AskedTotals ask_totals(Ask& ask, const StateRef& state) { return {ask.of(state, facet::Trace{}), ask.of(state, facet::Totals{})}; }

}  // namespace

Job<ChangedSlice> facet::TotalsSlice::make(const TotalsSlice& wanted, Ask& ask) {
    const AskedTotals mine = ask_totals(ask, ask.state());
    const AskedTotals other = wanted.minus == nullptr ? AskedTotals{} : ask_totals(ask, wanted.minus);
    return [wanted, mine, other](const Work& work) -> Made<app::ChangedSlice> {
        const std::int64_t positions = mine.positions(wanted.at.stack);
        const double slices = other.pass == nullptr ? 1 : 3, bytes = sizeof(float) + sizeof(std::uint8_t);
        work.expect_room(slices * bytes * static_cast<double>(positions * positions) / (1024.0 * 1024.0));
        app::ChangedSlice made = mine.slice(wanted.rollout, wanted.at);
        if (other.pass != nullptr) {
            if (other.positions(wanted.minus_at.stack) != positions) throw Error("the two states have texts of different lengths");
            made = slice_difference(made.grid(positions), other.slice(wanted.rollout, wanted.minus_at).grid(positions), true);
        }
        const double mib = made.mib();
        return {std::move(made), mib};
    };
}

}  // namespace attn::app
