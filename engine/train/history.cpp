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
    const auto full = [&](std::size_t staying) { return staying > 1 && (staying + 1) * one > budget_; };
    std::int64_t spacing = spacing_;
    std::size_t staying = moments_.size() - (stays(moments_.back(), spacing) ? 0 : 1);
    while (full(staying)) {
        spacing *= 2;
        staying = static_cast<std::size_t>(
            std::count_if(moments_.begin(), moments_.end(), [&](const Moment& moment) { return stays(moment, spacing); }));
    }
    return step % spacing == 0;
}

void History::add(Moment moment) {
    if (moment.parameters == nullptr) throw Error("a step without parameters cannot be kept");
    if (!moments_.empty() && moment.step <= moments_.back().step)
        throw Error("step " + std::to_string(moment.step) + " cannot be kept after step " + std::to_string(moments_.back().step));
    if (!moments_.empty() && !stays(moments_.back(), spacing_)) {
        bytes_ -= bytes_of(moments_.back());
        moments_.pop_back();
    }
    moments_.push_back(std::move(moment));
    bytes_ += bytes_of(moments_.back());
    thin();
}

void History::limit(std::size_t budget_bytes) {
    budget_ = budget_bytes;
    thin();
}

void History::thin() {
    while (bytes_ > budget_ && moments_.size() > 2) {
        spacing_ *= 2;
        // The newest is exempt: whether it stays is decided when another follows.
        moments_.erase(std::remove_if(moments_.begin(), moments_.end() - 1, [&](const Moment& m) { return !stays(m, spacing_); }),
                       moments_.end() - 1);
        bytes_ = 0;
        for (const Moment& moment : moments_) bytes_ += bytes_of(moment);
    }
}

}  // namespace attn
