#include "engine/check/case_file.hpp"

#include <cmath>
#include <limits>

#include "engine/io/file_error.hpp"
#include "engine/tensor/closeness.hpp"

namespace attn::check {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_float(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64; }
bool is_integer(DType dtype) { return !is_float(dtype) && dtype != DType::Bool; }

}  // namespace

std::vector<std::int64_t> sizes_of(const Shape& shape) {
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : shape) sizes.push_back(dim.size);
    return sizes;
}

template <class Scalar>
TensorResult compare_numbers(std::string name, std::span<const double> expected, std::span<const Scalar> computed, Tolerance tolerance,
                             std::span<const double> reach) {
    TensorResult result;
    result.name = std::move(name);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double gap = gap_between(static_cast<double>(computed[i]), expected[i]);
        const double size = std::abs(expected[i]);
        const double allowed = allowed_gap(expected[i], tolerance.absolute, tolerance.relative);
        if (!reach.empty() && gap > allowed && gap <= reach[i] && std::isfinite(gap)) {
            ++result.undetermined;
            continue;
        }
        const double excess = excess_of(gap, allowed);
        result.max_abs = std::max(result.max_abs, gap);
        if (size > 0) result.max_rel = std::max(result.max_rel, gap == 0 ? 0 : std::isfinite(size) ? gap / size : kInfinity);
        if (excess > result.max_excess) {
            result.max_excess = excess;
            result.worst_index = static_cast<std::int64_t>(i);
        }
    }
    result.ok = result.max_excess <= 1;
    return result;
}

CaseFile::CaseFile(ArrayFile file, Tolerance tolerance) : file_(std::move(file)), tolerance_(tolerance) {}

void CaseFile::fail(const std::string& tensor, const std::string& problem) const {
    throw FileError(FileFault::Schema, name(), "tensor " + escaped(tensor), problem);
}

const std::vector<std::int64_t>& CaseFile::sizes(const std::string& tensor, std::size_t rank) const {
    const std::vector<std::int64_t>& shape = file_.at(tensor).shape;
    if (shape.size() != rank) fail(tensor, "has shape " + shape_text(shape) + " where " + std::to_string(rank) + " axes are needed");
    for (const std::int64_t size : shape)
        if (size < 1) fail(tensor, "has shape " + shape_text(shape) + ", which holds nothing");
    return shape;
}

const NamedArray& CaseFile::array(const std::string& name, const std::vector<std::int64_t>& sizes) const {
    const NamedArray& found = file_.at(name);
    if (found.shape != sizes) fail(name, "has shape " + shape_text(found.shape) + " instead of " + shape_text(sizes));
    return found;
}

template <class Scalar>
std::vector<Scalar> CaseFile::numbers(const std::string& name, const Shape& shape) const {
    array(name, sizes_of(shape));
    return numbers<Scalar>(name);
}

template <class Scalar>
std::vector<Scalar> CaseFile::numbers(const std::string& name) const {
    const NamedArray& found = file_.at(name);
    if (!is_float(found.dtype)) fail(name, "is " + std::string(dtype_name(found.dtype)) + " where floating-point numbers are needed");
    return values_as<Scalar>(found, this->name());
}

template <class Scalar>
Tensor<Scalar> CaseFile::tensor(const std::string& name, const Shape& shape) const {
    const std::vector<Scalar> values = numbers<Scalar>(name, shape);
    Tensor<Scalar> out(shape);
    std::copy(values.begin(), values.end(), out.data());
    return out;
}

std::vector<std::int32_t> CaseFile::ids(const std::string& name, const std::vector<std::int64_t>& sizes, std::int64_t limit) const {
    const NamedArray& found = array(name, sizes);
    if (!is_integer(found.dtype)) fail(name, "is " + std::string(dtype_name(found.dtype)) + " where whole numbers are needed");
    std::vector<std::int32_t> out = values_as<std::int32_t>(found, this->name());
    for (const std::int32_t id : out)
        if (id < 0 || id >= limit) fail(name, "holds " + std::to_string(id) + ", outside 0 to " + std::to_string(limit - 1));
    return out;
}

std::vector<std::uint8_t> CaseFile::flags(const std::string& name) const {
    const NamedArray& found = file_.at(name);
    if (found.dtype != DType::Bool) fail(name, "is " + std::string(dtype_name(found.dtype)) + " where BOOL is needed");
    return values_as<std::uint8_t>(found, this->name());
}

template <class Scalar>
void CaseFile::compare(const std::string& name, const Shape& shape, std::span<const Scalar> computed, std::span<const double> reach) {
    if (name.starts_with("grad.") && !has(name)) {
        missing_gradients_.push_back(name);
        return;
    }
    const std::vector<double> expected = numbers<double>(name, shape);
    TensorResult result = compare_numbers(name, std::span<const double>(expected), computed, tolerance_, reach);
    result.shape = file_.at(name).shape;
    results_[name] = std::move(result);
}

Report CaseFile::finish(std::string module) {
    Report report{name(), std::move(module), {}};
    for (const NamedArray& array : file_.arrays) {
        const auto found = results_.find(array.name);
        if (found != results_.end()) report.tensors.push_back(std::move(found->second));
        else if (array.name.starts_with("grad.") && !has("in.grad_out") && report.module != "gpt2")
            fail(array.name, "is expected by the file, but there is no in.grad_out to start from");
        else if (array.name.starts_with("out.") || array.name.starts_with("grad."))
            fail(array.name, "is expected by the file, but a " + report.module + " has no such result");
    }
    // A file may omit all gradients, but not some: a missing one would go unnoticed.
    for (const std::string& gradient : missing_gradients_)
        for (const TensorResult& tensor : report.tensors)
            if (tensor.name.starts_with("grad.")) fail(gradient, "is missing, but not " + tensor.name);
    results_.clear();
    return report;
}

template TensorResult compare_numbers(std::string, std::span<const double>, std::span<const float>, Tolerance, std::span<const double>);
template TensorResult compare_numbers(std::string, std::span<const double>, std::span<const double>, Tolerance, std::span<const double>);
template std::vector<float> CaseFile::numbers(const std::string&, const Shape&) const;
template std::vector<double> CaseFile::numbers(const std::string&, const Shape&) const;
template std::vector<float> CaseFile::numbers(const std::string&) const;
template std::vector<double> CaseFile::numbers(const std::string&) const;
template Tensor<float> CaseFile::tensor(const std::string&, const Shape&) const;
template Tensor<double> CaseFile::tensor(const std::string&, const Shape&) const;
template void CaseFile::compare(const std::string&, const Shape&, std::span<const float>, std::span<const double>);
template void CaseFile::compare(const std::string&, const Shape&, std::span<const double>, std::span<const double>);

}  // namespace attn::check
