/// Arbitrary bytes as a reference file, .safetensors or a notebook's .npz: refused with an Error, or recomputed and compared.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/check/check.hpp"
#include "engine/tensor/error.hpp"
#include "tests/fuzz/scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const attn::test::ScratchFile case_file(".safetensors"), notebook(".npz");
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const attn::test::ScratchFile& file = bytes.starts_with("PK") ? notebook : case_file;
    file.fill(data, size);
    try {
        attn::check::check_file(file.path());
    } catch (const attn::Error&) {
    }
    return 0;
}
