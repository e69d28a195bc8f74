#pragma once
/// A matrix of numbers where it lies: somebody else owns it, and it may be a file's, in half precision or transposed.

#include <cstdint>

#include "engine/tensor/number_kind.hpp"

namespace attn {

template <class Scalar>
inline constexpr NumberKind kNumberKind = sizeof(Scalar) == sizeof(float) ? NumberKind::F32 : NumberKind::F64;

/// How many numbers are packed together, and in how many bytes; single ones are blocks of one.
struct BlockSize {
    std::int64_t numbers, bytes;
};
BlockSize block_size(NumberKind kind);
/// Bytes of so many stored numbers, whole blocks.
std::int64_t stored_bytes(NumberKind kind, std::int64_t numbers);
/// IEEE 754 binary16 and bfloat16, which every float can be without rounding.
float widen_f16(std::uint16_t bits);
float widen_bf16(std::uint16_t bits);

/// W [rows,columns] as operations use it: y = x W. A row is a matrix of one row.
struct MatrixView {
    const void* data = nullptr;
    NumberKind kind = NumberKind::F32;
    std::int64_t rows = 0, columns = 0;
    std::int64_t stride = 0;  ///< numbers from one stored row to the next
    bool transposed = false;  ///< stored as [columns,rows]
    std::int64_t first = 0;   ///< stored numbers before the first one, where they are packed in blocks: data begins with a block

    /// One whose rows lie end to end.
    template <class Scalar>
    static MatrixView of(const Scalar* numbers, std::int64_t rows, std::int64_t columns) {
        return {numbers, kNumberKind<Scalar>, rows, columns, columns, false};
    }

    explicit operator bool() const { return data != nullptr; }
    bool operator==(const MatrixView&) const = default;

    /// The matrix used as its transpose.
    MatrixView across() const { return {data, kind, columns, rows, stride, !transposed, first}; }
    /// `count` rows from `first_row` on.
    MatrixView rows_from(std::int64_t first_row, std::int64_t count) const { return across().columns_from(first_row, count).across(); }
    /// `count` columns from `first_column` on.
    MatrixView columns_from(std::int64_t first_column, std::int64_t count) const;
    /// True when the columns of `next` lie right behind those of this, so that the two are one matrix.
    bool is_followed_by(const MatrixView& next) const;

    /// The first number if the numbers are stored as Scalar, else null.
    template <class Scalar>
    const Scalar* numbers() const {
        return kind == kNumberKind<Scalar> ? static_cast<const Scalar*>(data) : nullptr;
    }
    /// One number; not checked.
    double at(std::int64_t row, std::int64_t column) const;
};

/// The view's numbers [rows,columns] in the order of rows, which begin `stride` apart, converted.
template <class Scalar>
void copy_numbers(const MatrixView& view, Scalar* out, std::int64_t stride);
template <class Scalar>
void copy_numbers(const MatrixView& view, Scalar* out) {
    copy_numbers(view, out, view.columns);
}

/// Reads the number that comes `at` numbers after the first one, which of packed ones begins a block.
using NumberReader = float (*)(const void* first, std::int64_t at);
NumberReader number_reader(NumberKind kind);

}  // namespace attn
