#pragma once
/// The user's edits, applied cell by cell; shares only the meaning of an Edit with engine/trace, no code.

#include <vector>

#include "engine/reference/permissions.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/trace/edit.hpp"

namespace attn::reference {

/// Applies a stage's edits to `value`, its rows from `first_row` on. `permissions` is null for stages without a mask.
Tensor<double> edited(const std::vector<Edit>& edits, const StageId& id, Tensor<double> value, const Permissions* permissions,
                      std::int64_t first_row = 0);

}  // namespace attn::reference
