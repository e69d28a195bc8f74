#pragma once
/// A model's parameters found once by name and held as pointers, in the shape of the model.

#include <vector>

#include "engine/model/parameters.hpp"

namespace attn {

/// Pointers of `Value` (float, const float, ...) into a Parameters' buffer; null where the model has no such parameter.
template <class Value>
struct NormWeights {
    Value *gain = nullptr, *bias = nullptr;
};

template <class Value>
struct LinearWeights {
    Value *weight = nullptr, *bias = nullptr;
};

template <class Value>
struct AttentionWeights {
    NormWeights<Value> norm;
    LinearWeights<Value> qkv;    ///< self-attention: [C,3HD]
    LinearWeights<Value> q, kv;  ///< cross-attention: [C,HD], [C,2HD]
    LinearWeights<Value> out;    ///< [HD,C]
};

template <class Value>
struct FeedForwardWeights {
    NormWeights<Value> norm;
    LinearWeights<Value> in, out;
};

template <class Value>
struct LayerWeights {
    AttentionWeights<Value> self, cross;
    FeedForwardWeights<Value> feed_forward;
};

template <class Value>
struct StackWeights {
    std::vector<LayerWeights<Value>> layers;
    NormWeights<Value> final_norm;
};

template <class Value>
struct ModelWeights {
    Value *token_embedding = nullptr, *position_embedding = nullptr;
    StackWeights<Value> encoder;  ///< of an encoder-decoder
    StackWeights<Value> main;     ///< the decoder of an encoder-decoder, else the only stack
    Value* lm_head = nullptr;     ///< untied
};

template <class Scalar>
ModelWeights<const Scalar> weights_of(const Parameters<Scalar>& parameters);
template <class Scalar>
ModelWeights<Scalar> weights_of(Parameters<Scalar>& parameters);

}  // namespace attn
