/// Arbitrary bytes as a .npy file: refused with an Error, or round-tripped without changes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/io/npy.hpp"
#include "tests/fuzz/scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    attn::NamedArray array;
    try {
        attn::MemoryInput source(std::as_bytes(std::span(data, size)), "input");
        array = attn::read_npy(source);
    } catch (const attn::Error&) {
        return 0;
    }
    // What was accepted must be writable: an Error from here on is a finding.
    const attn::test::ScratchFile again;
    attn::write_npy(again.path(), attn::view_of(array));
    const attn::NamedArray back = attn::read_npy(again.path());
    if (back.dtype != array.dtype || back.shape != array.shape || back.bytes != array.bytes) std::abort();
    return 0;
}
