/// Arbitrary bytes as a document: refused with an Error, or round-tripped without changes, and computed if that is cheap.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "app/session/document/document_json.hpp"
#include "app/session/document/prepare.hpp"
#include "engine/model/knock_out.hpp"
#include "engine/model/transformer.hpp"
#include "engine/weights/parameters.hpp"

namespace {

/// What the workers do with an opened document.
void compute(const attn::app::Document& document) {
    constexpr double kLittle = 0.25;  // MiB
    const attn::app::Prepared prepared = attn::app::prepare(document);
    if (!(prepared.size.whole + prepared.size.parameters <= kLittle)) return;
    auto parameters = std::make_shared<const attn::Parameters<float>>(attn::initial_parameters<float>(prepared.config));
    const attn::Trace<float> trace = attn::trace_forward<float>(parameters, prepared.tokens, prepared.source, document.forward);
    if (!trace.config.lm_head) return;
    attn::trace_gradients<float>(*parameters, trace.tokens, trace.source_tokens, attn::next_tokens(trace.tokens), trace.settings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    attn::app::Document document;
    try {
        document = attn::app::document_from_json(text, "input");
    } catch (const attn::Error&) {
        return 0;
    }
    attn::app::Document back = attn::app::document_from_json(attn::app::document_to_json(document), "again");
    if ((back.run.task.text == nullptr) != (document.run.task.text == nullptr) ||
        (back.run.task.text != nullptr && *back.run.task.text != *document.run.task.text))
        std::abort();
    back.run.task.text = document.run.task.text;  // compared by identity
    if (!(back == document)) std::abort();
    try {
        compute(document);
    } catch (const attn::Error&) {
    }
    return 0;
}
