#pragma once
/// What the heads of a model contribute.

#include "app/session/values/facet.hpp"
#include "engine/trace/part_worth.hpp"

namespace attn::app {
namespace facet {

/// How much each head contributes, measured by knocking it out.
struct KnockOut {
    using Value = attn::KnockOut;
    static constexpr FacetInfo kInfo{.share = 2, .runs_model = true};
    KnockOutQuestion question;
    static Job<Value> make(const KnockOut&, Ask& ask);
    bool operator==(const KnockOut&) const = default;
};

}  // namespace facet
}  // namespace attn::app
