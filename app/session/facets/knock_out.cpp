#include "app/session/values/knock_out.hpp"

#include "app/session/document/prepare.hpp"
#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "engine/model/knock_out.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/replaced_parts.hpp"
#include "engine/ops/parallel.hpp"

namespace attn::app {

Job<attn::KnockOut> facet::KnockOut::make(const KnockOut& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work& work) {
        const attn::Trace<float>& trace = *pass->trace;
        if (!trace.whole() && !knocks_out_in_rows(trace))
            work.expect_room(trace_size(trace.config, static_cast<double>(trace.tokens.size()), static_cast<double>(trace.tokens.length),
                                        static_cast<double>(trace.source_tokens.length))
                                 .part);
        set_thread_budget(1);  // takes long, so leave the cores to the window and to training
        const auto tell = [&](const attn::KnockOut& so_far, std::size_t done) {
            work.progress(done, so_far.parts.size(), std::make_shared<const attn::KnockOut>(so_far));
        };
        return work.engine.knock_out(trace, wanted.question, tell, work.stop);
    };
}

}  // namespace attn::app
