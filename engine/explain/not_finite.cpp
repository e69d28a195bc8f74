#include "engine/explain/not_finite.hpp"

#include <cmath>

namespace attn {
namespace {

/// The index of the number at flat index `at`.
std::array<std::int64_t, 4> index_of(const Shape& shape, std::int64_t at) {
    std::array<std::int64_t, 4> index{};
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index[static_cast<std::size_t>(axis)] = at % shape[axis].size;
        at /= shape[axis].size;
    }
    return index;
}

template <class Scalar>
NotFiniteCell describe(const RecordedStage<Scalar>& stage, std::int64_t at) {
    const Shape& shape = stage.value.shape();
    NotFiniteCell out{{stage.id, "", index_of(shape, at)}, tensor_name(stage.id) + " at "};
    for (int axis = 0; axis < shape.rank(); ++axis)
        out.text += std::string(axis > 0 ? ", " : "") + axis_letter(shape[axis].axis) + "=" +
                    std::to_string(out.cell.index[static_cast<std::size_t>(axis)]);
    const Scalar value = stage.value.data()[at];
    out.text += std::isnan(value) ? " is NaN" : value > 0 ? " is inf" : " is -inf";
    return out;
}

}  // namespace

template <class Scalar>
std::optional<NotFiniteCell> first_not_finite(const Trace<Scalar>& trace) {
    for (const RecordedStage<Scalar>& stage : trace.stages)
        for (std::int64_t i = 0; i < stage.value.size(); ++i) {
            if (std::isfinite(stage.value.data()[i])) continue;
            const auto at = index_of(stage.value.shape(), i);
            if (stage.mask == nullptr || stage.mask->may_attend(at[0], at[1], at[2], at[3])) return describe(stage, i);
        }
    return std::nullopt;
}

template std::optional<NotFiniteCell> first_not_finite<float>(const Trace<float>&);
template std::optional<NotFiniteCell> first_not_finite<double>(const Trace<double>&);

}  // namespace attn
