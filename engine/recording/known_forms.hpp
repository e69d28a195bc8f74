#pragma once
/// Which norm, which activation, which positions: told by what gives the recorded numbers.

#include <optional>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/recording/numbers.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

struct NormForm {
    bool has_mean;
    double eps;
    double far = 0;  ///< the largest distance of a recorded number from what it gives
};

/// The form that all norms of a model have.
class KnownNorms {
public:
    /// Keeps the forms that give `result`; false if none does. Throws NotComputed if the sizes do not fit.
    bool keep(const RecordedStage& norm, const Numbers& before, const Numbers& result, NormRule rule);
    /// The form that comes closest; null if there was no norm.
    const NormForm* best() const;

private:
    std::optional<std::vector<NormForm>> forms_;
};

/// The activation of all feed-forward layers of a model.
class KnownCurves {
public:
    /// Keeps those that give `result`, times `gated` if it is given; false if none does. Throws NotComputed if the sizes do not fit.
    bool keep(const Numbers& before, const Numbers* gated, const Numbers& result);
    Activation best() const { return forms_.front().activation; }

private:
    struct Form {
        Curve curve;
        Activation activation;
    };
    std::vector<Form> forms_{{Curve::Relu, Activation::Relu},
                             {Curve::Gelu, Activation::GeluErf},
                             {Curve::GeluTanh, Activation::GeluTanh},
                             {Curve::Silu, Activation::Silu}};
};

/// Whether rows of positions are those of Vaswani et al. (2017), from position 0 on.
bool is_sines_and_cosines(const Numbers& rows);

}  // namespace attn::recording
