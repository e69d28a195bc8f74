#pragma once
/// The comparison of a state with the reference implementation.

#include <optional>

#include "app/session/values/facet.hpp"
#include "engine/plan/stage.hpp"
#include "engine/reference/verification.hpp"

namespace attn::app {
namespace facet {

/// The comparison with the reference implementation: of the whole trace, or of one part of an outline, given that part's inputs.
struct Verification {
    using Value = reference::Verification;
    static constexpr FacetInfo kInfo{.failed = "could not check the numbers: ", .gives_way = true};
    std::optional<StageId> part{};  ///< first stage of the part
    static Job<Value> make(const Verification&, Ask& ask);
    bool operator==(const Verification&) const = default;
};

}  // namespace facet
}  // namespace attn::app
