#include "app/session/values/verification.hpp"

#include <algorithm>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "engine/ops/parallel.hpp"

namespace attn::app {

Job<reference::Verification> facet::Verification::make(const Verification& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work& work) {
        // The user or a training run needs the other cores.
        set_thread_budget(std::max(1, work.kept.threads / 2));
        const attn::Trace<float>& trace = *pass->trace;
        const bool of_part = wanted.part && !trace.whole() && trace.plan->find(*wanted.part) != nullptr;
        return of_part ? work.engine.verify_part(pass->trace, *wanted.part, work.stop) : work.engine.verify(trace, work.stop);
    };
}

}  // namespace attn::app
