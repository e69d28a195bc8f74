#include "app/session/values/sample.hpp"

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {
namespace {

void expect_to_write_on(const Trace<float>& trace) {
    const bool writes = trace.config.architecture != Architecture::Encoder && trace.config.lm_head && trace.settings.masks.causal;
    if (!writes) throw Error("only a causal model with an output head can continue a text");
    if (trace.config.architecture == Architecture::EncoderDecoder && trace.source_tokens.lengths.at(0) == 0)
        throw Error("there is nothing to translate");
    if (trace.tokens.lengths.at(0) == 0) throw Error("there is no text to continue");
}

}  // namespace

Job<Sample> facet::Sample::make(const Sample& wanted, Ask& ask) {
    return [wanted, pass = ask(Trace{})](const Work& work) {
        expect_to_write_on(*pass->trace);
        app::Sample sample;
        sample.trained_step = pass->trained_step;
        const std::string_view between = conventions_of(*pass->state->setup).between;
        for (const std::int32_t id : work.engine.sample(*pass->trace, wanted.sampling, work.stop)) {
            const std::string& symbol = pass->vocabulary.at(static_cast<std::size_t>(id));
            sample.text.append(between).append(symbol);
            sample.tokens.push_back({symbol, id, false, false});
        }
        return sample;
    };
}

}  // namespace attn::app
