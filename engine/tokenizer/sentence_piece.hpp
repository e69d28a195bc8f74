#pragma once
/// SentencePiece's tokenizers: pieces with scores, joined by score (BPE) or chosen as the likeliest spelling (unigram).
/// Kudo & Richardson 2018, https://github.com/google/sentencepiece: normalizer.cc, bpe_model.cc, unigram_model.cc.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

enum class PieceType : std::uint8_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

struct SentencePiece {
    std::string text;
    double score = 0;
    PieceType type = PieceType::Normal;
};

struct SentencePieceModel {
    enum class Kind : std::uint8_t { Unigram, Bpe };

    Kind kind = Kind::Unigram;
    std::vector<SentencePiece> pieces;  ///< by id
    std::string character_map;          ///< bytes as PrecompiledMap takes them; "": characters stay as they are
    bool byte_fallback = false;         ///< unknown characters as pieces <0x00> to <0xFF> of their bytes
    bool add_dummy_prefix = true;       ///< a space before the text
    bool remove_extra_spaces = true;    ///< at both ends, and all but one of a run
    bool escape_spaces = true;          ///< as "▁"
    bool space_after = false;           ///< the space of add_dummy_prefix goes behind the text
};

/// Who finds the tokens that are not ordinary pieces.
enum class SpecialPieces : std::uint8_t {
    InWords,  ///< as SentencePiece itself: control pieces stand in no text, those of the user are pieces that are never joined
    CutOut,   ///< as transformers and llama.cpp: both are cut out of the text before anything else
};

/// Added tokens, normalizer, model and decoders. Throws ConfigError for pieces that cannot be used.
TokenizerParts sentence_piece_parts(const SentencePieceModel& model, SpecialPieces special);

}  // namespace attn
