/// Arbitrary bytes as the tables of a training run: refused with an Error, or round-tripped without changes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/tensor/error.hpp"
#include "engine/train/curve_csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const attn::Curves curves = attn::curves_from_csv(text, "input");
        const std::string written = attn::curves_csv(curves.losses, curves.validations);
        const attn::Curves back = attn::curves_from_csv(written, "again");
        if (attn::curves_csv(back.losses, back.validations) != written) std::abort();
    } catch (const attn::Error&) {
    }
    try {
        const std::string written = attn::heads_csv(attn::heads_from_csv(text, "input"));
        if (attn::heads_csv(attn::heads_from_csv(written, "again")) != written) std::abort();
    } catch (const attn::Error&) {
    }
    return 0;
}
