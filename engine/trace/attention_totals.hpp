#pragma once
/// Attention from token to token over all heads, and over all layers of a stack.

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

/// The mean over the heads of weights [B,H,T,S] -> [B,T,S], summed in double. A masked weight is 0, as is a fully masked row.
/// Throws ShapeError for a stage that is no attention map.
Tensor<float> head_mean(const RecordedStage<float>& weights);

/// Self-attention of one stack, layer by layer. T = S positions.
struct AttentionTotals {
    Stack stack = Stack::Main;
    std::vector<Tensor<float>> head_means;  ///< [L] of [B,T,S]: A_l, the mean over the heads of layer l
    /// [L] of [B,T,S]: attention rollout up to and with layer l (Abnar and Zuidema, "Quantifying Attention Flow in Transformers", 2020):
    /// R_l = Ã_l R_(l-1), R_(-1) = I, Ã_l = rows of 0.5 A_l + 0.5 I divided by their sums. Half of every token comes from its own
    /// residual stream. A fully masked row of A_l passes its token on unchanged; a row that holds no number stays none.
    std::vector<Tensor<float>> rollouts;
    std::vector<Tensor<float>> means;  ///< [L] of [B,T,S]: the mean of A_0 to A_l
    /// [L]: of a long text the same two, reduced, in place of the three; see totals_in_rows().
    std::vector<ReducedMap> reduced_rollouts{}, reduced_means{};

    std::size_t layers() const { return std::max(rollouts.size(), reduced_rollouts.size()); }
};

/// Ã of one row: 0.5 a + 0.5 at the own position, divided by the sum; all 0 where that sum is 0.
///   a [positions], t < positions  ->  [positions]
std::vector<double> with_residual(const float* a, std::int64_t positions, std::int64_t t);

/// The same, one layer after the other: for traces of which not everything is held at once.
class TotalsOfLayers {
public:
    explicit TotalsOfLayers(Stack stack) { totals_.stack = stack; }
    /// The next layer's mean over its heads [B,T,S].
    void add(Tensor<float> head_mean);
    AttentionTotals take() { return std::move(totals_); }

private:
    AttentionTotals totals_;
    Tensor<double> rollout_, sum_;
};

/// Throws Error for a stack whose weights were not recorded, Cancelled once `stop` is requested.
AttentionTotals attention_totals(const Trace<float>& trace, Stack stack, const std::stop_token& stop = {});

}  // namespace attn
