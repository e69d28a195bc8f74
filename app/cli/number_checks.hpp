#pragma once
/// What the argument parser would let through: "-1" as a large unsigned number, "" as 0.

#include <string>

namespace attn::app {

/// For options with a whole number from 0 to 2^64 - 1. Returns "" or what is wrong, as Argument::check() wants it.
std::string check_whole_number(const std::string& text);
/// The same for options with a number; whether it is in range is the option's question.
std::string check_number(const std::string& text);

}  // namespace attn::app
