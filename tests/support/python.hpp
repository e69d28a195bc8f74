#pragma once
/// An installed Python with NumPy, as an oracle that shares no code with the program. ATTN_PYTHON is the one that CMake found.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace attn::test {

struct PythonOutcome {
    bool ok = false;
    std::string said;  ///< stdout and stderr
};

/// Runs the script in `folder`; `path` is added to its module search path.
inline PythonOutcome run_python(const std::filesystem::path& folder, const std::string& script, const std::string& path = "") {
    std::ofstream(folder / "script.py") << script;
    const std::string command = "cd '" + folder.native() + "' && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + path +
                                "' '" ATTN_PYTHON "' -W error script.py > python.txt 2>&1";
    const bool ok = std::system(command.c_str()) == 0;
    std::ifstream said(folder / "python.txt");
    return {ok, {std::istreambuf_iterator<char>(said), {}}};
}

/// Found, but not imported, which takes ten times as long.
inline bool has_module(const std::filesystem::path& folder, const std::string& name) {
    return run_python(folder, "import importlib.util, sys\nsys.exit(importlib.util.find_spec('" + name + "') is None)\n").ok;
}

inline bool has_numpy(const std::filesystem::path& folder) { return has_module(folder, "numpy"); }

/// The module search path for PyTorch: empty if it is installed, otherwise that of a stand-in with its API and NumPy's arithmetic.
inline std::string torch_path(const std::filesystem::path& folder) {
    return has_module(folder, "torch") ? "" : ATTN_TEST_DATA "/support/torch_stand_in";
}

}  // namespace attn::test

/// Skips the test if NumPy is not available.
#define ATTN_NEEDS_NUMPY(folder)                                                                                                           \
    if (!attn::test::has_numpy(folder)) GTEST_SKIP() << "NumPy is not installed for " ATTN_PYTHON
