#pragma once
/// The engine calls that compute facets.

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "app/session/values/doctor_report.hpp"
#include "app/session/values/readings.hpp"
#include "engine/generate/generate.hpp"
#include "engine/model/knock_out.hpp"
#include "engine/model/looked_at_part.hpp"
#include "engine/model/outline.hpp"
#include "engine/reference/verification.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::app {

/// Tests replace these calls with slow, failing or wrong ones. All but `parameters` throw Cancelled once a stop is requested.
struct Computation {
    std::function<Parameters<float>(const Config&, const Parameters<float>* drawn)> parameters;  ///< see initial_parameters()
    std::function<Trace<float>(std::shared_ptr<const Parameters<float>>, const TokenBatch& tokens, const TokenBatch& source,
                               const ForwardSettings&, std::stop_token)>
        forward;
    /// The same as an outline, or its beginning. `continued` extends a known outline to a longer or changed text; `completed` computes what
    /// a begun one lacks. See continue_outline() and complete_outline().
    std::function<Trace<float>(std::shared_ptr<const Parameters<float>>, const TokenBatch& tokens, const TokenBatch& source,
                               const ForwardSettings&, const OutlineLimits&, std::stop_token)>
        outline;
    std::function<Trace<float>(const Trace<float>& outline, const TokenBatch& tokens, const std::optional<StageId>& before,
                               std::stop_token)>
        continued;
    std::function<Trace<float>(std::shared_ptr<const Trace<float>> begun, bool attended, const Trace<float>* known, std::stop_token)>
        completed;
    /// `edited` recomputes a trace with other edits; `inside` computes one part of an outline.
    std::function<Trace<float>(std::shared_ptr<const Trace<float>>, const std::vector<Edit>&, std::stop_token)> edited;
    std::function<LookedAtPart(std::shared_ptr<const Trace<float>> outline, const StageId& within, const WantedOfPart&, const PartInRows&,
                               std::stop_token)>
        inside;
    /// A region of an attention map of an outline; see region_of_map().
    std::function<ReducedMap(const Trace<float>& outline, const StageId&, const MapRegion&, const Trace<float>* held,
                             std::optional<std::int64_t> head, std::stop_token)>
        region;
    std::function<reference::Verification(const Trace<float>&, std::stop_token)> verify;
    std::function<reference::Verification(std::shared_ptr<const Trace<float>> outline, const StageId& within, std::stop_token)> verify_part;
    /// Of the loss of predicting `targets`, [B,T].
    std::function<GradientTrace<float>(const Trace<float>&, const std::vector<std::int32_t>& targets, std::stop_token)> gradients;
    /// A continuation of the first sequence.
    std::function<std::vector<std::int32_t>(const Trace<float>&, const SamplingSettings&, std::stop_token)> sample;
    /// A continuation generated token by token; see generate().
    std::function<void(const Parameters<float>&, const Prompt&, const ForwardSettings&, const SamplingSettings&,
                       const std::function<void(const DrawnToken&)>& each, std::stop_token, KeptText*)>
        write;
    std::function<LensReading(const std::shared_ptr<const Trace<float>>&, std::stop_token, const LensProgress&)> lens;
    std::function<TotalsReading(const std::shared_ptr<const Trace<float>>&, std::stop_token, const TotalsProgress&)> totals;
    std::function<DoctorReport(const std::shared_ptr<const Trace<float>>&, std::stop_token)> examine;
    std::function<KnockOut(const Trace<float>&, const KnockOutQuestion&, const KnockOutProgress&, std::stop_token)> knock_out;

    /// The real engine calls.
    static Computation engine();
};

}  // namespace attn::app
