#include "engine/recording/joined_arrays.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/io/file_error.hpp"

namespace attn::recording {

std::optional<NamedArray> joined_header(const std::vector<const NamedArray*>& parts, const Joint& joint) {
    if (joint.how == Joint::How::Unknown || parts.empty()) return {};
    NamedArray whole{parts.front()->name, parts.front()->dtype, parts.front()->shape, {}};
    for (const NamedArray* part : parts)
        if (part->dtype != whole.dtype || part->shape != whole.shape) return {};
    if (joint.how == Joint::How::Sum && whole.dtype != DType::F64) whole.dtype = DType::F32;
    if (joint.how != Joint::How::Beside) return whole;
    if (joint.axis >= whole.shape.size()) return {};
    std::int64_t in_blocks = 0;
    for (const std::int64_t block : joint.blocks) in_blocks += block;
    if (!joint.blocks.empty() && in_blocks != whole.shape[joint.axis]) return {};
    whole.shape[joint.axis] *= std::ssize(parts);
    return checked_bytes(whole.shape, whole.dtype) ? std::optional(std::move(whole)) : std::nullopt;
}

NamedArray joined_values(const std::vector<NamedArray>& parts, const Joint& joint, const std::string& source) {
    std::vector<const NamedArray*> headers;
    for (const NamedArray& part : parts) headers.push_back(&part);
    std::optional<NamedArray> whole = joined_header(headers, joint);
    if (!whole)
        throw FileError(FileFault::Schema, source, "", "the processes' parts of \"" + escaped(parts.front().name) + "\" do not fit");
    if (joint.how == Joint::How::Same) return parts.front();
    if (joint.how == Joint::How::Sum) {
        std::vector<double> sum = values_as<double>(parts.front(), source);
        for (std::size_t i = 1; i < parts.size(); ++i) {
            const std::vector<double> other = values_as<double>(parts[i], source);
            for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += other[at];
        }
        if (whole->dtype == DType::F64) return make_array<double>(whole->name, whole->shape, sum);
        return make_array<float>(whole->name, whole->shape, std::vector<float>(sum.begin(), sum.end()));
    }
    const std::vector<std::int64_t>& shape = parts.front().shape;
    std::size_t outer = 1, inner = dtype_size(whole->dtype);
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (axis != joint.axis) (axis < joint.axis ? outer : inner) *= static_cast<std::size_t>(shape[axis]);
    const std::vector<std::int64_t> blocks = joint.blocks.empty() ? std::vector{shape[joint.axis]} : joint.blocks;
    whole->bytes.reserve(static_cast<std::size_t>(*checked_bytes(whole->shape, whole->dtype)));
    if (parts.front().bytes.empty()) return *std::move(whole);
    std::size_t at = 0;
    for (std::size_t i = 0; i < outer; ++i)
        for (const std::int64_t block : blocks) {
            const std::size_t bytes = static_cast<std::size_t>(block) * inner;
            for (const NamedArray& part : parts) {
                const auto begin = part.bytes.begin() + static_cast<std::ptrdiff_t>(at);
                whole->bytes.insert(whole->bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
            }
            at += bytes;
        }
    return *std::move(whole);
}

}  // namespace attn::recording
