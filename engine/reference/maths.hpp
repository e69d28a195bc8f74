#pragma once
/// The building blocks of a transformer as plain double loops, each with its formula.
///
/// Written to be easily verified, not to be fast; nothing here calls the engine's fast path.

#include <stop_token>

#include "engine/plan/buckets.hpp"
#include "engine/plan/config.hpp"
#include "engine/plan/rotary.hpp"
#include "engine/reference/permissions.hpp"
#include "engine/tensor/matrix_view.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn::reference {

/// A linear map y = x W + b, in any storage. `bias` may be null.
struct LinearMap {
    MatrixView weight;
    const double* bias = nullptr;
};

/// x [B,T,in] -> [B,T,out]; `out` is the axis and number of outputs. Converts some columns of W at a time, because the whole matrix in
/// double would need more memory than everything it is multiplied with. Throws Cancelled once `stop` is requested.
Tensor<double> linear(const Tensor<double>& x, const LinearMap& map, Dim out, const std::stop_token& stop = {});
/// packed [B,P,N=HD] -> [B,H,P,D], from column h D + d. `heads` is the second axis (H, or G for keys and values), `position` the third: T
/// for queries, S for keys and values.
Tensor<double> split_heads(const Tensor<double>& packed, Dim heads, Axis position);

/// Over the last axis: γ (x - mean) / √(variance + eps) + β, with the biased variance (Ba et al., 2016).
Tensor<double> layer_norm(const Tensor<double>& x, const double* gamma, const double* beta, double eps);
/// Over the last axis: (γ + plus) x / √(mean(x²) + eps) (Zhang and Sennrich, 2019).
Tensor<double> rms_norm(const Tensor<double>& x, const double* gamma, double eps, double plus = 0);
/// The same for [B,H,P,D], over the numbers of all heads of a position, with gain γ[h D + d].
Tensor<double> rms_norm_of_all_heads(const Tensor<double>& x, const double* gamma, double eps, double plus = 0);
/// ReLU max(0,x); GELU x Φ(x), exact or by tanh (Hendrycks and Gimpel, 2016); SiLU x / (1 + exp(-x)) (Elfwing et al., 2018).
double activate(Activation activation, double x);
/// Element-wise product of two tensors of the same shape.
Tensor<double> product(const Tensor<double>& a, const Tensor<double>& b);
/// RoPE (Su et al., 2021) on halves: x [B,H,P,D]; in the first n numbers of position p, pair (i, i + n/2) is rotated by p base^(-2i/n),
/// with frequency scaling and amplitude as the rule says for a text of `tokens` tokens. The other numbers are copied. `first` is the
/// position of the first row.
Tensor<double> rotated(const Tensor<double>& x, const RotaryRule& rule, std::int64_t first, std::int64_t tokens);
/// cap tanh(x / cap)
double capped(double x, double cap);
/// ALiBi (Press et al., 2022): scaled [B,H,T,S] minus factor slope(h) (t - s). With n the largest power of two up to H, the slopes are
/// 2^(-8/n), 2^(-16/n), ...; heads from n on use every other slope of a model with 2n heads. `first` is the position of the first query.
Tensor<double> lowered_by_distance(const Tensor<double>& scaled, double factor = 1, std::int64_t first = 0);
/// T5 (Raffel et al., 2020): scaled [B,H,T,S] plus table[bucket of s - t][h], table [buckets,H]; `first` is the position of the first
/// query.
Tensor<double> biased_by_range(const Tensor<double>& scaled, const double* table, const BucketRule& rule, std::int64_t first = 0);

/// q [B,H,T,D], k [B,G,S,D] -> Σ_d q k [B,H,T,S]. G divides H: query head h uses key head h / (H/G) (Ainslie et al., 2023).
Tensor<double> attention_scores(const Tensor<double>& q, const Tensor<double>& k);
/// scaled + bias; -inf where attention is not allowed
Tensor<double> apply_mask(const Tensor<double>& scaled, const Permissions& permissions);
/// Softmax of masked / temperature over the keys that may be attended to. Masked cells, and rows without a finite score, are 0.
Tensor<double> attention_weights(const Tensor<double>& masked, const Permissions& permissions, double temperature);
/// Sets weights to 0 where attention is not allowed, after the softmax: the mistake of masking too late.
void forget_forbidden(Tensor<double>& weights, const Permissions& permissions);
/// Softmax over the queries that may attend to a key: the mistake of the wrong axis.
Tensor<double> weights_over_queries(const Tensor<double>& masked, const Permissions& permissions, double temperature);
/// weights [B,H,T,S], v [B,G,S,D] -> Σ_s weights v [B,H,T,D] over the keys that may be attended to; heads as in attention_scores()
Tensor<double> weighted_values(const Tensor<double>& weights, const Tensor<double>& v, const Permissions& permissions);
/// [B,H,T,D] -> [B,T,C=HD], head after head
Tensor<double> concat_heads(const Tensor<double>& context);
/// [B,P,N=HD] -> [B,H,P,D] in memory order: the mistake of splitting without a transpose.
Tensor<double> heads_in_order(const Tensor<double>& packed, Dim heads, Axis position);
/// [B,H,T,D] -> [B,T,C=HD] in memory order: the mistake of joining without a transpose.
Tensor<double> concat_in_order(const Tensor<double>& context);
/// Softmax over the last axis.
Tensor<double> softmax(const Tensor<double>& x);

}  // namespace attn::reference
