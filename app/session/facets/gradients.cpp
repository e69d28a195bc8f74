#include "app/session/values/gradients.hpp"

#include <cstdint>
#include <vector>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_positions.hpp"
#include "app/session/facets/work.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

Job<GradientTrace<float>> facet::Gradients::make(const Gradients&, Ask& ask) {
    return [pass = ask(Trace{})](const Work& work) -> Made<GradientTrace<float>> {
        const attn::Trace<float>& trace = *pass->trace;
        if (!trace.config.lm_head)
            throw Error("there are no gradients: a model without an output head predicts nothing, so it has no loss");
        work.expect_room(2 * pass->whole_mib);  // the backward pass first records the forward pass again
        std::vector<std::int32_t> targets = shown_targets(trace.config, trace.tokens);
        const std::vector<std::uint8_t> shown = shown_here(*pass);
        for (std::size_t at = 0; at < shown.size(); ++at)
            if (shown[at] == 0) targets[at] = kIgnoredTarget;
        return {work.engine.gradients(trace, targets, work.stop), pass->whole_mib};
    };
}

}  // namespace attn::app
