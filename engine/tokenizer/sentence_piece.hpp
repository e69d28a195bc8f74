#pragma once
/// SentencePiece tokenizers: pieces with scores, merged by score (BPE) or chosen as the most probable segmentation (unigram). Kudo and
/// Richardson, 2018; https://github.com/google/sentencepiece: normalizer.cc, bpe_model.cc, unigram_model.cc.

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
    std::string character_map;          ///< bytes for PrecompiledMap; "": no character map
    bool byte_fallback = false;         ///< unknown characters become pieces <0x00> to <0xFF> for their bytes
    bool add_dummy_prefix = true;       ///< adds a space before the text
    bool remove_extra_spaces = true;    ///< at both ends, and all but one of a run
    bool escape_spaces = true;          ///< writes spaces as "▁"
    bool space_after = false;           ///< add_dummy_prefix puts the space after the text instead
};

/// The characters of ordinary pieces that are no pieces themselves. Vocabularies that were pruned have them; SentencePiece merges them all
/// the same.
std::vector<std::string> letters_without_piece(const SentencePieceModel& model);

/// How tokens that are not ordinary pieces are found.
enum class SpecialPieces : std::uint8_t {
    InWords,  ///< like SentencePiece: control pieces match no text; user-defined ones are pieces that are never merged
    CutOut,   ///< like transformers and llama.cpp: both are cut out of the text first
};

/// Added tokens, normalizer, model and decoders. Throws ConfigError for unusable pieces.
TokenizerParts sentence_piece_parts(const SentencePieceModel& model, SpecialPieces special);

}  // namespace attn
