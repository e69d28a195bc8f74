#include "engine/train/history.hpp"

#include <algorithm>
#include <string>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

std::size_t bytes_of(const Moment& moment) { return static_cast<std::size_t>(moment.parameters->count()) * sizeof(float); }

}  // namespace

History::History(std::size_t budget_bytes) : budget_(budget_bytes) {}

bool History::stays(const Moment& moment, std::int64_t spacing) const {
    return moment.step % spacing == 0 || moment.step == moments_.front().step;
}

bool History::wants(std::int64_t step) const {
    if (moments_.empty()) return true;
    const std::size_t one = bytes_of(moments_.back());
    const auto full = [&](std::int64_t spacing) {
        const auto staying = std::count_if(moments_.begin(), moments_.end(), [&](const Moment& m) { return stays(m, spacing); });
        return staying > 1 && (static_cast<std::size_t>(staying) + 1) * one > budget_;
    };
    std::int64_t spacing = spacing_;
    while (full(spacing)) spacing *= 2;
    return step % spacing == 0;
}

void History::add(Moment moment) {
    if (moment.parameters == nullptr) throw Error("a moment without parameters cannot be kept");
    if (!moments_.empty() && moment.step <= moments_.back().step)
        throw Error("the moment of step " + std::to_string(moment.step) + " cannot follow that of step " +
                    std::to_string(moments_.back().step));
    if (!moments_.empty() && !stays(moments_.back(), spacing_)) moments_.pop_back();
    moments_.push_back(std::move(moment));
    thin();
}

void History::limit(std::size_t budget_bytes) {
    budget_ = budget_bytes;
    thin();
}

void History::thin() {
    while (bytes() > budget_ && moments_.size() > 2) {
        spacing_ *= 2;
        // The newest is not looked at: it goes when another one follows.
        moments_.erase(std::remove_if(moments_.begin(), moments_.end() - 1, [&](const Moment& m) { return !stays(m, spacing_); }),
                       moments_.end() - 1);
    }
}

std::size_t History::bytes() const {
    std::size_t sum = 0;
    for (const Moment& moment : moments_) sum += bytes_of(moment);
    return sum;
}

}  // namespace attn
