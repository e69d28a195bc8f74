#pragma once
/// The state of the lines view.

#include <cstdint>
#include <optional>
#include <set>

#include "engine/tensor/shape.hpp"

namespace attn::app {

/// A token in one of the two columns: a query (T) or a key (S).
struct PointedToken {
    Axis axis = Axis::T;
    std::int64_t index = 0;
    bool operator==(const PointedToken&) const = default;
};

struct LinesView {
    std::set<std::int64_t> hidden;        ///< heads that are switched off
    std::set<std::int64_t> before_click;  ///< `hidden` before the last click, which may be the first half of a double-click
    bool mean = false;                    ///< also draw the mean over the heads
    bool all_layers = false;              ///< small pictures of all layers instead of the current one
    float threshold = 0.02F;              ///< smaller weights are not drawn
    std::optional<PointedToken> only;     ///< selected by click: only its lines are drawn

    bool shows(std::int64_t head) const { return !hidden.contains(head); }
    /// A click on a head's chip.
    void toggle(std::int64_t head) {
        before_click = hidden;
        if (hidden.erase(head) == 0) hidden.insert(head);
    }
    /// A double-click on a chip: shows only this head, or all of them if it was the only one.
    void isolate(std::int64_t head, std::int64_t heads) {
        std::set<std::int64_t> others;
        for (std::int64_t other = 0; other < heads; ++other)
            if (other != head) others.insert(other);
        hidden = before_click == others ? std::set<std::int64_t>() : others;
        before_click = hidden;
    }
};

}  // namespace attn::app
