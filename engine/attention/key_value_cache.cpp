#include "engine/attention/key_value_cache.hpp"

#include <algorithm>
#include <utility>

namespace attn {

template <class Scalar>
KeyValueCache<Scalar>::KeyValueCache(std::int64_t layers, std::int64_t heads, std::int64_t head_size)
    : heads_(heads), head_size_(head_size), layers_(static_cast<std::size_t>(layers)) {}

template <class Scalar>
void KeyValueCache<Scalar>::put(int layer, const HeadsView<const Scalar>& keys, const HeadsView<const Scalar>& values,
                                std::int64_t positions) {
    Layer& kept = layers_[static_cast<std::size_t>(layer)];
    put(keys, positions, kept.keys);
    put(values, positions, kept.values);
}

template <class Scalar>
std::size_t KeyValueCache<Scalar>::bytes() const {
    std::size_t numbers = 0;
    for (const Layer& layer : layers_) numbers += layer.keys.numbers.capacity() + layer.values.numbers.capacity();
    return numbers * sizeof(Scalar);
}

template <class Scalar>
void KeyValueCache<Scalar>::put(const HeadsView<const Scalar>& heads, std::int64_t positions, Rows& rows) const {
    make_room(length_ + positions, rows);
    for (std::int64_t g = 0; g < heads_; ++g) {
        Scalar* to = rows.numbers.data() + (g * rows.room + length_) * head_size_;
        for (std::int64_t t = 0; t < positions; ++t, to += head_size_) std::copy_n(heads.at(0, g, t), head_size_, to);
    }
}

/// Makes room for `positions`, and for a quarter more, so that a growing text seldom has to move.
template <class Scalar>
void KeyValueCache<Scalar>::make_room(std::int64_t positions, Rows& rows) const {
    constexpr std::int64_t kLeast = 16;
    if (positions <= rows.room) return;
    Rows larger{{}, positions + std::max(rows.room / 4, kLeast)};
    larger.numbers.resize(static_cast<std::size_t>(heads_ * larger.room * head_size_));
    for (std::int64_t g = 0; g < heads_; ++g)
        std::copy_n(rows.numbers.data() + g * rows.room * head_size_, length_ * head_size_,
                    larger.numbers.data() + g * larger.room * head_size_);
    rows = std::move(larger);
}

template class KeyValueCache<float>;
template class KeyValueCache<double>;

}  // namespace attn
