/// Arbitrary bytes as a .npz archive: refused with an Error, or read.

#include <cstddef>
#include <cstdint>

#include "engine/io/npz.hpp"
#include "tests/fuzz/scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const attn::test::ScratchFile file;
    file.fill(data, size);
    try {
        attn::read_npz(file.path());
    } catch (const attn::Error&) {
    }
    return 0;
}
