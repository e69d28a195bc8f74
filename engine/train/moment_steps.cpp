#include "engine/train/moment_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/tensor/error.hpp"

namespace attn {

std::size_t nearest_moment(std::span<const std::int64_t> kept, std::int64_t step) {
    const auto later = std::lower_bound(kept.begin(), kept.end(), step);
    const auto place = static_cast<std::size_t>(later - kept.begin());
    if (place == 0) return 0;
    if (later == kept.end() || step - kept[place - 1] <= *later - step) return place - 1;
    return place;
}

void require_step(std::int64_t steps, std::int64_t step) {
    if (step < 0 || step > steps)
        throw Error(fmt::format("the run has no step {}: it has made {} step{}", step, steps, steps == 1 ? "" : "s"));
}

std::int64_t named_moment(std::span<const std::int64_t> kept, std::int64_t steps, std::int64_t step) {
    require_step(steps, step);
    const std::size_t place = nearest_moment(kept, step);
    if (kept[place] < step && place + 1 < kept.size() && step - kept[place] == kept[place + 1] - step)
        throw Error(fmt::format("step {} was not kept and lies halfway between steps {} and {}: choose one of them", step, kept[place],
                                kept[place + 1]));
    return kept[place];
}

}  // namespace attn
