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
    return moment.held || moment.step % spacing == 0 || moment.step == moments_.front().step;
}

bool History::has_spare(std::int64_t spacing, std::size_t end) const {
    for (std::size_t i = 1; i < end; ++i)
        if (!moments_[i].held && moments_[i].step % spacing == 0) return true;
    return false;
}

bool History::wants(std::int64_t step) const {
    if (moments_.empty()) return true;
    const std::size_t one = bytes_of(moments_.back());
    std::int64_t spacing = spacing_;
    std::size_t staying = moments_.size() - (stays(moments_.back(), spacing) ? 0 : 1);
    while ((staying + 1) * one > budget_ && has_spare(spacing, moments_.size())) {
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
    if (budget_bytes > budget_) spacing_ = 1;
    budget_ = budget_bytes;
    thin();
}

void History::hold(std::span<const Moment> named) {
    if (moments_.empty()) return;
    for (Moment& moment : moments_) moment.held = false;
    for (const Moment& one : named) {
        const auto place = std::lower_bound(moments_.begin(), moments_.end(), one.step,
                                            [](const Moment& moment, std::int64_t step) { return moment.step < step; });
        if (place == moments_.end() || one.parameters == nullptr) continue;
        if (place->step == one.step) place->held = true;
        else moments_.insert(place, {one.step, one.parameters, true});
    }
    drop();
    thin();
}

void History::drop() {
    moments_.erase(std::remove_if(moments_.begin(), moments_.end() - 1, [&](const Moment& m) { return !stays(m, spacing_); }),
                   moments_.end() - 1);
    bytes_ = 0;
    for (const Moment& moment : moments_) bytes_ += bytes_of(moment);
}

void History::thin() {
    while (bytes_ > budget_ && has_spare(spacing_, moments_.size() - 1)) {
        spacing_ *= 2;
        drop();
    }
}

}  // namespace attn
