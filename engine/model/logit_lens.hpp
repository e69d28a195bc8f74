#pragma once
/// Logit lens: what the model would predict after every layer, by applying its own final norm and output head to the residual stream
/// (nostalgebraist, "interpreting GPT: the logit lens", 2020).

#include <array>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

inline constexpr int kLensPredictions = 5;

struct LensPrediction {
    std::int32_t token = 0;
    float probability = 0;
};

/// A position after a layer.
struct LensCell {
    std::array<LensPrediction, kLensPredictions> top{};  ///< the first `count` are valid: likeliest first, the lower id if equal
    int count = 0;                                       ///< less than kLensPredictions if the vocabulary is smaller; 0 if a logit is NaN
    /// The token that actually follows, of an encoder the one that stands there; -1 at the end of a text and in its padding.
    std::int32_t next = -1;
    float next_probability = 0;
    std::int64_t next_rank = 0;  ///< 1: no token is likelier; 0 if nothing follows
};

struct LogitLens {
    std::vector<StageId> stages;  ///< the embedding, then the residual stream after each layer
    std::int64_t batches = 0, positions = 0;
    std::vector<LensCell> cells;      ///< [stages,B,T]
    std::vector<std::uint8_t> known;  ///< [stages]: 1 if the stage's cells are computed; in the end all are
    const LensCell& at(std::size_t stage, std::int64_t b, std::int64_t t) const {
        return cells[static_cast<std::size_t>((static_cast<std::int64_t>(stage) * batches + b) * positions + t)];
    }
};

/// The embedding and the last stage of each layer (residual_2, or its replacement) in the stack that predicts.
std::vector<StageId> lens_stages(const Config& config);

/// Logits of the recorded `stream` [B,T,C] -> [B,T,V] by the model's own head. For the last of lens_stages() they are bit-identical to the
/// recorded logits unless the final norm or the logits were edited. Throws ConfigError for a model without a head, Error for a stage that
/// was not recorded, ShapeError for one that is not [B,T,C].
template <class Scalar>
Tensor<Scalar> lens_logits(const Trace<Scalar>& trace, const StageId& stream);

/// Calls each(first, logits [1,rows,V]) for rows [first, first + count) of such a stream, some at a time. Throws like lens_logits().
void show_logits(const Trace<float>& trace, const StageId& stream, std::int64_t first, std::int64_t count,
                 const std::function<void(std::int64_t first, const Tensor<float>& logits)>& each);

/// Called after every layer with the results so far.
using LensProgress = std::function<void(const LogitLens& so_far)>;

/// The lens for all layers, starting with the last, whose predictions are the model's own. Throws like lens_logits(), and Cancelled once
/// `stop` is requested.
LogitLens logit_lens(const Trace<float>& trace, const std::stop_token& stop = {}, const LensProgress& each = {});

}  // namespace attn
