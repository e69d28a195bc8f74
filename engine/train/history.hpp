#pragma once
/// The parameters of a run at chosen steps, within a memory budget.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

struct Moment {
    std::int64_t step = 0;
    std::shared_ptr<const Parameters<float>> parameters;
};

/// Always keeps the first and the newest moment; between them a spacing that doubles whenever the budget is reached.
/// Asking and adding take the same time however many moments there are (on average: now and then the spacing doubles).
/// One thread at a time; the moments themselves are immutable and may be shared.
class History {
public:
    static constexpr std::size_t kDefaultBudget = std::size_t{256} << 20;
    explicit History(std::size_t budget_bytes = kDefaultBudget);

    /// True when a moment of this step, later than all before and of their size, would stay when others follow.
    bool wants(std::int64_t step) const;
    /// Keeps a moment; drops what the budget no longer holds. Throws Error unless it is later than all before.
    void add(Moment moment);
    /// Another budget from now on; what it does not hold goes, every second moment first.
    void limit(std::size_t budget_bytes);
    const std::vector<Moment>& moments() const { return moments_; }  ///< steps ascend
    std::int64_t spacing() const { return spacing_; }
    std::size_t bytes() const { return bytes_; }
    std::size_t budget() const { return budget_; }

private:
    bool stays(const Moment& moment, std::int64_t spacing) const;
    void thin();

    std::size_t budget_, bytes_ = 0;
    std::int64_t spacing_ = 1;
    std::vector<Moment> moments_;  // but for the newest those that stay with this spacing
};

}  // namespace attn
