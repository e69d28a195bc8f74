#include "app/session/values/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/states/opened_recording.hpp"
#include "app/session/values/recording_report.hpp"
#include "engine/ops/parallel.hpp"

namespace attn::app {

namespace {

/// Of a recording: each stage is computed from those before it. What cannot be computed is not listed.
reference::Verification checked(const RecordedNumbers& numbers, const RecordingReport& report, const Trace<float>& trace) {
    const OpenedStep opened(numbers);
    reference::Verification verification;
    for (std::size_t layer = 0; layer < opened.group().members.size(); ++layer) {
        const recording::RecordedAttention& attention = opened.graph().attentions[opened.group().members[layer]];
        for (const recording::StageCheck& check : report.attentions.at(layer).checks) {
            // What a kernel left of a whole layer is shown by no stage of the attention: it stands at the last one.
            const recording::RecordedStage* own = attention.find(check.stage);
            if (own == nullptr && attention.stages.empty()) continue;
            const recording::RecordedStage& shown = own == nullptr ? attention.stages.back() : *own;
            const auto id = place_of(opened.group(), attention, shown, layer);
            if (!id || trace.find(*id) == nullptr || check.outcome == recording::Outcome::Unknown) continue;
            reference::StageError& stage = verification.stages.emplace_back();
            stage.id = *id;
            stage.ok = check.outcome == recording::Outcome::Follows;
            if (stage.ok) continue;
            verification.ok = false;
            stage.max_abs = std::abs(check.recorded - check.expected);
            stage.problem =
                fmt::format("{}[{}] is {:.6g}; from the stages before it, it would be {:.6g}",
                            own == nullptr ? escaped(check.stage, 0) : "", fmt::join(check.cell, ","), check.recorded, check.expected);
        }
    }
    return verification;
}

}  // namespace

Job<reference::Verification> facet::Verification::make(const Verification& wanted, Ask& ask) {
    if (const RecordedNumbers* recorded = recorded_in(*ask.state()))
        return [numbers = *recorded, pass = ask(Trace{}), report = ask(RecordingReport{})](const Work&) {
            return checked(numbers, *report, *pass->trace);
        };
    return [wanted, pass = ask(Trace{})](const Work& work) {
        // The user or a training run needs the other cores.
        set_thread_budget(std::max(1, work.kept.threads / 2));
        const attn::Trace<float>& trace = *pass->trace;
        const bool of_part = wanted.part && !trace.whole() && trace.plan->find(*wanted.part) != nullptr;
        return of_part ? work.engine.verify_part(pass->trace, *wanted.part, work.stop) : work.engine.verify(trace, work.stop);
    };
}

}  // namespace attn::app
