#pragma once
/// Slopes of ALiBi (Press et al. 2022): how much each head's scores fall with the distance of query and key.

#include <cstdint>
#include <vector>

namespace attn {

/// [H]: 2^(-8k/n) for k = 1..n, n the largest power of two up to `heads`; for the heads that are left 2^(-4(2j+1)/n), j from 0
/// (huggingface/transformers, models/bloom).
std::vector<double> alibi_slopes(std::int64_t heads);

}  // namespace attn
