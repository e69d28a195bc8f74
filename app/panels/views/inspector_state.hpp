#pragma once
/// The explanation last shown by the inspector.

#include <cstdint>
#include <memory>

namespace attn::app {

struct Explanation;

struct InspectorState {
    std::shared_ptr<const Explanation> last;
    std::uint64_t serial = 0;  ///< serial of the snapshot it belongs to
};

}  // namespace attn::app
