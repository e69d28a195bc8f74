#include "app/session/values/snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_positions.hpp"
#include "app/session/facets/recorded_snapshot.hpp"
#include "app/session/facets/work.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/model/continued_outline.hpp"
#include "engine/model/outline.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/head_scores.hpp"

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;
using KnownPasses = std::vector<std::shared_ptr<const Snapshot>>;

/// From this length on, a pass takes long enough to report progress.
constexpr std::int64_t kLongPass = 2048;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// The known outline that has most positions in common with a text; null if none has any.
std::shared_ptr<const Trace<float>> nearest_outline(const KnownPasses& known, const std::shared_ptr<const Parameters<float>>& parameters,
                                                    const ForwardSettings& settings, const TokenBatch& tokens) {
    std::shared_ptr<const Trace<float>> nearest;
    std::int64_t most = 0;
    for (const auto& pass : known) {
        const std::shared_ptr<const Trace<float>>& trace = pass->trace;
        if (trace->whole() || trace->parameters != parameters || trace->settings != settings) continue;
        if (const std::int64_t kept = positions_kept(*trace, tokens); kept > most) nearest = trace, most = kept;
    }
    return nearest;
}

/// For a pass that tells the share that is done from several threads.
std::function<void(double)> told_in_percent(const Work& work) {
    return [&work, told = std::make_shared<std::atomic<int>>(0)](double share) {
        const int percent = std::clamp(static_cast<int>(100 * share), 0, 100);
        int before = *told;
        while (before < percent)
            if (told->compare_exchange_weak(before, percent)) return work.progress(static_cast<std::size_t>(percent), 100, nullptr);
    };
}

/// Reuses the known trace of a state that differs only in its edits or in the end of its text. An outline may end before a part.
Trace<float> trace_of(const Prepared& prepared, std::shared_ptr<const Parameters<float>> parameters, const ForwardSettings& settings,
                      const std::optional<StageId>& before, const KnownPasses& known, const Work& work) {
    const Computation& engine = work.engine;
    ForwardSettings plain = settings;
    for (const auto& pass : known) {
        const std::shared_ptr<const Trace<float>>& trace = pass->trace;
        plain.edits = trace->settings.edits;
        if (trace->parameters != parameters || trace->settings != plain || trace->whole() != prepared.whole) continue;
        if (trace->tokens == prepared.tokens && trace->source_tokens == prepared.source)
            return engine.edited(trace, settings.edits, work.stop);
    }
    if (prepared.whole) return engine.forward(std::move(parameters), prepared.tokens, prepared.source, settings, work.stop);
    if (const auto nearest = nearest_outline(known, parameters, settings, prepared.tokens))
        return engine.continued(*nearest, prepared.tokens, before, work.stop);
    OutlineLimits limits{prepared.size.attended, 0, before, {}};
    if (prepared.tokens.length >= kLongPass) limits.progress = told_in_percent(work);
    return engine.outline(std::move(parameters), prepared.tokens, prepared.source, settings, limits, work.stop);
}

std::shared_ptr<const Parameters<float>> parameters_of(const State& state, const Config& config, const Work& work) {
    if (const MomentOfRun* moment = moment_of(state)) {
        if (moment->parameters == nullptr)
            throw DocumentError(is_missing(moment->run) ? "the training run of this model could not be opened: open its folder"
                                                        : "the model of that training run no longer exists",
                                Field::None);
        return parameters_for(*state.setup, config, moment->parameters);
    }
    if (state.setup->model != nullptr) return state.setup->model->parameters();
    if (state.setup->shipped != nullptr) return parameters_for(*state.setup, config, state.setup->shipped->checkpoint.parameters);
    std::shared_ptr<const Parameters<float>>& drawn = work.kept.drawn;
    if (drawn == nullptr || drawn->config() != config)
        drawn = std::make_shared<const Parameters<float>>(work.engine.parameters(config, drawn.get()));
    return drawn;
}

/// What was recorded is read; only what follows from edits is computed.
BegunPass recorded_pass(const StateRef& state, const RecordedNumbers& numbers, const Work& work) {
    const auto start = Clock::now();
    BegunPass pass{.snapshot = recorded_snapshot(numbers, state->setup->forward.edits, work.room_mib, work.stop)};
    Snapshot& made = pass.snapshot;
    made.state = state;
    made.budget_mib = work.budget_mib;
    made.compute_ms = ms_since(start);
    made.serial = next_serial();
    pass.mib = made.whole_mib;
    return pass;
}

/// The pass, or its beginning up to the part around `before`.
BegunPass begun_pass(const StateRef& state, const std::optional<StageId>& before, const KnownPasses& known, const Work& work) {
    if (const RecordedNumbers* recorded = recorded_in(*state)) return recorded_pass(state, *recorded, work);
    const Setup& setup = *state->setup;
    Prepared prepared = prepare(setup, work.room_mib, &work.kept.tokenizer);
    work.kept.use_threads_for(prepared.size.whole + prepared.size.weights);
    BegunPass pass;
    Snapshot& made = pass.snapshot;
    made.state = state;
    if (const MomentOfRun* moment = moment_of(*state)) {
        made.run = moment->run;
        made.trained_step = moment->step;
    }
    try {
        std::shared_ptr<const Parameters<float>> parameters = parameters_of(*state, prepared.config, work);
        const auto start = Clock::now();
        made.trace = std::make_shared<const Trace<float>>(trace_of(prepared, std::move(parameters), setup.forward, before, known, work));
        made.compute_ms = ms_since(start);
    } catch (const ConfigError& error) {
        throw DocumentError(error.what(), field_at_fault(setup.forward));
    }
    if (made.trace->whole()) made.ranges = stage_ranges(*made.trace);
    made.head_scores = head_scores(*made.trace);
    made.edits_in_vain = edits_in_vain(*made.trace);
    made.tokens = std::move(prepared.chips);
    made.left_out = std::move(prepared.left_out);
    made.source_tokens = std::move(prepared.source_chips);
    made.asked = asked_positions(*state, made.tokens, static_cast<std::size_t>(made.trace->tokens.length));
    made.vocabulary = std::move(prepared.vocabulary);
    made.whole_mib = prepared.size.whole + prepared.size.weights;
    made.budget_mib = work.budget_mib;
    made.serial = next_serial();
    pass.attended = prepared.size.attended;
    pass.mib = prepared.size.parameters + (prepared.whole ? prepared.size.whole : prepared.size.outline);
    return pass;
}

Snapshot completed(const BegunPass& begun, const KnownPasses& known, const Work& work) {
    Snapshot made = begun.snapshot;
    const std::shared_ptr<const Trace<float>> trace = made.trace;
    if (trace->whole() || is_complete(*trace)) return made;
    const auto start = Clock::now();
    const auto nearest = nearest_outline(known, trace->parameters, trace->settings, trace->tokens);
    made.trace = std::make_shared<const Trace<float>>(work.engine.completed(trace, begun.attended, nearest.get(), work.stop));
    made.compute_ms += ms_since(start);
    return made;  // with the same serial: the stages that the beginning has are the same
}

}  // namespace

Job<Snapshot> facet::Trace::make(const Trace&, Ask& ask) {
    return [state = ask.state(), known = ask.known(Trace{}), begun = ask.begun()](const Work& work) -> Made<Snapshot> {
        if (begun != nullptr) return {completed(*begun, known, work), begun->mib};
        BegunPass pass = begun_pass(state, {}, known, work);
        return {std::move(pass.snapshot), pass.mib};
    };
}

Job<BegunPass> facet::Beginning::make(const Beginning& wanted, Ask& ask) {
    return [wanted, state = ask.state(), known = ask.known(Trace{})](const Work& work) -> Made<BegunPass> {
        BegunPass pass = begun_pass(state, wanted.before, known, work);
        const double mib = pass.mib;
        return {std::move(pass), mib};
    };
}

}  // namespace attn::app
