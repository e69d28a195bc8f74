#pragma once
/// Reads the numbers of a checkpoint's tensor, whatever type they are stored as.

#include <vector>

#include "engine/io/weight_files.hpp"

namespace attn {

/// All numbers in file order, replacing the contents of `out`. Throws FileError(Range) naming a number that Scalar cannot represent, or a
/// block whose scale is infinite or NaN.
template <class Scalar>
void copy_tensor(const WeightFiles& files, const WeightFiles::Tensor& tensor, std::vector<Scalar>& out);

/// Throws FileError(Range) naming the first block whose scale is infinite or NaN.
void expect_scales(const WeightFiles& files, const WeightFiles::Tensor& tensor);

}  // namespace attn
