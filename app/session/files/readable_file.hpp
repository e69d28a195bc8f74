#pragma once
/// Finding out what a file is, by what stands in it.

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/lessons/lesson.hpp"

namespace attn::app {

struct ReadableFile {
    FileKind kind = FileKind::Text;
    std::optional<Document> document;         ///< of a Document, and of a Model: the one to show it in
    std::shared_ptr<const std::string> text;  ///< of a Text
    std::shared_ptr<const Lesson> lesson;     ///< of a Lesson
};

/// A Document, a Lesson or a Text is read whole, of a model everything but its weights; of a run and of a dump only as much as tells them
/// apart. Throws FileError for a file that is missing, broken or of a kind that the program does not read.
ReadableFile read_any_file(const std::filesystem::path& path, const std::stop_token& stop = {});

/// Whether a JSON file is a lesson: only these have steps. Throws FileError for anything but an object.
bool is_lesson(const std::filesystem::path& path);

/// Every line that is not blank; at most `most` of them, each cut after `longest` bytes (not inside a character).
std::vector<std::string> lines_with_text(std::string_view text, std::size_t most = std::string::npos,
                                         std::size_t longest = std::string::npos);

}  // namespace attn::app
