#pragma once
/// Finds the parts of a model of ours in the graph of a recording: what it computes, its parameters, and where each stage was recorded. For
/// model_of_recording.hpp.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/recording/follow.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"
#include "engine/recording/stage_pair.hpp"
#include "engine/tensor/token_batch.hpp"

namespace attn::recording {

/// A parameter, row-major; linear maps are [in,out], biases and gains a single row.
struct FoundMatrix {
    std::int64_t rows = 0, columns = 0;
    std::vector<double> values;
};

struct ModelParts {
    Config config;
    std::map<std::string, FoundMatrix> parameters;  ///< by our names; a bias that the code lacks is missing
    std::vector<StagePair> stages;                  ///< those of the recording that our model has, too
    TokenBatch tokens;                              ///< what was recorded
    TokenBatch source;                              ///< what the encoder of an encoder-decoder read
    bool causal = false;                            ///< whether the (decoder's) own attention hides what follows
    bool of_vectors =
        false;  ///< the code was given vectors, or has a table for each of two texts: token i is the i-th different one of them
    bool without_head = false;  ///< the output head was left out, because it knows no vectors
};

/// Reads parameters and numbers, but does not prove anything. Throws Error in one sentence that names the attention, operation or line that
/// no model of ours has, FileError if the step cannot be read.
ModelParts find_model_parts(const RecordedGraph& graph, const RecordedStep& step, const FindParameter& parameter);

}  // namespace attn::recording
