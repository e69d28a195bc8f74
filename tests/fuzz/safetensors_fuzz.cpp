/// Arbitrary bytes as a .safetensors file: refused with an Error, or round-tripped without changes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/io/safetensors.hpp"
#include "tests/fuzz/scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    attn::ArrayFile file;
    try {
        attn::MemoryInput source(std::as_bytes(std::span(data, size)), "input");
        file = attn::read_safetensors(source);
    } catch (const attn::Error&) {
        return 0;
    }
    // What was accepted must be writable: an Error from here on is a finding.
    const attn::test::ScratchFile again;
    attn::write_safetensors(again.path(), file);
    const attn::ArrayFile back = attn::read_safetensors(again.path());
    if (back.metadata != file.metadata || back.arrays != file.arrays) std::abort();
    return 0;
}
