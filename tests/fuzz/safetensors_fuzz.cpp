/// Any bytes as a .safetensors file: refused with an Error, or read, written again and read back equal.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/io/safetensors.hpp"
#include "tests/fuzz/scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        attn::MemoryInput source(std::as_bytes(std::span(data, size)), "input");
        const attn::ArrayFile file = attn::read_safetensors(source);
        const attn::test::ScratchFile again;
        attn::write_safetensors(again.path(), file);
        const attn::ArrayFile back = attn::read_safetensors(again.path());
        if (back.metadata != file.metadata || back.arrays.size() != file.arrays.size()) std::abort();
        for (const attn::NamedArray& array : file.arrays)
            if (const attn::NamedArray* other = back.find(array.name); other == nullptr || !(*other == array)) std::abort();
    } catch (const attn::Error&) {
    }
    return 0;
}
