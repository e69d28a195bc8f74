#pragma once
/// Identifies and reads a file by its contents.

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/document/model_search.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/lessons/lesson.hpp"

namespace attn::app {

struct ReadableFile {
    FileKind kind = FileKind::Text;
    std::filesystem::path path;               ///< what was read; see folder_of_part()
    std::optional<Document> document;         ///< for a Document; for a Model or a Recording, a document that shows it
    std::vector<std::string> left_out;        ///< for a Document: see document_from_json()
    std::vector<std::string> moved;           ///< for a Document: see ModelPlaces
    std::shared_ptr<const std::string> text;  ///< for a Text
    std::shared_ptr<const Lesson> lesson;     ///< for a Lesson
};

/// The folder for one of the files that make up the published model or the training run in it; the path itself for any other file.
std::filesystem::path folder_of_part(const std::filesystem::path& path);
/// Reads a document, lesson or text completely and a model except for its weights; of a run or a dump, only enough to tell them apart.
/// Throws FileError for a file that is missing, damaged or of an unsupported kind. `places`: where the model of a document may be.
ReadableFile read_any_file(const std::filesystem::path& path, const std::stop_token& stop = {}, const ModelPlaces& places = {});

/// The notice with what was left out of a document, or assumed about a model.
std::string and_left_out(std::string notice, const std::vector<std::string>& left_out);

/// Throws FileError unless the folder holds a training run, or GPT-2 weights without a config.json.
void expect_run(const std::filesystem::path& folder, const std::stop_token& stop = {});
/// Whether a JSON file is a lesson, that is, has steps. Throws FileError unless it holds a JSON object.
bool is_lesson(const std::filesystem::path& path);

/// The number of non-blank lines.
std::size_t count_lines_with_text(std::string_view text);

/// The non-blank lines, at most `most`, each truncated to `longest` bytes at a character boundary.
std::vector<std::string> lines_with_text(std::string_view text, std::size_t most = std::string::npos,
                                         std::size_t longest = std::string::npos);

}  // namespace attn::app
