#include "app/session/values/found_tokens.hpp"

#include "app/session/facets/ask.hpp"
#include "app/session/facets/token_search.hpp"
#include "app/session/facets/work.hpp"

namespace attn::app {

Job<FoundTokens> facet::FoundTokens::make(const FoundTokens& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work&) {
        return app::FoundTokens{tokens_with(pass->vocabulary, wanted.text, kMostFoundTokens)};
    };
}

}  // namespace attn::app
