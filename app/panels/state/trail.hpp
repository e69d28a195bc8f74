#pragma once
/// The places that a number was followed through or a head was opened from, and the way forth again.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/panels/state/axis_selection.hpp"
#include "app/session/document/view.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

struct TrailPlace {
    StageId stage;
    std::int64_t head = 0, batch = 0;
    AxisSelection cell;
    View view = View::Step;
    bool operator==(const TrailPlace&) const = default;
};

struct Trail {
    std::vector<TrailPlace> places;  ///< the last one is where the way has led to, or where one went back from
    std::size_t at = 0;              ///< the shown place, as long as nothing else has been looked at since
    /// What was clicked, a place of the trail or a number: gone to before the next frame is drawn, because it may lie in another text,
    /// whose words are drawn already.
    std::optional<std::size_t> wanted{};
    std::optional<CellRef> followed{};
};

}  // namespace attn::app
