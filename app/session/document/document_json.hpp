#pragma once
/// Documents as JSON text, and as files on disk.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "app/session/document/document.hpp"
#include "engine/io/json_object.hpp"

namespace attn::app {

/// The fields that documents and presets share. Missing fields keep their default, except `texts`, which must be there.
/// Throws FileError naming the source and the JSON pointer.
void read_document_fields(JsonObject& object, Document& document);
/// Those of them that say what the model is and how it is computed.
void read_model_fields(JsonObject& object, Setup& setup);

/// Bytes of a text to train on that can stand in a document.
inline constexpr std::size_t kMostTaskText = std::size_t{4} << 20;

/// Every field; document_from_json() gives an equal document back. Text that is not UTF-8 is written with replacement characters.
/// Throws FileError for a text to train on that is not UTF-8 or longer than 4 MiB.
std::string document_to_json(const Document& document);
/// Strict: throws FileError for an unknown field, a wrong type, another format or version. `source` is named in messages.
Document document_from_json(std::string_view json, std::string_view source);

inline constexpr std::string_view kDocumentExtension = ".attnscope.json";

/// Written whole or not at all. Throws FileError.
void save_document(const std::filesystem::path& path, const Document& document);
/// Throws FileError; a document is a regular file of at most kMaxJsonBytes.
Document load_document(const std::filesystem::path& path);

}  // namespace attn::app
