#pragma once
/// What the pane of the chosen cell shows.

#include <cstdint>
#include <memory>
#include <optional>

namespace attn::app {

struct Explanation;

struct InspectorState {
    bool all = false;                         ///< the whole list of the arithmetic instead of the largest numbers, and what follows from it
    bool unfolded = false;                    ///< how the number came about, where it has no room
    std::shared_ptr<const Explanation> last;  ///< the explanation shown last
    std::uint64_t serial = 0;                 ///< serial of the snapshot it belongs to
    std::optional<double> waits_since{};      ///< when another stage was chosen, while `last` is still of the one before
};

}  // namespace attn::app
