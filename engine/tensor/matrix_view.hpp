#pragma once
/// A non-owning view of a matrix where it is stored, for example in a memory-mapped file: in any number kind, perhaps transposed.

#include <cstdint>

#include "engine/tensor/number_kind.hpp"

namespace attn {

template <class Scalar>
inline constexpr NumberKind kNumberKind = sizeof(Scalar) == sizeof(float) ? NumberKind::F32 : NumberKind::F64;

/// Bytes taken by `numbers` numbers, a whole number of blocks.
std::int64_t stored_bytes(NumberKind kind, std::int64_t numbers);
/// IEEE 754 binary16 and bfloat16 to float; exact.
float widen_f16(std::uint16_t bits);
float widen_bf16(std::uint16_t bits);

/// W [rows,columns] as an operation uses it: y = x W. A vector is a matrix of one row.
struct MatrixView {
    const void* data = nullptr;
    NumberKind kind = NumberKind::F32;
    std::int64_t rows = 0, columns = 0;
    std::int64_t stride = 0;  ///< numbers from one stored row to the next
    bool transposed = false;  ///< stored as [columns,rows]
    std::int64_t first = 0;   ///< block-packed kinds: numbers between `data`, a block boundary, and the view's first number

    /// A contiguous matrix.
    template <class Scalar>
    static MatrixView of(const Scalar* numbers, std::int64_t rows, std::int64_t columns) {
        return {numbers, kNumberKind<Scalar>, rows, columns, columns, false};
    }

    explicit operator bool() const { return data != nullptr; }
    bool operator==(const MatrixView&) const = default;

    /// The transpose, without moving any numbers.
    MatrixView across() const { return {data, kind, columns, rows, stride, !transposed, first}; }
    /// The rows [first_row, first_row + count).
    MatrixView rows_from(std::int64_t first_row, std::int64_t count) const { return across().columns_from(first_row, count).across(); }
    /// The columns [first_column, first_column + count).
    MatrixView columns_from(std::int64_t first_column, std::int64_t count) const;
    /// True if the columns of `next` are stored directly after this view's, so that one view could cover both.
    bool is_followed_by(const MatrixView& next) const;

    /// Pointer to the first number if the view's kind is Scalar, else null.
    template <class Scalar>
    const Scalar* numbers() const {
        return kind == kNumberKind<Scalar> ? static_cast<const Scalar*>(data) : nullptr;
    }
    /// One number; not checked.
    double at(std::int64_t row, std::int64_t column) const;
};

/// Converts the view's numbers to a row-major [rows,columns] whose rows begin `stride` apart.
template <class Scalar>
void copy_numbers(const MatrixView& view, Scalar* out, std::int64_t stride);
template <class Scalar>
void copy_numbers(const MatrixView& view, Scalar* out) {
    copy_numbers(view, out, view.columns);
}

/// Reads the number `at` places after `first`; for packed kinds `first` is the start of a block.
using NumberReader = float (*)(const void* first, std::int64_t at);
NumberReader number_reader(NumberKind kind);

}  // namespace attn
