#pragma once
/// A reference file in memory: typed, shape-checked access to its tensors, and comparison with computed values.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/check/report.hpp"
#include "engine/io/array_file.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn::check {

/// The sizes of a shape, without axis names.
std::vector<std::int64_t> sizes_of(const Shape& shape);

/// Reads tensors by name. Every fault (a missing tensor, or one of the wrong type or shape) throws FileError naming the file and the
/// tensor. Keeps track of which expected tensors were compared, so that none is silently skipped.
class CaseFile {
public:
    /// `tolerance` applies to all comparisons until set_tolerance().
    CaseFile(ArrayFile file, Tolerance tolerance);

    const std::string& name() const { return file_.source; }
    bool has(std::string_view tensor) const { return file_.find(tensor) != nullptr; }
    const std::vector<NamedArray>& arrays() const { return file_.arrays; }
    /// Sizes of a required tensor; throws if its rank is not `rank`.
    const std::vector<std::int64_t>& sizes(const std::string& tensor, std::size_t rank) const;
    /// Sizes of a required tensor of any rank.
    const std::vector<std::int64_t>& sizes(const std::string& tensor) const { return file_.at(tensor).shape; }
    /// Throws FileError unless the tensor exists with this shape.
    void require(const std::string& name, const Shape& shape) const { array(name, sizes_of(shape)); }
    DType dtype(const std::string& tensor) const { return file_.at(tensor).dtype; }

    /// A tensor of floats (F16 to F64) of exactly this shape.
    template <class Scalar>
    Tensor<Scalar> tensor(const std::string& name, const Shape& shape) const;
    /// The same as a list.
    template <class Scalar>
    std::vector<Scalar> numbers(const std::string& name, const Shape& shape) const;
    /// The same for any shape.
    template <class Scalar>
    std::vector<Scalar> numbers(const std::string& name) const;
    /// Integers in [0, limit) with exactly these sizes.
    std::vector<std::int32_t> ids(const std::string& name, const std::vector<std::int64_t>& sizes, std::int64_t limit) const;
    /// A boolean tensor of any shape, 0 or 1.
    std::vector<std::uint8_t> flags(const std::string& name) const;

    /// Throws FileError: "FILE, TENSOR: PROBLEM".
    [[noreturn]] void fail(const std::string& tensor, const std::string& problem) const;

    /// Compares with the tensor of this name and adds it to the report. Throws FileError if the shape differs, or if the tensor is missing
    /// and is not a gradient: a file may omit all gradients. `reach` as in compare_numbers().
    template <class Scalar>
    void compare(const std::string& name, const Shape& shape, std::span<const Scalar> computed, std::span<const double> reach = {});
    template <class Scalar>
    void compare(const std::string& name, const Tensor<Scalar>& computed) {
        compare(name, computed.shape(), computed.values());
    }
    void set_tolerance(Tolerance tolerance) { tolerance_ = tolerance; }

    /// The report, in file order. Throws FileError for an expected output or gradient that was not compared, and for a missing gradient if
    /// others are present.
    Report finish(std::string module);

private:
    const NamedArray& array(const std::string& name, const std::vector<std::int64_t>& sizes) const;

    ArrayFile file_;
    Tolerance tolerance_;
    std::map<std::string, TensorResult> results_;
    std::vector<std::string> missing_gradients_;
};

/// Compares two lists of equal length; equal infinities and two NaNs agree. `reach` is empty or of the same length: a number that exceeds
/// the tolerance but not its reach counts as undetermined.
template <class Scalar>
TensorResult compare_numbers(std::string name, std::span<const double> expected, std::span<const Scalar> computed, Tolerance tolerance,
                             std::span<const double> reach = {});

}  // namespace attn::check
