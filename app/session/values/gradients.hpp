#pragma once
/// The gradients of a state.

#include "app/session/values/facet.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {
namespace facet {

/// Gradients of the next-token loss with respect to every number.
struct Gradients {
    using Value = GradientTrace<float>;
    static constexpr FacetInfo kInfo{.runs_model = true};
    static Job<Value> make(const Gradients&, Ask& ask);
    bool operator==(const Gradients&) const = default;
};

}  // namespace facet
}  // namespace attn::app
