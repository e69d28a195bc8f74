#include "engine/weights/packed_weights.hpp"

#include <algorithm>
#include <string>

#include "engine/kernels/kernels.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {

template <class Scalar>
PackedWeights<Scalar>::PackedWeights(const Parameters<Scalar>& parameters) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    std::int64_t size = 0;
    const auto room = [&](std::int64_t numbers) {
        constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Scalar));
        const std::int64_t at = size;
        size += (numbers + kLine - 1) / kLine * kLine;
        return at;
    };
    for (const ParameterInfo& info : parameters.layout().entries()) {
        if (info.shape.rank() != 2 || info.name.find("layers.") == std::string::npos) continue;
        const std::int64_t in = info.shape[0].size, out = info.shape[1].size, at = room(kernel.packed_size(in, out));
        entries_.push_back({parameters.data() + info.offset, in, out, at, room(kernel.packed_size(out, in))});
    }
    copies_.resize(static_cast<std::size_t>(size));
}

template <class Scalar>
void PackedWeights<Scalar>::pack() {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    const std::int64_t count = static_cast<std::int64_t>(entries_.size());
    parallel_for(2 * count, static_cast<std::int64_t>(copies_.size()) / (8 * count + 1), [&](std::int64_t i) {
        const Entry& e = entries_[static_cast<std::size_t>(i / 2)];
        if (i % 2 == 0) kernel.pack_b(e.weight, e.out, Transpose::No, e.in, e.out, copies_.data() + e.at);
        else kernel.pack_b(e.weight, e.out, Transpose::Yes, e.out, e.in, copies_.data() + e.across_at);
    });
}

template <class Scalar>
PackedMatrix<Scalar> PackedWeights<Scalar>::find(const MatrixView& matrix) const {
    const auto is_it = [&](const Entry& e) {
        return e.weight == matrix.numbers<Scalar>() && e.in == matrix.rows && e.out == matrix.columns && !matrix.transposed;
    };
    const auto entry = std::find_if(entries_.begin(), entries_.end(), is_it);
    if (entry == entries_.end()) return {};
    return {copies_.data() + entry->at, copies_.data() + entry->across_at};
}

template class PackedWeights<float>;
template class PackedWeights<double>;

}  // namespace attn
