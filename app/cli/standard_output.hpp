#pragma once
/// Makes sure that everything printed was actually written.

namespace attn::app {

inline constexpr const char* kOutputLost = "the standard output cannot be written";

/// To be called before any file is opened. Standard streams that are closed are replaced by ones that always fail, so that no file gets
/// their descriptor and receives output meant for the terminal.
void reserve_standard_streams();

/// Flushes the output. Throws Error if this or an earlier write failed: a full disk must not look like success. Long commands call it after
/// each unit of work, run_program() at the end.
void flush_output();

}  // namespace attn::app
