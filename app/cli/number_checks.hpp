#pragma once
/// Checks for what the argument parser would accept: "-1" as a large unsigned number, "" as 0.

#include <string>

namespace attn::app {

/// For options with a whole number from 0 to 2^64 - 1. Returns what is wrong, or "", as Argument::check() expects.
std::string check_whole_number(const std::string& text);
/// The same for options with any number; its range is checked elsewhere.
std::string check_number(const std::string& text);

}  // namespace attn::app
