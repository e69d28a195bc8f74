#pragma once
/// AdamW: Adam (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter, 2019), as torch.optim.AdamW computes it.

#include <cstdint>

#include "engine/train/run_settings.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// Throws ConfigError for a beta outside [0, 1), an eps that is not above 0, or a negative or infinite decay.
void require_adamw(const AdamwSettings& settings);

/// The optimizer's state for one set of parameters.
template <class Scalar>
class Adamw {
public:
    explicit Adamw(const ParameterLayout& layout);

    /// p = p (1 - rate decay); g = gradient_factor gradient; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
    /// p = p - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps), where t counts the steps from 1.
    /// Throws ConfigError like require_adamw(), and for a rate that is negative or not finite, or a factor that is not finite.
    void step(const AdamwSettings& settings, double rate, double gradient_factor, const Parameters<Scalar>& gradients,
              Parameters<Scalar>& parameters);

    std::int64_t steps() const { return steps_; }
    /// First and second moments, laid out like the parameters, for checkpoints.
    AlignedVector<Scalar>& first_moments() { return m_; }
    AlignedVector<Scalar>& second_moments() { return v_; }
    const AlignedVector<Scalar>& first_moments() const { return m_; }
    const AlignedVector<Scalar>& second_moments() const { return v_; }
    void set_steps(std::int64_t steps) { steps_ = steps; }

private:
    AlignedVector<Scalar> m_, v_;
    std::int64_t steps_ = 0;
};

/// Euclidean norm of all gradients together, in double.
template <class Scalar>
double gradient_norm(const Parameters<Scalar>& gradients);

/// The factor that limits gradients of this norm to `limit`: min(1, limit / (norm + 1e-6)), like torch's clip_grad_norm_. A limit of 0
/// switches clipping off. Throws ConfigError for a negative limit or NaN.
double clip_factor(double norm, double limit);

}  // namespace attn
