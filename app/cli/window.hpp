#pragma once
/// attnscope without a subcommand: the window.

#include "app/cli/document_options.hpp"

namespace attn::app {

struct WindowStart {
    DocumentOptions document;
    std::filesystem::path shader_folder;  ///< shaders are read from here and reloaded when they change; empty for the built-in ones
};

void add_window_options(CLI::App& program, WindowStart& start);

/// Returns when the user closes the window.
void open_window(const WindowStart& start);

}  // namespace attn::app
