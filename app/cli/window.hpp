#pragma once
/// attnscope without a subcommand: opens the window.

#include "app/cli/document_options.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/lessons/lesson.hpp"

namespace attn::app {

struct WindowStart {
    DocumentOptions document;
    std::filesystem::path shader_folder;   ///< shaders are read from here and reloaded when they change; empty for the embedded ones
    std::shared_ptr<const Lesson> lesson;  ///< opened at start; null: none
    std::size_t lesson_step = 0;
    std::filesystem::path file;  ///< opened at start: a document, a run or a text
};

struct FirstDocument {
    Document document;
    std::string notice{};  ///< to be shown with it
};

/// The document that the window begins with: the one that was open last, unless the options specify another one. A document is left to the
/// window, in start.file, if its model is missing, to ask where it is, or if it names training runs.
FirstDocument first_document(WindowStart& start, const Settings& settings);

void add_window_options(CliCommand program, WindowStart& start);

/// Blocks until the user closes the window or a signal ends the program; returns the exit code. Unless the user closed the window, unsaved
/// work is kept for the next start.
int open_window(const WindowStart& start);

}  // namespace attn::app
