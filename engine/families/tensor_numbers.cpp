#include "engine/families/tensor_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/io/file_error.hpp"
#include "engine/ops/parallel.hpp"

namespace attn {

void expect_scales(const WeightFiles& files, const WeightFiles::Tensor& tensor) {
    constexpr std::int64_t kBlocksAtOnce = 4096;
    const BlockFormat& format = block_format(*tensor.blocks);
    const std::int64_t count = tensor.count() / format.numbers, parts = (count + kBlocksAtOnce - 1) / kBlocksAtOnce;
    std::vector<std::optional<std::int64_t>> found(static_cast<std::size_t>(parts));
    parallel_for(parts, kBlocksAtOnce * format.bytes, [&](std::int64_t part) {
        const std::int64_t first = part * kBlocksAtOnce;
        found[static_cast<std::size_t>(part)] = find_block_without_scale(*tensor.blocks, tensor.array.bytes.data() + first * format.bytes,
                                                                         std::min(kBlocksAtOnce, count - first));
    });
    for (std::int64_t part = 0; part < parts; ++part) {
        if (!found[static_cast<std::size_t>(part)]) continue;
        const std::int64_t block = part * kBlocksAtOnce + *found[static_cast<std::size_t>(part)];
        throw FileError(FileFault::Range, files.file_name(tensor), escaped(tensor.array.name),
                        fmt::format("block {}, with the numbers {} to {}, has a scale that is not finite", block, block * format.numbers,
                                    (block + 1) * format.numbers - 1));
    }
}

template <class Scalar>
void copy_tensor(const WeightFiles& files, const WeightFiles::Tensor& tensor, std::vector<Scalar>& out) {
    out.resize(static_cast<std::size_t>(tensor.count()));
    if (!tensor.blocks) return copy_values<Scalar>(tensor.array, files.file_name(tensor), out);
    expect_scales(files, tensor);
    const std::int64_t row = tensor.array.shape.back();
    parallel_for(tensor.count() / row, row, [&](std::int64_t r) {
        const std::span<Scalar> to = std::span(out).subspan(static_cast<std::size_t>(r * row), static_cast<std::size_t>(row));
        if constexpr (std::is_same_v<Scalar, float>) {
            expand_blocks(*tensor.blocks, tensor.array.bytes.data(), r * row, to);
        } else {
            std::vector<float> numbers(to.size());
            expand_blocks(*tensor.blocks, tensor.array.bytes.data(), r * row, numbers);
            std::copy(numbers.begin(), numbers.end(), to.begin());
        }
    });
}

template void copy_tensor(const WeightFiles&, const WeightFiles::Tensor&, std::vector<float>&);
template void copy_tensor(const WeightFiles&, const WeightFiles::Tensor&, std::vector<double>&);

}  // namespace attn
