#pragma once
/// The state of the knock-out view.

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/trace/part_worth.hpp"

namespace attn::app {

struct KnockOutState {
    bool chance = false;  ///< measure the probability of the selected token instead of the loss
    ReplacedParts parts = ReplacedParts::Heads;
    std::optional<std::int64_t> from{};    ///< the text to take their numbers from, see replacing_text(); none: they become zero
    bool stopped = false;                  ///< cancelled by the user: do not measure until requested again
    std::shared_ptr<const KnockOut> last;  ///< last result, shown until a new one is ready
};

}  // namespace attn::app
