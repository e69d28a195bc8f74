#pragma once
/// The animation from one map to the next of the same shape, as a cross-fade. It follows which map is shown, not its numbers.

#include <cstdint>

#include "engine/plan/stage.hpp"

namespace attn::app {

/// Stands for all heads side by side.
inline constexpr std::int64_t kEveryHead = -1;

/// Identifies what a picture shows.
struct ShownMap {
    StageId stage;
    std::int64_t head = 0, batch = 0;
    std::int64_t rows = 0, cols = 0;
    std::uint64_t serial = 0;  ///< of the snapshot
    bool operator==(const ShownMap&) const = default;
};

/// Whether the maps can be cross-faded: same snapshot, same sequence and same shape.
inline bool can_morph(const ShownMap& from, const ShownMap& to) {
    return from.rows > 0 && from.rows == to.rows && from.cols == to.cols && from.serial == to.serial && from.batch == to.batch;
}

class Morph {
public:
    static constexpr double kSeconds = 0.15;

    /// Sets the map of this frame. If it differs from the previous one, starts the animation if possible and `wanted`.
    void show(const ShownMap& map, double now, bool wanted) {
        if (map == to_) return;
        from_ = to_;
        to_ = map;
        begun_ = wanted && can_morph(from_, to_) ? now : now - kSeconds;
    }
    /// To be called when something is shown that cannot be animated.
    void stop() { to_ = {}, begun_ = -kSeconds; }

    bool moving(double now) const { return now < begun_ + kSeconds; }
    /// The opacity of the new map, 0 to 1 with easing; 1 when not moving.
    float share(double now) const {
        if (!moving(now)) return 1;
        const double t = now > begun_ ? (now - begun_) / kSeconds : 0;
        return static_cast<float>(t * t * (3 - 2 * t));
    }
    const ShownMap& from() const { return from_; }
    const ShownMap& to() const { return to_; }

private:
    ShownMap from_, to_;
    double begun_ = -kSeconds;
};

}  // namespace attn::app
