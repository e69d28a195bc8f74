#pragma once
/// A run's parameters at selected steps, within a memory budget.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

struct Moment {
    std::int64_t step = 0;
    std::shared_ptr<const Parameters<float>> parameters;
    bool held = false;  ///< something names this step: it stays where others are dropped
};

/// Always keeps the first, the newest and the held moments; between them, moments at a spacing that doubles whenever the budget is reached.
/// wants() and add() take amortized constant time. Not thread-safe, but the moments themselves are immutable and may be shared.
class History {
public:
    static constexpr std::size_t kDefaultBudget = std::size_t{256} << 20;
    explicit History(std::size_t budget_bytes = kDefaultBudget);

    /// Whether a moment of this step, later than all others and of the same size, would be kept after more follow.
    bool wants(std::int64_t step) const;
    /// Adds a moment and drops those that exceed the budget. Throws Error unless it is later than all others.
    void add(Moment moment);
    /// Changes the budget; drops every second moment until it is met. A larger one is filled with every step again.
    void limit(std::size_t budget_bytes);
    /// Exactly these moments of the run are held from now on, even beyond the budget. Those dropped before are taken back; those that are
    /// later than the newest are ignored.
    void hold(std::span<const Moment> named);
    const std::vector<Moment>& moments() const { return moments_; }  ///< by ascending step
    std::int64_t spacing() const { return spacing_; }
    std::size_t bytes() const { return bytes_; }
    std::size_t budget() const { return budget_; }

private:
    bool stays(const Moment& moment, std::int64_t spacing) const;
    /// Whether one of the moments up to `end`, after the first, stays at this spacing but could be dropped for lack of room.
    bool has_spare(std::int64_t spacing, std::size_t end) const;
    /// Drops what does not match the spacing. The newest is exempt: whether it stays is decided when another follows.
    void drop();
    void thin();

    std::size_t budget_, bytes_ = 0;
    std::int64_t spacing_ = 1;
    std::vector<Moment> moments_;  // all but the newest match the current spacing or are held
};

}  // namespace attn
