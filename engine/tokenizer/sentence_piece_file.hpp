#pragma once
/// SentencePiece's own file, tokenizer.model: a message of Protocol Buffers.
/// Fields: https://github.com/google/sentencepiece, src/sentencepiece_model.proto (ModelProto).

#include <string_view>

#include "engine/tokenizer/sentence_piece.hpp"

namespace attn {

struct SentencePieceFile {
    SentencePieceModel model;
    std::int32_t begin = 1, end = 2;  ///< ids of the pieces that begin and end a text; -1: there is none
};

/// Throws FileError for a damaged file, a piece that is there twice and a kind of model that there is not.
SentencePieceFile parse_sentence_piece_file(std::string_view bytes, std::string_view source);

/// Whether a file begins as such a message does: files of other kinds have the same name.
bool is_sentence_piece_file(std::string_view bytes);

}  // namespace attn
