#include "app/session/values/readings.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_positions.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/totals_in_rows.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// If the maps of the totals would take more than the former, they are held reduced, to about the latter.
constexpr double kMostTotalsMib = 256;
constexpr std::int64_t kReducedTotalsBytes = 16 << 20;

/// The map of one head.
double mib_of_map(const Trace<float>& trace, Stack stack) {
    const TokenBatch& tokens = stack == Stack::Encoder ? trace.source_tokens : trace.tokens;
    const auto positions = static_cast<double>(tokens.length);
    return positions * positions * static_cast<double>(tokens.size()) * sizeof(float) / (1024.0 * 1024.0);
}

/// The stacks whose tokens attend to each other.
std::vector<Stack> stacks_of(const Trace<float>& trace) {
    std::vector<Stack> stacks;
    for (const Stack stack : {Stack::Main, Stack::Encoder, Stack::Decoder})
        if (trace.plan->find({Stage::Weights, 0, stack}) != nullptr) stacks.push_back(stack);
    return stacks;
}

/// Two for every layer of every stack.
double mib_of_maps(const Trace<float>& trace) {
    double mib = 0;
    for (const Stack stack : stacks_of(trace)) mib += 2 * static_cast<double>(trace.config.layers_of(stack)) * mib_of_map(trace, stack);
    return mib;
}

bool are_reduced(const Trace<float>& trace) { return !trace.whole() && mib_of_maps(trace) > kMostTotalsMib && can_compute_in_rows(trace); }

/// Reads one layer after the other, using the memory of a single layer.
AttentionTotals totals_of_outline(const std::shared_ptr<const Trace<float>>& outline, Stack stack, const std::stop_token& stop,
                                  const std::function<void()>& each) {
    if (are_reduced(*outline)) {
        const std::int64_t positions = outline->tokens.length;
        return totals_in_rows(*outline, reduced_level(positions, positions, 1, kReducedTotalsBytes / (2 * outline->config.num_layers)),
                              stop, each);
    }
    Recomputation<float> again(outline, Keep::OneLayer);
    TotalsOfLayers totals(stack);
    for (int layer = 0; layer < outline->config.layers_of(stack); ++layer) {
        const StageId weights{Stage::Weights, layer, stack};
        const auto is_it = [&](const StageId& id) { return id == weights; };
        totals.add(can_compute_in_rows(*outline) ? head_mean_in_rows(*outline, weights, stop)
                                                 : head_mean(*again.trace_around(weights, stop, is_it).find(weights)));
        each();
    }
    return totals.take();
}

}  // namespace

std::vector<std::int32_t> lens_first_choices(const LogitLens& lens) {
    std::set<std::int32_t> tokens;
    for (const LensCell& cell : lens.cells)
        if (cell.count > 0) tokens.insert(cell.top[0].token);
    return {tokens.begin(), tokens.end()};
}

double mib_of_totals(const Trace<float>& trace) {
    if (trace.whole()) return mib_of_maps(trace);
    if (are_reduced(trace)) return kMapsOfTotalsInRows * mib_of_map(trace, Stack::Main);
    // While a layer is read, the rollout, the one before it and a sum in double precision and, unless the layer is read in rows, two maps
    // for each of its heads.
    double while_read = 0;
    const double maps = can_compute_in_rows(trace) ? 0 : 2 * static_cast<double>(trace.config.num_heads);
    for (const Stack stack : stacks_of(trace)) while_read = std::max(while_read, (maps + 6) * mib_of_map(trace, stack));
    return mib_of_maps(trace) + while_read;
}

std::vector<double> lens_losses(const LogitLens& lens, std::span<const std::uint8_t> counts) {
    const auto all = static_cast<std::size_t>(lens.batches * lens.positions);
    if (!counts.empty() && counts.size() != all)
        throw ShapeError("which positions count is given for " + std::to_string(counts.size()) + " positions, but there are " +
                         std::to_string(all));
    std::vector<double> losses;
    for (std::size_t row = 0; row < lens.stages.size(); ++row)
        for (std::int64_t b = 0; b < lens.batches; ++b) {
            double sum = 0;
            std::int64_t counted = 0;
            for (std::int64_t t = 0; lens.known[row] != 0 && t < lens.positions; ++t) {
                const LensCell& cell = lens.at(row, b, t);
                if (cell.next < 0 || cell.count == 0) continue;
                if (!counts.empty() && counts[static_cast<std::size_t>(b * lens.positions + t)] == 0) continue;
                sum -= std::log(static_cast<double>(cell.next_probability));
                ++counted;
            }
            losses.push_back(counted > 0 ? sum / static_cast<double>(counted) : std::nan(""));
        }
    return losses;
}

double mib_of(const LensReading& reading) {
    return static_cast<double>(reading.lens ? reading.lens->cells.size() * sizeof(LensCell) : 0) / (1024.0 * 1024.0);
}

double mib_of(const TotalsReading& reading) {
    std::size_t bytes = 0;
    for (const AttentionTotals& totals : reading.totals) {
        for (const auto* maps : {&totals.head_means, &totals.rollouts})
            for (const TokenMap& map : *maps) bytes += map.bytes();
        for (const auto* maps : {&totals.reduced_rollouts, &totals.reduced_means})
            for (const ReducedMap& map : *maps) bytes += static_cast<std::size_t>(map.values.size()) * sizeof(float) + map.keep.size();
    }
    return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

LensReading read_lens(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop, const LensProgress& each) {
    LensReading reading;
    if (!trace->config.lm_head) return reading;
    std::size_t done = 0;
    const std::size_t total = lens_stages(trace->config).size();
    reading.lens = logit_lens(*trace, stop, [&](const LogitLens& so_far) {
        reading.lens = so_far;
        ++done;
        if (each) each(reading, done, total);
    });
    return reading;
}

TotalsReading read_totals(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop, const TotalsProgress& each) {
    TotalsReading reading;
    std::size_t done = 0, total = 0;
    const auto tell = [&] {
        ++done;
        if (each) each(done, total);
    };
    const std::vector<Stack> stacks = stacks_of(*trace);
    for (const Stack stack : stacks) total += static_cast<std::size_t>(trace->config.layers_of(stack));
    for (const Stack stack : stacks)
        reading.totals.push_back(trace->whole() ? attention_totals(*trace, stack, stop) : totals_of_outline(trace, stack, stop, tell));
    return reading;
}

Job<LensReading> facet::Lens::make(const Lens&, Ask& ask) {
    return [pass = ask(Trace{})](const Work& work) -> Made<LensReading> {
        const std::vector<std::uint8_t> shown = shown_here(*pass);
        const auto told = [&](LensReading reading) {
            if (!reading.lens) return reading;
            for (std::size_t i = 0; !shown.empty() && i < reading.lens->cells.size(); ++i)
                if (LensCell& cell = reading.lens->cells[i]; shown[i % shown.size()] == 0)
                    cell.next = -1, cell.next_probability = 0, cell.next_rank = 0;
            reading.losses = lens_losses(*reading.lens, pass->asked);
            reading.first_choices = lens_first_choices(*reading.lens);
            return reading;
        };
        const auto tell = [&](const LensReading& so_far, std::size_t done, std::size_t total) {
            work.progress(done, total, std::make_shared<const LensReading>(told(so_far)));
        };
        LensReading reading = told(work.engine.lens(pass->trace, work.stop, tell));
        reading.serial = next_serial();
        const double mib = mib_of(reading);
        return {std::move(reading), mib};
    };
}

Job<TotalsReading> facet::Totals::make(const Totals&, Ask& ask) {
    return [pass = ask(Trace{})](const Work& work) -> Made<TotalsReading> {
        work.expect_room(mib_of_totals(*pass->trace));
        const auto tell = [&](std::size_t done, std::size_t total) { work.progress(done, total, nullptr); };
        TotalsReading reading = work.engine.totals(pass->trace, work.stop, tell);
        reading.serial = next_serial();
        const double mib = mib_of(reading);
        return {std::move(reading), mib};
    };
}

}  // namespace attn::app
