#pragma once
/// Shapes with named axes: a tensor knows that its second axis is heads, not just that it has size 4.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace attn {

/// The axis names used wherever a shape is written.
enum class Axis : std::uint8_t {
    B,  ///< sequence in the batch
    H,  ///< head
    G,  ///< key/value head, where several heads share one
    T,  ///< query position
    S,  ///< key position
    C,  ///< d_model, the width of the residual stream
    D,  ///< d_head
    V,  ///< vocabulary
    F,  ///< d_ff, the hidden width of the feed-forward block
    L,  ///< layer
    N,  ///< anything else (packed or unnamed)
};

/// One-letter name, "B" to "N".
const char* axis_letter(Axis axis);
/// Name in words, such as "query position".
const char* axis_words(Axis axis);

struct Dim {
    Axis axis = Axis::N;
    std::int64_t size = 0;
    bool operator==(const Dim&) const = default;
};

/// Up to four named axes, row-major.
class Shape {
public:
    static constexpr int kMaxRank = 4;

    Shape() = default;
    /// Throws ShapeError for more than kMaxRank axes, a negative size, or a product beyond 2^62.
    Shape(std::initializer_list<Dim> dims);

    int rank() const { return rank_; }
    const Dim& operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
    const Dim* begin() const { return dims_.data(); }
    const Dim* end() const { return dims_.data() + rank_; }
    /// Size of the axis, or 1 if the shape does not have it.
    std::int64_t size_of(Axis axis) const;
    bool has(Axis axis) const;
    /// Product of all sizes; 1 for rank 0.
    std::int64_t count() const;
    /// Appends an axis. Throws ShapeError as the constructor does.
    void push_back(Dim dim);
    /// The same shape with one axis resized.
    Shape with_size(int axis, std::int64_t size) const;
    /// "[B=2, H=4, T=12, S=12]"
    std::string text() const;
    bool operator==(const Shape&) const = default;

private:
    std::array<Dim, kMaxRank> dims_{};
    int rank_ = 0;
};

}  // namespace attn
