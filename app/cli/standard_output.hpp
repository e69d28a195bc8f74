#pragma once
/// What commands print counts as printed once the system has taken it.

namespace attn::app {

inline constexpr const char* kOutputLost = "the standard output cannot be written";

/// Call before anything is opened: a stream that the program was started without is opened as one that always fails, so that no file
/// gets its number and what was meant for the terminal.
void reserve_standard_streams();

/// Writes out what was printed so far. Throws Error when that fails, or failed before: a full disk must not pass for success. Long
/// commands call it after every piece of work, main at the end.
void flush_output();

}  // namespace attn::app
