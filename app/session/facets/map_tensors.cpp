#include "app/session/values/map_tensors.hpp"

#include "app/session/facets/ask.hpp"
#include "app/session/facets/asked_parts.hpp"
#include "app/session/facets/work.hpp"
#include "engine/model/value_norms.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

Job<Tensor<float>> facet::HeadMean::make(const HeadMean& wanted, Ask& ask) {
    const auto held = wanted.part ? ask_part(ask, ask.state(), ask.pass_to(wanted.stage), wanted.part) : ask_around(ask, wanted.stage);
    return [wanted, held](const Work&) {
        const RecordedStage<float>* stage = held->trace->find(wanted.stage);
        if (stage == nullptr) throw Error("this model has no stage " + tensor_name(wanted.stage));
        return head_mean(*stage);
    };
}

Job<Tensor<float>> facet::ValueNorms::make(const ValueNorms& wanted, Ask& ask) {
    const auto held = ask_around(ask, values_of(wanted.weights), {}, MapsWanted::Reduced);
    return [wanted, held](const Work&) { return value_norms(*held->trace, wanted.weights); };
}

}  // namespace attn::app
