#pragma once
/// Asking an installed NumPy what it thinks of our files.

#include <filesystem>
#include <string>

namespace attn::test {

/// Runs the Python script in `folder`; a failure fails the test with what Python said. Where there is no NumPy the test is marked
/// as skipped and false comes back.
bool run_numpy(const std::filesystem::path& folder, const std::string& script);

}  // namespace attn::test
