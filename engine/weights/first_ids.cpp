#include "engine/weights/first_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/tensor/error.hpp"

namespace attn {

template <class Scalar>
Parameters<Scalar> with_first_ids(const Parameters<Scalar>& whole, std::int64_t ids) {
    Config config = whole.config();
    if (ids < 1 || ids > config.vocab_size) throw Error(fmt::format("{} of {} ids cannot be kept", ids, config.vocab_size));
    config.vocab_size = ids;
    Parameters<Scalar> few(config);
    for (const ParameterInfo& entry : few.layout().entries()) {
        const ParameterInfo& from = *whole.layout().find(entry.name);
        const std::vector<Scalar> numbers = whole.copy(from);
        const std::int64_t columns = entry.shape[entry.shape.rank() - 1].size, stride = from.shape[from.shape.rank() - 1].size;
        for (std::int64_t row = 0; row < entry.shape.count() / columns; ++row)
            std::copy_n(numbers.data() + row * stride, columns, few.data() + entry.offset + row * columns);
    }
    return few;
}

template Parameters<float> with_first_ids(const Parameters<float>&, std::int64_t);
template Parameters<double> with_first_ids(const Parameters<double>&, std::int64_t);

}  // namespace attn
