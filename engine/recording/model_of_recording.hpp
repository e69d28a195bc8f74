#pragma once
/// A recording of somebody's own code as a model of ours: the same parameters and the same arithmetic, proved by the recorded numbers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/recording/recording.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::recording {

struct RecordedModel {
    Config config;
    std::shared_ptr<const Parameters<float>> parameters;
    TokenBatch tokens;               ///< what was recorded; padding holds the ids that the code has there
    TokenBatch source;               ///< what the encoder of an encoder-decoder read
    bool causal = false;             ///< whether the (decoder's) own attention hides what follows
    std::vector<std::string> words;  ///< the text of every id, "" where none was recorded; empty if an id has several
    bool of_vectors = false;         ///< token i is the i-th different vector that the layers were given
    bool without_head = false;       ///< the output head was left out, because it knows no vectors
    std::size_t compared = 0;        ///< stages that were recorded, all of which our model computes alike
    double farthest = 0;             ///< the largest distance of a number from the recorded one, as a part of its stage's largest number

    /// "All 46 stages of layers 0 to 1 equal the recording within 3e-07 of each stage's largest number."
    std::string proof() const;
};

/// Makes a model of a step (the newest if none is asked for), runs it on what was recorded, and compares every stage, number by number. How
/// far rounding may take a number is measured: by the difference between the same pass in float and in double. Throws Error in one
/// sentence: what has no place in a model of ours, or the first stage that differs; FileError if the step cannot be read; Cancelled.
RecordedModel model_of_recording(const Recording& recording, std::optional<std::int64_t> step = {}, const std::stop_token& stop = {});

}  // namespace attn::recording
