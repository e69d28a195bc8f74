#pragma once
/// A run's parameters at selected steps, within a memory budget.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

struct Moment {
    std::int64_t step = 0;
    std::shared_ptr<const Parameters<float>> parameters;
};

/// Always keeps the first and the newest moment; between them, moments at a spacing that doubles whenever the budget is reached. wants()
/// and add() take amortized constant time. Not thread-safe, but the moments themselves are immutable and may be shared.
class History {
public:
    static constexpr std::size_t kDefaultBudget = std::size_t{256} << 20;
    explicit History(std::size_t budget_bytes = kDefaultBudget);

    /// Whether a moment of this step, later than all others and of the same size, would be kept after more follow.
    bool wants(std::int64_t step) const;
    /// Adds a moment and drops those that exceed the budget. Throws Error unless it is later than all others.
    void add(Moment moment);
    /// Changes the budget; drops every second moment until it is met.
    void limit(std::size_t budget_bytes);
    const std::vector<Moment>& moments() const { return moments_; }  ///< by ascending step
    std::int64_t spacing() const { return spacing_; }
    std::size_t bytes() const { return bytes_; }
    std::size_t budget() const { return budget_; }

private:
    bool stays(const Moment& moment, std::int64_t spacing) const;
    void thin();

    std::size_t budget_, bytes_ = 0;
    std::int64_t spacing_ = 1;
    std::vector<Moment> moments_;  // all but the newest match the current spacing
};

}  // namespace attn
