#pragma once
/// A model's parameters found once by name and held as pointers, in the shape of the model.

#include <type_traits>
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
    /// The weight and its transpose as Kernels::pack_b() leaves them; null where nobody packed them.
    const std::remove_const_t<Value>*packed = nullptr, *packed_across = nullptr;
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

/// Calls f(linear weights) for all that the layers have.
template <class Model, class F>
void for_each_linear(Model& model, const F& f) {
    for (auto* stack : {&model.encoder, &model.main})
        for (auto& layer : stack->layers)
            for (auto* linear : {&layer.self.qkv, &layer.self.out, &layer.cross.q, &layer.cross.kv, &layer.cross.out,
                                 &layer.feed_forward.in, &layer.feed_forward.out})
                if (linear->weight != nullptr) f(*linear);
}

template <class Scalar>
ModelWeights<const Scalar> weights_of(const Parameters<Scalar>& parameters);
template <class Scalar>
ModelWeights<Scalar> weights_of(Parameters<Scalar>& parameters);

}  // namespace attn
