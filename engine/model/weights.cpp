#include "engine/model/weights.hpp"

#include <string>

namespace attn {
namespace {

template <class Value, class Source>
class Finder {
public:
    explicit Finder(Source& parameters) : parameters_(parameters) {}

    NormWeights<Value> norm(const std::string& name) const { return {find(name + ".weight"), find(name + ".bias")}; }
    LinearWeights<Value> linear(const std::string& name) const { return {find(name + ".weight"), find(name + ".bias")}; }
    Value* find(const std::string& name) const { return parameters_.find(name); }

    LayerWeights<Value> layer(const std::string& prefix) const {
        LayerWeights<Value> out;
        out.self.norm = norm(prefix + "norm_1");
        out.self.qkv = linear(prefix + "attention.qkv");
        out.self.out = linear(prefix + "attention.out");
        out.cross.norm = norm(prefix + "cross_norm");
        out.cross.q = linear(prefix + "cross_attention.q");
        out.cross.kv = linear(prefix + "cross_attention.kv");
        out.cross.out = linear(prefix + "cross_attention.out");
        out.feed_forward.norm = norm(prefix + "norm_2");
        out.feed_forward.in = linear(prefix + "ffn.in");
        out.feed_forward.out = linear(prefix + "ffn.out");
        return out;
    }

    StackWeights<Value> stack(const std::string& prefix) const {
        StackWeights<Value> out;
        for (std::int64_t i = 0; i < parameters_.config().num_layers; ++i)
            out.layers.push_back(layer(prefix + "layers." + std::to_string(i) + "."));
        out.final_norm = norm(prefix + "final_norm");
        return out;
    }

    ModelWeights<Value> model() const {
        ModelWeights<Value> out;
        out.token_embedding = find("token_embedding.weight");
        out.position_embedding = find("position_embedding.weight");
        const bool both = parameters_.config().architecture == Architecture::EncoderDecoder;
        if (both) out.encoder = stack("encoder.");
        out.main = stack(both ? "decoder." : "");
        out.lm_head = find("lm_head.weight");
        return out;
    }

private:
    Source& parameters_;
};

}  // namespace

template <class Scalar>
ModelWeights<const Scalar> weights_of(const Parameters<Scalar>& parameters) {
    return Finder<const Scalar, const Parameters<Scalar>>(parameters).model();
}

template <class Scalar>
ModelWeights<Scalar> weights_of(Parameters<Scalar>& parameters) {
    return Finder<Scalar, Parameters<Scalar>>(parameters).model();
}

template ModelWeights<const float> weights_of<float>(const Parameters<float>&);
template ModelWeights<const double> weights_of<double>(const Parameters<double>&);
template ModelWeights<float> weights_of<float>(Parameters<float>&);
template ModelWeights<double> weights_of<double>(Parameters<double>&);

}  // namespace attn
