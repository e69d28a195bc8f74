#pragma once
/// ALiBi slopes (Press et al., 2022): how much each head's scores fall per position between query and key.

#include <cstdint>
#include <vector>

namespace attn {

/// [H]: 2^(-8k/n) for k = 1..n, with n the largest power of two up to `heads`; the remaining heads get 2^(-4(2j+1)/n), j = 0, 1, ...
/// (huggingface/transformers, models/bloom).
std::vector<double> alibi_slopes(std::int64_t heads);

}  // namespace attn
