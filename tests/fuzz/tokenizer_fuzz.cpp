/// Arbitrary bytes as a text: every tokenizer covers its own text without unknown symbols, and character and byte tokenizers reproduce it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const auto kind : {attn::TokenizerKind::Character, attn::TokenizerKind::Word, attn::TokenizerKind::Byte}) {
        const attn::Tokenizer tokenizer(kind, std::span(&text, 1));
        std::vector<std::int32_t> ids;
        std::size_t end = 0;
        for (const attn::TextToken& token : tokenizer.encode(text)) {
            if (token.unknown || token.begin < end || token.end <= token.begin || token.end > size) std::abort();
            end = token.end;
            ids.push_back(token.id);
        }
        const std::string back = tokenizer.decode(ids);
        if (kind != attn::TokenizerKind::Word && back != text) std::abort();
    }
    return 0;
}
