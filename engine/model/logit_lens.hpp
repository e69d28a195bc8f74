#pragma once
/// What every layer would predict: the model's own final norm and output head, applied to the residual stream after each layer
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

/// One position after one layer.
struct LensCell {
    std::array<LensPrediction, kLensPredictions> top{};  ///< likeliest first, the lower id where two are equal; see `count`
    int count = 0;                                       ///< of `top`: less where the vocabulary is smaller; 0 where a logit is NaN
    /// The token that really follows; -1 at the end of a text and in its padding.
    std::int32_t next = -1;
    float next_probability = 0;
    std::int64_t next_rank = 0;  ///< 1: nothing is likelier; 0 where nothing follows
};

struct LogitLens {
    std::vector<StageId> stages;  ///< the embedding, then the residual stream after each layer
    std::int64_t batches = 0, positions = 0;
    std::vector<LensCell> cells;      ///< [stages,B,T]
    std::vector<std::uint8_t> known;  ///< [stages]: 1 where the cells are computed; all are in the end
    const LensCell& at(std::size_t stage, std::int64_t b, std::int64_t t) const {
        return cells[static_cast<std::size_t>((static_cast<std::int64_t>(stage) * batches + b) * positions + t)];
    }
};

/// The embedding and each layer's last stage (residual_2, or what takes its place in a model without it) of the stack that predicts.
std::vector<StageId> lens_stages(const Config& config);

/// Logits that the model's head gives for the recorded `stream` [B,T,C] -> [B,T,V]. For the last of lens_stages() they are the recorded
/// logits bit for bit, unless the final norm or the logits were edited. Throws ConfigError for a model without a head, Error for a stage
/// that was not recorded, ShapeError for one that is not [B,T,C].
template <class Scalar>
Tensor<Scalar> lens_logits(const Trace<Scalar>& trace, const StageId& stream);

/// Calls each(first, logits [1,rows,V]) for rows [first, first + count) of such a stream, some at a time. Throws as lens_logits() does.
void show_logits(const Trace<float>& trace, const StageId& stream, std::int64_t first, std::int64_t count,
                 const std::function<void(std::int64_t first, const Tensor<float>& logits)>& each);

/// Called after every layer with what is known by then.
using LensProgress = std::function<void(const LogitLens& so_far)>;

/// All layers, the last one first, whose predictions are the model's own. Throws as lens_logits() does, Cancelled once `stop` is requested.
LogitLens logit_lens(const Trace<float>& trace, const std::stop_token& stop = {}, const LensProgress& each = {});

}  // namespace attn
