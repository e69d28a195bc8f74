/// Arbitrary bytes as a model in a GGUF file: refused with an Error, or opened so that all weights can be read in place, and run on a few
/// words and on a single one.

#include <cstddef>
#include <cstdint>

#include "engine/families/model_folder.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"
#include "tests/fuzz/scratch_file.hpp"

namespace {

void read_corners(const attn::Parameters<float>& parameters) {
    for (const attn::ParameterInfo& entry : parameters.layout().entries()) {
        parameters.number(entry, 0);
        parameters.number(entry, entry.shape.count() - 1);
        parameters.copy(entry);
    }
}

void run(const std::shared_ptr<const attn::Parameters<float>>& parameters, std::int64_t length) {
    const attn::Config& config = parameters->config();
    attn::TokenBatch tokens{.length = length, .ids = {}, .lengths = {length}};
    for (std::int64_t i = 0; i < length; ++i) tokens.ids.push_back(static_cast<std::int32_t>((i * 7 + 1) % config.vocab_size));
    const bool encoder = config.architecture == attn::Architecture::EncoderDecoder;
    attn::trace_forward<float>(parameters, tokens, encoder ? tokens : attn::TokenBatch(), attn::ForwardSettings());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const attn::test::ScratchFile file(".gguf");
    file.fill(data, size);
    try {
        const auto parameters = attn::load_parameters<float>(attn::open_model_folder(file.path()));
        read_corners(*parameters);
        for (const std::int64_t length : {3, 1}) run(parameters, length);
    } catch (const attn::Error&) {
    }
    return 0;
}
