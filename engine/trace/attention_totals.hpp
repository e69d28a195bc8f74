#pragma once
/// Attention between tokens, totalled over all heads and over the layers of a stack.

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/trace/token_map.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The mean over heads of weights [B,H,T,S] -> [B,T,S], summed in double. Masked weights and fully masked rows count as 0. Throws
/// ShapeError if the stage is not an attention map.
Tensor<float> head_mean(const RecordedStage<float>& weights);

/// Self-attention of one stack, layer by layer. T = S positions.
struct AttentionTotals {
    Stack stack = Stack::Main;
    std::vector<TokenMap> head_means;  ///< [L]: A_l, the mean over the heads of layer l
    /// [L]: attention rollout up to and including layer l (Abnar and Zuidema, "Quantifying Attention Flow in Transformers",
    /// 2020): R_l = Ã_l R_(l-1), R_(-1) = I, where Ã_l is 0.5 A_l + 0.5 I with each row divided by its sum; the 0.5 I stands for the
    /// residual stream. A fully masked row of A_l passes its token on unchanged; a row with NaN stays NaN.
    std::vector<TokenMap> rollouts;
    /// [L]: rollouts and means of a long text, reduced, instead of the two fields above; see totals_in_rows().
    std::vector<ReducedMap> reduced_rollouts{}, reduced_means{};

    std::size_t layers() const { return std::max(rollouts.size(), reduced_rollouts.size()); }
};

/// The mean of A_0 to A_`layer` in one sequence -> [T,T] row by row, summed in double.
std::vector<float> mean_of_layers(const AttentionTotals& totals, std::size_t layer, std::int64_t sequence);

/// One row of Ã: 0.5 a + 0.5 at position t, divided by the sum; all 0 if the sum is 0.
///   a [positions], t < positions  ->  [positions]
std::vector<double> with_residual(const float* a, std::int64_t positions, std::int64_t t);

/// AttentionTotals built layer by layer, for traces that are never in memory as a whole.
class TotalsOfLayers {
public:
    explicit TotalsOfLayers(Stack stack) { totals_.stack = stack; }
    /// Adds the next layer: the mean over its heads, [B,T,S].
    void add(const Tensor<float>& head_mean);
    AttentionTotals take() { return std::move(totals_); }

private:
    AttentionTotals totals_;
    Tensor<double> rollout_;  // after the last layer, in full precision
    bool is_lower_ = true;    // whether it is 0 above the diagonal
};

/// Throws Error if the stack's weights were not recorded, Cancelled once `stop` is requested.
AttentionTotals attention_totals(const Trace<float>& trace, Stack stack, const std::stop_token& stop = {});

}  // namespace attn
