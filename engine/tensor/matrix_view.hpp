#pragma once
/// A matrix of numbers where it lies: somebody else owns it, and it may be a file's, in half precision or transposed.

#include <cstdint>

namespace attn {

/// How a number is stored.
enum class NumberKind : std::uint8_t { F32, F64, F16, BF16 };
template <class Scalar>
inline constexpr NumberKind kNumberKind = sizeof(Scalar) == sizeof(float) ? NumberKind::F32 : NumberKind::F64;

/// Bytes of one number.
std::int64_t number_size(NumberKind kind);
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

    /// One whose rows lie end to end.
    template <class Scalar>
    static MatrixView of(const Scalar* numbers, std::int64_t rows, std::int64_t columns) {
        return {numbers, kNumberKind<Scalar>, rows, columns, columns, false};
    }

    explicit operator bool() const { return data != nullptr; }
    bool operator==(const MatrixView&) const = default;

    /// The matrix used as its transpose.
    MatrixView across() const { return {data, kind, columns, rows, stride, !transposed}; }
    /// `count` rows from `first` on.
    MatrixView rows_from(std::int64_t first, std::int64_t count) const { return across().columns_from(first, count).across(); }
    /// `count` columns from `first` on.
    MatrixView columns_from(std::int64_t first, std::int64_t count) const;
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

/// The view's numbers [rows,columns] in the order of rows, converted.
template <class Scalar>
void copy_numbers(const MatrixView& view, Scalar* out);

}  // namespace attn
