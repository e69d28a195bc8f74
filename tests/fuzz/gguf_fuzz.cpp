/// Arbitrary bytes as a GGUF file: refused with an Error, or read with its tokenizer and with every tensor inside the file.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/tokenizer/gguf_tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        attn::MemoryInput source(std::as_bytes(std::span(data, size)), "input");
        const attn::GgufFile file = attn::GgufFile::read(source);
        for (const attn::GgufTensor& tensor : file.tensors())
            if (tensor.begin > tensor.end || tensor.end > size) std::abort();
        attn::read_gguf_tokenizer(file)->encode("The cat sat on the mat, 12 times.");
    } catch (const attn::Error&) {
    }
    return 0;
}
