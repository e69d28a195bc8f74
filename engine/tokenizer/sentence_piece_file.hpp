#pragma once
/// SentencePiece's own file format, tokenizer.model: a Protocol Buffers message.
/// Fields: https://github.com/google/sentencepiece, src/sentencepiece_model.proto (ModelProto).

#include <string_view>

#include "engine/tokenizer/sentence_piece.hpp"

namespace attn {

struct SentencePieceFile {
    SentencePieceModel model;
    std::int32_t unknown = 0, begin = 1,
                 end = 2;  ///< ids of the pieces for what cannot be spelled, and that begin and end a text; -1: none
    std::string unknown_text = "<unk>", begin_text = "<s>", end_text = "</s>";  ///< their pieces
};

/// Throws FileError for a damaged file, a duplicate piece, or an unknown kind of model.
SentencePieceFile parse_sentence_piece_file(std::string_view bytes, std::string_view source);

/// Whether the bytes begin like such a message; files of other kinds have the same name.
bool is_sentence_piece_file(std::string_view bytes);

}  // namespace attn
