/// Arbitrary bytes as a SentencePiece, tiktoken or BERT vocabulary file: refused with an Error, or usable for any text, step by step, with
/// valid ranges.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/sentence_piece_file.hpp"
#include "engine/tokenizer/tiktoken.hpp"
#include "engine/tokenizer/tokenizer_classes.hpp"
#include "engine/tokenizer/vocabulary_files.hpp"

namespace {

void use(attn::TokenizerParts parts) {
    const attn::ModelTokenizer tokenizer(std::move(parts));
    for (const std::string_view text :
         {"The cat sat  on the mat, 12 times.", "\xC2\xBD \xEF\xAC\x81 e\xCC\x81 \xE6\xBC\xA2\xE5\xAD\x97 <s>\xFF"}) {
        const attn::TokenSteps steps = tokenizer.steps(text);
        std::vector<std::int32_t> ids;
        for (const attn::EncodedToken& token : steps.tokens) {
            if (token.begin > token.end || token.end > text.size()) std::abort();
            tokenizer.token_bytes(token.id);
            ids.push_back(token.id);
        }
        tokenizer.decode(ids);
    }
}

template <class Read>
void try_reading(Read&& read) {
    try {
        use(read());
    } catch (const attn::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    for (const auto special : {attn::SpecialPieces::InWords, attn::SpecialPieces::CutOut})
        try_reading([&] { return attn::sentence_piece_parts(attn::parse_sentence_piece_file(bytes, "input").model, special); });
    for (const auto kind : {attn::TokenizerClass::Llama, attn::TokenizerClass::Gemma, attn::TokenizerClass::T5,
                            attn::TokenizerClass::XlmRoberta, attn::TokenizerClass::Camembert, attn::TokenizerClass::Plain})
        try_reading([&] { return attn::pieces_tokenizer(kind, {}, attn::parse_sentence_piece_file(bytes, "input")); });
    try_reading([&] { return attn::parse_tiktoken(bytes, "input"); });
    try_reading([&] {
        attn::Vocabulary pieces = attn::parse_bert_vocabulary(bytes, "input");
        const attn::BertForm form = attn::bert_form_of(pieces);
        return attn::bert_parts(std::move(pieces), form);
    });
    return 0;
}
