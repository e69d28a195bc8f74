#pragma once
/// What the inspector showed last.

#include <cstdint>
#include <memory>

namespace attn::app {

struct Explanation;

struct InspectorState {
    std::shared_ptr<const Explanation> last;
    std::uint64_t serial = 0;  ///< of the snapshot that it is of
};

}  // namespace attn::app
