#pragma once
/// A dense row-major tensor that owns its numbers, 64-byte aligned.

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "engine/tensor/memory.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

/// Allocator that keeps every tensor on a cache-line (and AVX-512) boundary.
template <class T>
struct CacheAligned {
    using value_type = T;
    CacheAligned() = default;
    template <class U>
    CacheAligned(const CacheAligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(allocate_numbers(n * sizeof(T))); }
    void deallocate(T* p, std::size_t n) { free_numbers(p, n * sizeof(T)); }
    template <class U>
    bool operator==(const CacheAligned<U>&) const {
        return true;
    }
};

template <class Scalar>
using AlignedVector = std::vector<Scalar, CacheAligned<Scalar>>;

/// Like CacheAligned, but leaves numbers uninitialised, for memory that is written before it is read. Pages of a large tensor are then
/// first touched by the threads that compute it.
template <class T>
struct WithoutValue : CacheAligned<T> {
    using value_type = T;
    WithoutValue() = default;
    template <class U>
    WithoutValue(const WithoutValue<U>&) {}
    template <class U>
    struct rebind {                     // NOLINT(readability-identifier-naming): the standard library's names
        using other = WithoutValue<U>;  // NOLINT(readability-identifier-naming)
    };
    void construct(T*) noexcept {}
    template <class... Given>
    void construct(T* place, Given&&... given) {
        ::new (static_cast<void*>(place)) T(std::forward<Given>(given)...);
    }
};

/// Numbers with a named shape. A default tensor is empty (rank 0, no numbers).
template <class Scalar>
class Tensor {
public:
    Tensor() = default;
    /// All zeros.
    explicit Tensor(const Shape& shape) : shape_(shape), data_(static_cast<std::size_t>(shape.count()), Scalar{0}) {}

    const Shape& shape() const { return shape_; }
    std::int64_t size() const { return static_cast<std::int64_t>(data_.size()); }
    bool empty() const { return data_.empty(); }
    Scalar* data() { return data_.data(); }
    const Scalar* data() const { return data_.data(); }
    std::span<Scalar> values() { return data_; }
    std::span<const Scalar> values() const { return data_; }

    /// Changes the shape, reusing the memory if it is large enough. The contents are unspecified.
    void resize(const Shape& shape) {
        const auto count = static_cast<std::size_t>(shape.count());
        if (count > data_.capacity()) *this = Tensor();  // free the old memory first, so that it is neither copied nor held besides the new
        data_.resize(count);
        shape_ = shape;
    }

    /// Element by index, in axis order; missing trailing indices are 0. Not checked.
    Scalar& operator()(std::int64_t i, std::int64_t j = 0, std::int64_t k = 0, std::int64_t l = 0) { return data_[offset(i, j, k, l)]; }
    Scalar operator()(std::int64_t i, std::int64_t j = 0, std::int64_t k = 0, std::int64_t l = 0) const {
        return data_[offset(i, j, k, l)];
    }

private:
    std::size_t offset(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
        const std::int64_t index[] = {i, j, k, l};
        std::int64_t at = 0;
        for (int a = 0; a < shape_.rank(); ++a) at = at * shape_[a].size + index[a];
        return static_cast<std::size_t>(at);
    }

    Shape shape_;
    std::vector<Scalar, WithoutValue<Scalar>> data_;
};

}  // namespace attn
