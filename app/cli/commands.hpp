#pragma once
/// The subcommands, one file each. Each adds itself to the program; its work runs while the command line is parsed and throws
/// on bad input, which main turns into one line on stderr and kExitBadInput.

#include "app/cli/arguments.hpp"

namespace attn::app {

inline constexpr int kExitOk = 0;
inline constexpr int kExitMismatch = 1;  ///< a check was made and failed
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitOnSignal = 128;  ///< plus the number of the signal that ended the program, as shells report it

/// `exit_code` is what the program returns; a command that has something else than kExitOk to say sets it.
void add_trace_command(CliCommand program, int& exit_code);
void add_export_command(CliCommand program, int& exit_code);
void add_snippet_command(CliCommand program, int& exit_code);
void add_render_command(CliCommand program, int& exit_code);
void add_check_command(CliCommand program, int& exit_code);
void add_doctor_command(CliCommand program, int& exit_code);
void add_bench_command(CliCommand program, int& exit_code);
void add_train_command(CliCommand program, int& exit_code);
void add_sample_command(CliCommand program, int& exit_code);
void add_lesson_command(CliCommand program, int& exit_code);
void add_model_command(CliCommand program, int& exit_code);
void add_compare_weights_command(CliCommand program, int& exit_code);
void add_tokenize_command(CliCommand program, int& exit_code);
void add_completion_command(CliCommand program);
/// `version` is the program's name and version.
void add_man_command(CliCommand program, const std::string& version);

}  // namespace attn::app
