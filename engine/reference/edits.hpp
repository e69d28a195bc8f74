#pragma once
/// A person's edits, applied cell by cell; shares nothing with engine/trace's way of doing it but the meaning of an Edit.

#include <vector>

#include "engine/reference/permissions.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/trace/edit.hpp"

namespace attn::reference {

/// `value`, the rows of a stage from `first_row` on, as the edits of the stage leave it. `permissions` is null for stages without a mask.
Tensor<double> edited(const std::vector<Edit>& edits, const StageId& id, Tensor<double> value, const Permissions* permissions,
                      std::int64_t first_row = 0);

}  // namespace attn::reference
