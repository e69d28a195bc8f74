#pragma once
/// Uses an installed NumPy to check our files.

#include <filesystem>
#include <string>

namespace attn::test {

/// Runs a Python script in `folder`; an error fails the test with Python's output. Without NumPy the test is skipped and false returned.
bool run_numpy(const std::filesystem::path& folder, const std::string& script);

}  // namespace attn::test
