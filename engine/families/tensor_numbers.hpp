#pragma once
/// The numbers of a checkpoint's tensor, whatever they are stored as.

#include <vector>

#include "engine/io/weight_files.hpp"

namespace attn {

/// All of them in the order of the file, replacing what `out` holds. Throws FileError(Range) naming a number that cannot be a Scalar, or a
/// block that has no scale to multiply its numbers by.
template <class Scalar>
void copy_tensor(const WeightFiles& files, const WeightFiles::Tensor& tensor, std::vector<Scalar>& out);

/// Throws FileError(Range) naming the first block whose scale is infinite or not a number.
void expect_scales(const WeightFiles& files, const WeightFiles::Tensor& tensor);

}  // namespace attn
