#pragma once
/// A reference file in memory: typed, shape-checked access to its tensors, and the comparison with what was computed.

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

/// The sizes of a shape, without names.
std::vector<std::int64_t> sizes_of(const Shape& shape);

/// Reads tensors by name. Every fault of the file (a tensor missing, of another type or shape) is a FileError that names file and
/// tensor. Remembers which expected tensors were compared, so that none is passed over in silence.
class CaseFile {
public:
    /// `tolerance` holds for every comparison that does not bring its own.
    CaseFile(ArrayFile file, Tolerance tolerance);

    const std::string& name() const { return file_.source; }
    bool has(std::string_view tensor) const { return file_.find(tensor) != nullptr; }
    const std::vector<NamedArray>& arrays() const { return file_.arrays; }
    /// Sizes of a tensor that must be there; throws when its rank is not `rank`.
    const std::vector<std::int64_t>& sizes(const std::string& tensor, std::size_t rank) const;
    /// Sizes of a tensor of any rank that must be there.
    const std::vector<std::int64_t>& sizes(const std::string& tensor) const { return file_.at(tensor).shape; }
    /// Throws FileError unless the tensor is there, in this shape.
    void require(const std::string& name, const Shape& shape) const { array(name, sizes_of(shape)); }
    DType dtype(const std::string& tensor) const { return file_.at(tensor).dtype; }

    /// A tensor of floats (F16 to F64) of exactly this shape.
    template <class Scalar>
    Tensor<Scalar> tensor(const std::string& name, const Shape& shape) const;
    /// The same as a flat list.
    template <class Scalar>
    std::vector<Scalar> numbers(const std::string& name, const Shape& shape) const;
    /// The same whatever its shape is.
    template <class Scalar>
    std::vector<Scalar> numbers(const std::string& name) const;
    /// Integers in [0, limit) of exactly these sizes.
    std::vector<std::int32_t> ids(const std::string& name, const std::vector<std::int64_t>& sizes, std::int64_t limit) const;
    /// A boolean tensor of any shape, 0 or 1.
    std::vector<std::uint8_t> flags(const std::string& name) const;

    /// "The file's tensor NAME: PROBLEM" as a FileError.
    [[noreturn]] void fail(const std::string& tensor, const std::string& problem) const;

    /// Compares with the tensor of this name and adds a line to the report. Throws FileError when it is of another shape, or missing and
    /// not a gradient: a file may do without those. `reach` as in compare_numbers().
    template <class Scalar>
    void compare(const std::string& name, const Shape& shape, std::span<const Scalar> computed, std::span<const double> reach = {});
    template <class Scalar>
    void compare(const std::string& name, const Tensor<Scalar>& computed) {
        compare(name, computed.shape(), computed.values());
    }
    void set_tolerance(Tolerance tolerance) { tolerance_ = tolerance; }

    /// The lines so far, in the file's order. Throws FileError for an expected output or gradient that nothing was compared with, and for
    /// a gradient that is missing while others are there.
    Report finish(std::string module);

private:
    const NamedArray& array(const std::string& name, const std::vector<std::int64_t>& sizes) const;

    ArrayFile file_;
    Tolerance tolerance_;
    std::map<std::string, TensorResult> results_;
    std::vector<std::string> missing_gradients_;
};

/// Compares two lists of equal length; equal infinities and two NaNs agree. Where `reach`, empty or of that length, says that rounding may
/// have carried a number farther than the tolerance, one that is no farther away counts as undetermined.
template <class Scalar>
TensorResult compare_numbers(std::string name, std::span<const double> expected, std::span<const Scalar> computed, Tolerance tolerance,
                             std::span<const double> reach = {});

}  // namespace attn::check
