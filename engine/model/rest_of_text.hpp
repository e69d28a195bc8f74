#pragma once
/// Computes the positions of a text that follow a prefix whose rows are known.

#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>

#include "engine/model/pass_masks.hpp"
#include "engine/model/program.hpp"
#include "engine/tensor/position_rows.hpp"

namespace attn {

template <class Scalar>
class RestOfText {
public:
    /// The positions from `first` on, whose tokens are `ids`, of a text whose prefix_stays(). With a cache (fused form only) the prefix's
    /// keys and values are in it. `program`, `settings` and `cache` must outlive this.
    RestOfText(Program<Scalar>& program, const ForwardSettings& settings, std::int64_t first, std::span<const std::int32_t> ids,
               std::stop_token stop = {}, KeyValueCache<Scalar>* cache = nullptr)
        : program_(program), first_(first), count_(std::ssize(ids)),
          masks_(masks_behind(program.plan(), first, count_, program.masks_as())), tokens_{count_, {ids.begin(), ids.end()}, {count_}},
          tap_(false, std::move(stop)), setting_{settings, masks_, tap_, &tokens_} {
        setting_.cache = cache;
        setting_.first_position = first;
    }
    RestOfText(const RestOfText&) = delete;
    RestOfText& operator=(const RestOfText&) = delete;

    /// Computes nodes [begin, end). Everything else they read must be there; without a cache, keys and values of the whole text. Throws
    /// Cancelled once `stop` is requested.
    void forward(std::size_t begin, std::size_t end) {
        if (count_ > 0) program_.forward(setting_, begin, end);
    }
    /// Sets a node's value to these positions of a whole stage [1,T,C] or [1,H,T,D].
    void give(std::size_t place, const Tensor<Scalar>& whole) {
        program_.value(place).resize(with_positions(whole.shape(), count_));
        copy_positions(whole, first_, program_.value(place), 0, count_);
    }
    /// A node's whole stage: the prefix's rows from `known`, followed by the computed ones.
    Tensor<Scalar> joined(const Tensor<Scalar>& known, std::size_t place) {
        Tensor<Scalar> whole;
        whole.resize(with_positions(known.shape(), first_ + count_));
        copy_positions(known, 0, whole, 0, first_);
        if (count_ > 0) copy_positions(program_.value(place), 0, whole, first_, count_);
        return whole;
    }
    const PassMasks& masks() const { return masks_; }

private:
    Program<Scalar>& program_;
    const std::int64_t first_, count_;
    const PassMasks masks_;
    const TokenBatch tokens_;
    Tap<Scalar> tap_;
    PassSetting<Scalar> setting_;
};

}  // namespace attn
