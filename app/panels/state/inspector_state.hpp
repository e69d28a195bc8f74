#pragma once
/// The explanation last shown by the inspector.

#include <cstdint>
#include <memory>
#include <optional>

namespace attn::app {

struct Explanation;

struct InspectorState {
    std::shared_ptr<const Explanation> last;
    std::uint64_t serial = 0;             ///< serial of the snapshot it belongs to
    std::optional<double> waits_since{};  ///< when another stage was chosen, while `last` is still of the one before
};

}  // namespace attn::app
