/// Arbitrary bytes as a tokenizer.json: refused with an Error, or usable for any text, with valid ranges.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const auto tokenizer = attn::parse_tokenizer_json({reinterpret_cast<const char*>(data), size}, "input");
        for (const std::string_view text :
             {"The cat sat on the mat, 12 times.", "\xC2\xBD \xEF\xAC\x81 e\xCC\x81 \xE6\xBC\xA2\xE5\xAD\x97 <s>\xFF"})
            for (const attn::EncodedToken& token : tokenizer->encode(text))
                if (token.begin > token.end || token.end > text.size()) std::abort();
    } catch (const attn::Error&) {
    }
    return 0;
}
