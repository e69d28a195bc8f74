/// Arbitrary bytes as a .safetensors attention dump: refused with an Error, or examined completely.

#include <cstddef>
#include <cstdint>

#include "engine/doctor/doctor.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/tensor/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        attn::MemoryInput source(std::as_bytes(std::span(data, size)), "input");
        attn::doctor::examine(attn::read_safetensors(source));
    } catch (const attn::Error&) {
    }
    return 0;
}
