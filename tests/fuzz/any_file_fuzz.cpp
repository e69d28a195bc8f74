/// Arbitrary bytes under any file name that the window opens: refused with an Error, or recognised.

#include <array>
#include <cstddef>
#include <cstdint>

#include "app/session/files/readable_file.hpp"
#include "engine/tensor/error.hpp"
#include "tests/fuzz/scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::array<attn::test::ScratchFile, 4> files{attn::test::ScratchFile(".safetensors"), attn::test::ScratchFile(".npz"),
                                                              attn::test::ScratchFile(".json"), attn::test::ScratchFile(".txt")};
    if (size == 0) return 0;
    const attn::test::ScratchFile& file = files[data[0] % files.size()];  // the first byte selects the name
    file.fill(data + 1, size - 1);
    try {
        const attn::app::ReadableFile read = attn::app::read_any_file(file.path());
        if (read.text != nullptr) attn::app::lines_with_text(*read.text, 100, 40);
    } catch (const attn::Error&) {
    }
    return 0;
}
