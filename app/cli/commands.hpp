#pragma once
/// The subcommands, one file each. Each function adds a command to the program. The command runs during parsing and throws on bad input;
/// run_program() then prints one line to stderr and returns kExitBadInput.

#include "app/cli/arguments.hpp"

namespace attn::app {

/// `exit_code` is the program's exit code, to be set by commands whose result is not kExitOk.
void add_trace_command(CliCommand program, int& exit_code);
void add_export_command(CliCommand program, int& exit_code);
void add_snippet_command(CliCommand program, int& exit_code);
void add_render_command(CliCommand program, int& exit_code);
void add_doctor_command(CliCommand program, int& exit_code);
void add_train_command(CliCommand program, int& exit_code);
void add_sample_command(CliCommand program, int& exit_code);
void add_lesson_command(CliCommand program, int& exit_code);
void add_model_command(CliCommand program, int& exit_code);
void add_compare_weights_command(CliCommand program, int& exit_code);
void add_tokenize_command(CliCommand program, int& exit_code);
void add_recording_command(CliCommand program, int& exit_code);
void add_python_command(CliCommand program);
void add_completion_command(CliCommand program);
/// `version`: the program's name and version.
void add_man_command(CliCommand program, const std::string& version);

}  // namespace attn::app
