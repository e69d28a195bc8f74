#include "engine/tensor/matrix_view.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/tensor/blocks.hpp"

namespace attn {
namespace {

template <class Stored>
Stored stored(const void* first, std::int64_t at) {
    Stored value;  // memcpy, because a mapped file may leave numbers unaligned
    std::memcpy(&value, static_cast<const char*>(first) + at * static_cast<std::int64_t>(sizeof value), sizeof value);
    return value;
}

float read_f32(const void* first, std::int64_t at) { return stored<float>(first, at); }
float read_f64(const void* first, std::int64_t at) { return static_cast<float>(stored<double>(first, at)); }
float read_f16(const void* first, std::int64_t at) { return widen_f16(stored<std::uint16_t>(first, at)); }
float read_bf16(const void* first, std::int64_t at) { return widen_bf16(stored<std::uint16_t>(first, at)); }

template <BlockKind kKind>
float read_packed(const void* first, std::int64_t at) {
    return block_number(kKind, static_cast<const std::byte*>(first), at).value();
}

/// The view moved forward by so many stored numbers.
MatrixView behind(MatrixView view, std::int64_t numbers) {
    if (block_kind(view.kind)) view.first += numbers;
    else view.data = static_cast<const char*>(view.data) + numbers * block_size(view.kind).bytes;
    return view;
}

}  // namespace

std::int64_t stored_bytes(NumberKind kind, std::int64_t numbers) {
    const BlockSize block = block_size(kind);
    return numbers / block.numbers * block.bytes;
}

float widen_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

float widen_f16(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
    const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
    const std::uint32_t fraction = bits & 0x3FFU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide_exponent = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
    return std::bit_cast<float>(sign | (wide_exponent << 23U) | (fraction << 13U));
}

MatrixView MatrixView::columns_from(std::int64_t first_column, std::int64_t count) const {
    MatrixView part = behind(*this, transposed ? first_column * stride : first_column);
    part.columns = count;
    return part;
}

bool MatrixView::is_followed_by(const MatrixView& next) const {
    const MatrixView rest = columns_from(columns, next.columns);
    return rows == next.rows && rest == next;
}

double MatrixView::at(std::int64_t row, std::int64_t column) const {
    const std::int64_t place = first + (transposed ? column * stride + row : row * stride + column);
    if (kind == NumberKind::F64) return stored<double>(data, place);
    return static_cast<double>(number_reader(kind)(data, place));
}

NumberReader number_reader(NumberKind kind) {
    switch (kind) {
    case NumberKind::F64:
        return &read_f64;
    case NumberKind::F16:
        return &read_f16;
    case NumberKind::BF16:
        return &read_bf16;
    case NumberKind::Q4_0:
        return &read_packed<BlockKind::Q4_0>;
    case NumberKind::Q4_1:
        return &read_packed<BlockKind::Q4_1>;
    case NumberKind::Q5_0:
        return &read_packed<BlockKind::Q5_0>;
    case NumberKind::Q5_1:
        return &read_packed<BlockKind::Q5_1>;
    case NumberKind::Q8_0:
        return &read_packed<BlockKind::Q8_0>;
    case NumberKind::Q2_K:
        return &read_packed<BlockKind::Q2_K>;
    case NumberKind::Q3_K:
        return &read_packed<BlockKind::Q3_K>;
    case NumberKind::Q4_K:
        return &read_packed<BlockKind::Q4_K>;
    case NumberKind::Q5_K:
        return &read_packed<BlockKind::Q5_K>;
    case NumberKind::Q6_K:
        return &read_packed<BlockKind::Q6_K>;
    case NumberKind::F32:
        break;
    }
    return &read_f32;
}

namespace {

/// Calls f(row, column, offset in stored numbers) for every number, in storage order.
template <class F>
void for_each_place(const MatrixView& view, const F& f) {
    for (std::int64_t i = 0; i < (view.transposed ? view.columns : view.rows); ++i)
        for (std::int64_t j = 0; j < (view.transposed ? view.rows : view.columns); ++j)
            f(view.transposed ? j : i, view.transposed ? i : j, view.first + i * view.stride + j);
}

}  // namespace

template <class Scalar>
void copy_numbers(const MatrixView& view, Scalar* out, std::int64_t stride) {
    if (const Scalar* numbers = view.numbers<Scalar>())
        return for_each_place(view, [&](std::int64_t r, std::int64_t c, std::int64_t at) { out[r * stride + c] = numbers[at]; });
    if (view.kind == NumberKind::F64)
        return for_each_place(view, [&](std::int64_t r, std::int64_t c, std::int64_t at) {
            out[r * stride + c] = static_cast<Scalar>(stored<double>(view.data, at));
        });
    const NumberReader read = number_reader(view.kind);
    for_each_place(
        view, [&](std::int64_t r, std::int64_t c, std::int64_t at) { out[r * stride + c] = static_cast<Scalar>(read(view.data, at)); });
}

template void copy_numbers<float>(const MatrixView&, float*, std::int64_t);
template void copy_numbers<double>(const MatrixView&, double*, std::int64_t);

}  // namespace attn
