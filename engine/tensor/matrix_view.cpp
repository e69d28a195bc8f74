#include "engine/tensor/matrix_view.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace attn {
namespace {

template <class Stored>
Stored stored(const MatrixView& view, std::int64_t at) {
    Stored value;  // a file's numbers may lie anywhere
    std::memcpy(&value, static_cast<const char*>(view.data) + at * static_cast<std::int64_t>(sizeof value), sizeof value);
    return value;
}

double number(const MatrixView& view, std::int64_t at) {
    switch (view.kind) {
    case NumberKind::F64:
        return stored<double>(view, at);
    case NumberKind::F16:
        return widen_f16(stored<std::uint16_t>(view, at));
    case NumberKind::BF16:
        return widen_bf16(stored<std::uint16_t>(view, at));
    case NumberKind::F32:
        break;
    }
    return stored<float>(view, at);
}

const void* advance(const MatrixView& view, std::int64_t numbers) {
    return static_cast<const char*>(view.data) + numbers * number_size(view.kind);
}

}  // namespace

std::int64_t number_size(NumberKind kind) { return kind == NumberKind::F64 ? 8 : kind == NumberKind::F32 ? 4 : 2; }

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

MatrixView MatrixView::columns_from(std::int64_t first, std::int64_t count) const {
    MatrixView part = *this;
    part.data = advance(*this, transposed ? first * stride : first);
    part.columns = count;
    return part;
}

bool MatrixView::is_followed_by(const MatrixView& next) const {
    return kind == next.kind && rows == next.rows && stride == next.stride && transposed == next.transposed &&
           next.data == advance(*this, transposed ? columns * stride : columns);
}

double MatrixView::at(std::int64_t row, std::int64_t column) const {
    return number(*this, transposed ? column * stride + row : row * stride + column);
}

template <class Scalar>
void copy_numbers(const MatrixView& view, Scalar* out) {
    if (const Scalar* numbers = view.transposed ? nullptr : view.numbers<Scalar>()) {
        for (std::int64_t r = 0; r < view.rows; ++r) std::copy_n(numbers + r * view.stride, view.columns, out + r * view.columns);
        return;
    }
    for (std::int64_t r = 0; r < view.rows; ++r)
        for (std::int64_t c = 0; c < view.columns; ++c) *out++ = static_cast<Scalar>(view.at(r, c));
}

template void copy_numbers<float>(const MatrixView&, float*);
template void copy_numbers<double>(const MatrixView&, double*);

}  // namespace attn
