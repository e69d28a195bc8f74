#pragma once
/// Documents as JSON text and as files.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/document/model_search.hpp"
#include "engine/io/json_object.hpp"

namespace attn::app {

/// Reads the fields that documents and presets share. Missing fields keep their defaults, except `texts`, which is required. Throws
/// FileError naming the source and the JSON pointer.
void read_document_fields(JsonObject& object, Document& document, const ModelPlaces& places = {});
/// Reads only those that define the model and how it is computed.
void read_model_fields(JsonObject& object, Setup& setup, const ModelPlaces& places = {});

/// The largest training text that a document can store, in bytes.
inline constexpr std::size_t kMostTaskText = std::size_t{4} << 20;

/// Writes every field; document_from_json() returns an equal document. Invalid UTF-8 is written with replacement characters. `folder`:
/// where the document will be, for the place of a model below it. Throws FileError for a training text that is not UTF-8 or exceeds
/// kMostTaskText.
std::string document_to_json(const Document& document, const std::filesystem::path& folder = {});
/// Strict: throws FileError for an unknown field, a wrong type, another format or version, and ModelIsMissing for a model that cannot be
/// opened. `source` appears in messages. With `left_out`, a pinned state whose model cannot be opened is left out instead, and a sentence
/// says so.
Document document_from_json(std::string_view json, std::string_view source, std::vector<std::string>* left_out = nullptr,
                            const ModelPlaces& places = {});

/// Atomic: the file is written completely or not at all. Throws FileError.
void save_document(const std::filesystem::path& path, const Document& document);
/// Throws FileError; a document must be a regular file of at most kMaxJsonBytes. Its model may also be beside it.
Document load_document(const std::filesystem::path& path, std::vector<std::string>* left_out = nullptr, ModelPlaces places = {});

}  // namespace attn::app
