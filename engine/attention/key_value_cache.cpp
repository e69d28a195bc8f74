#include "engine/attention/key_value_cache.hpp"

#include <algorithm>

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
    for (const Layer& layer : layers_) numbers += layer.keys.capacity() + layer.values.capacity();
    return numbers * sizeof(Scalar);
}

template <class Scalar>
void KeyValueCache<Scalar>::put(const HeadsView<const Scalar>& heads, std::int64_t positions, Rows& rows) const {
    rows.resize(static_cast<std::size_t>((length_ + positions) * heads_ * head_size_));
    Scalar* to = rows.data() + length_ * heads_ * head_size_;
    for (std::int64_t t = 0; t < positions; ++t)
        for (std::int64_t g = 0; g < heads_; ++g, to += head_size_) std::copy_n(heads.at(0, g, t), head_size_, to);
}

template class KeyValueCache<float>;
template class KeyValueCache<double>;

}  // namespace attn
