#pragma once
/// attnscope without a subcommand: the window.

#include "app/cli/document_options.hpp"
#include "app/session/lessons/lesson.hpp"

namespace attn::app {

struct WindowStart {
    DocumentOptions document;
    std::filesystem::path shader_folder;   ///< shaders are read from here and reloaded when they change; empty for the built-in ones
    std::shared_ptr<const Lesson> lesson;  ///< opened with the window; null: none
    std::size_t lesson_step = 0;
    std::filesystem::path file;  ///< to be opened: a document, a run, a text
};

void add_window_options(CliCommand program, WindowStart& start);

/// Returns when the user closes the window or a signal ends it, with the exit code. What is not saved is kept for the next start unless the
/// user closed it.
int open_window(const WindowStart& start);

}  // namespace attn::app
