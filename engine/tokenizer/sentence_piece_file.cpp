#include "engine/tokenizer/sentence_piece_file.hpp"

#include <fmt/format.h>

#include <array>
#include <unordered_set>

#include "engine/io/file_error.hpp"
#include "engine/io/protobuf.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace attn {
namespace {

// Field numbers.
enum ModelField : std::uint32_t { kPieces = 1, kTrainer = 2, kNormalizer = 3 };
enum PieceField : std::uint32_t { kPieceText = 1, kPieceScore = 2, kPieceType = 3 };
enum TrainerField : std::uint32_t {
    kModelType = 3,
    kSpaceAsSuffix = 24,
    kByteFallback = 35,
    kUnknownPieceId = 40,
    kBeginPieceId = 41,
    kEndPieceId = 42,
    kUnknownPiece = 45,
    kBeginPiece = 46,
    kEndPiece = 47
};
enum NormalizerField : std::uint32_t { kCharacterMap = 2, kDummyPrefix = 3, kRemoveSpaces = 4, kEscapeSpaces = 5 };

class SentencePieceReader {
public:
    explicit SentencePieceReader(std::string_view source) : source_(source) {}

    SentencePieceFile read(std::string_view bytes) {
        ProtobufMessage message(bytes, source_);
        bool has_trainer = false;
        while (const auto field = message.next()) {
            if (field->number == kPieces) read_piece(message.message(*field));
            else if (field->number == kTrainer) read_trainer(message.message(*field)), has_trainer = true;
            else if (field->number == kNormalizer) read_normalizer(message.message(*field));
        }
        if (file_.model.pieces.empty()) throw FileError(FileFault::Schema, source_, "", "has no pieces");
        // They come last, and every writer adds them: a file that was cut off between two pieces would be read as another tokenizer.
        if (!has_trainer)
            throw FileError(FileFault::Truncated, source_, "", "ends before the tokenizer's settings: the file is incomplete");
        return std::move(file_);
    }

private:
    [[noreturn]] void refuse_piece(std::string_view problem, FileFault fault) const {
        throw FileError(fault, source_, fmt::format("piece {}", file_.model.pieces.size() - 1), problem);
    }

    void read_piece(ProtobufMessage message) {
        if (file_.model.pieces.size() == static_cast<std::size_t>(Vocabulary::kMaxIds))
            throw FileError(FileFault::Limit, source_, "", fmt::format("has more than {} pieces", Vocabulary::kMaxIds));
        SentencePiece& piece = file_.model.pieces.emplace_back();
        while (const auto field = message.next()) {
            if (field->number == kPieceText) piece.text = message.text(*field);
            else if (field->number == kPieceScore) piece.score = message.real(*field);
            else if (field->number == kPieceType) {
                const std::uint64_t type = message.number(*field);
                if (type < 1 || type > 6) refuse_piece(fmt::format("there is no piece type {}", type), FileFault::Unsupported);
                piece.type = static_cast<PieceType>(type);
            }
        }
        if (!texts_.insert(piece.text).second)
            refuse_piece(fmt::format("\"{}\" is given twice", escaped(piece.text)), FileFault::Duplicate);
    }

    void read_trainer(ProtobufMessage message) {
        while (const auto field = message.next()) {
            if (field->number == kModelType) read_kind(message.number(*field));
            else if (field->number == kSpaceAsSuffix) file_.model.space_after = message.truth(*field);
            else if (field->number == kByteFallback) file_.model.byte_fallback = message.truth(*field);
            else if (field->number == kUnknownPieceId) file_.unknown = static_cast<std::int32_t>(message.number(*field));
            else if (field->number == kBeginPieceId) file_.begin = static_cast<std::int32_t>(message.number(*field));
            else if (field->number == kEndPieceId) file_.end = static_cast<std::int32_t>(message.number(*field));
            else if (field->number == kUnknownPiece) file_.unknown_text = message.text(*field);
            else if (field->number == kBeginPiece) file_.begin_text = message.text(*field);
            else if (field->number == kEndPiece) file_.end_text = message.text(*field);
        }
    }

    void read_kind(std::uint64_t kind) {
        constexpr std::array<std::string_view, 5> kKinds = {"", "unigram", "bpe", "word", "char"};
        if (kind == 1) file_.model.kind = SentencePieceModel::Kind::Unigram;
        else if (kind == 2) file_.model.kind = SentencePieceModel::Kind::Bpe;
        else
            throw FileError(FileFault::Unsupported, source_, "model_type",
                            fmt::format("attnscope does not support the model \"{}\"; expected unigram or bpe",
                                        kind < kKinds.size() && kind > 0 ? std::string(kKinds[kind]) : std::to_string(kind)));
    }

    void read_normalizer(ProtobufMessage message) {
        while (const auto field = message.next()) {
            if (field->number == kCharacterMap) file_.model.character_map = message.text(*field);
            else if (field->number == kDummyPrefix) file_.model.add_dummy_prefix = message.truth(*field);
            else if (field->number == kRemoveSpaces) file_.model.remove_extra_spaces = message.truth(*field);
            else if (field->number == kEscapeSpaces) file_.model.escape_spaces = message.truth(*field);
        }
    }

    std::string source_;
    SentencePieceFile file_;
    std::unordered_set<std::string> texts_;
};

}  // namespace

SentencePieceFile parse_sentence_piece_file(std::string_view bytes, std::string_view source) {
    return SentencePieceReader(source).read(bytes);
}

bool is_sentence_piece_file(std::string_view bytes) {
    constexpr char kFirstPiece = 0x0A;  // field 1, length-delimited
    return bytes.starts_with(kFirstPiece);
}

}  // namespace attn
