#include "engine/ops/embedding.hpp"

#include <string>

#include "engine/kernels/kernels.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

void require_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size, const char* what) {
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || ids[i] >= vocab_size)
            throw Error(std::string(what) + " " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                        " is outside the vocabulary of " + std::to_string(vocab_size));
}

template <class Scalar>
void embed(std::span<const std::int32_t> ids, const MatrixView& table, Scalar* y) {
    for (std::size_t i = 0; i < ids.size(); ++i) copy_numbers(table.rows_from(ids[i], 1), y + static_cast<std::int64_t>(i) * table.columns);
}

template <class Scalar>
void embed_backward(std::span<const std::int32_t> ids, const Scalar* dy, std::int64_t width, Scalar* dtable) {
    const Kernels<Scalar>& kernel = kernels<Scalar>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        Scalar* row = dtable + ids[i] * width;
        kernel.add(row, dy + static_cast<std::int64_t>(i) * width, width, row);
    }
}

template void embed_backward<float>(std::span<const std::int32_t>, const float*, std::int64_t, float*);
template void embed_backward<double>(std::span<const std::int32_t>, const double*, std::int64_t, double*);
template void embed<float>(std::span<const std::int32_t>, const MatrixView&, float*);
template void embed<double>(std::span<const std::int32_t>, const MatrixView&, double*);

}  // namespace attn
