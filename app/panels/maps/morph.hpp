#pragma once
/// From one map to the next of the same shape: its colours pass over into the new ones. What is told apart are maps, not numbers.

#include <cstdint>

#include "engine/plan/stage.hpp"

namespace attn::app {

/// Of a picture that shows all heads side by side.
inline constexpr std::int64_t kEveryHead = -1;

/// Whose numbers a picture shows.
struct ShownMap {
    StageId stage;
    std::int64_t head = 0, batch = 0;
    std::int64_t rows = 0, cols = 0;
    std::uint64_t serial = 0;  ///< of the snapshot
    bool operator==(const ShownMap&) const = default;
};

/// Both maps can lie on each other: the same snapshot's, and of one shape.
inline bool can_morph(const ShownMap& from, const ShownMap& to) {
    return from.rows > 0 && from.rows == to.rows && from.cols == to.cols && from.serial == to.serial && from.batch == to.batch;
}

class Morph {
public:
    static constexpr double kSeconds = 0.15;

    /// The map that this frame shows. Another than in the frame before is come to gradually if both can lie on each other and `wanted`.
    void show(const ShownMap& map, double now, bool wanted) {
        if (map == to_) return;
        from_ = to_;
        to_ = map;
        begun_ = wanted && can_morph(from_, to_) ? now : now - kSeconds;
    }
    /// Nothing that could be come from or gone to is shown.
    void stop() { to_ = {}, begun_ = -kSeconds; }

    bool moving(double now) const { return now < begun_ + kSeconds; }
    /// How much of the new map is seen, 0 to 1: slow at both ends, 1 at rest.
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
