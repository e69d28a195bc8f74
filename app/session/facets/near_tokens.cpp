#include "app/session/values/near_tokens.hpp"

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "engine/model/near_rows.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

Job<NearTokens> facet::NearTokens::make(const NearTokens& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work& work) {
        const attn::Trace<float>& trace = *pass->trace;
        const PlanNode& node = trace.plan->at({Stage::TokenEmbedding, -1, wanted.stack});
        const auto& vocabulary = pass->vocabulary;
        app::NearTokens tokens;
        for (const NearRow& near : near_rows(trace.parameters->view(node.weight.name), wanted.id, kMostNearTokens, work.stop)) {
            const auto at = static_cast<std::size_t>(near.row);
            tokens.nearest.push_back({static_cast<std::int32_t>(near.row), at < vocabulary.size() ? vocabulary[at] : "", near.cosine});
        }
        return tokens;
    };
}

}  // namespace attn::app
