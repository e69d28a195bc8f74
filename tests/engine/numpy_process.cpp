#include "tests/engine/numpy_process.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/engine/io_support.hpp"

namespace attn::test {
namespace {

/// Prefers the system's Python, because another one without NumPy may come first in PATH.
std::string with_numpy(const std::filesystem::path& folder) {
    for (const char* path : {"PATH=/usr/bin:$PATH", "PATH=$PATH"}) {
        const std::string command = std::string("cd '") + folder.native() + "' && " + path + " python3 -c 'import numpy' > python.txt 2>&1";
        if (std::system(command.c_str()) == 0) return path;
    }
    return "";
}

}  // namespace

bool run_numpy(const std::filesystem::path& folder, const std::string& script) {
    const std::string path = with_numpy(folder);
    if (path.empty()) {
        [] { GTEST_SKIP() << "python3 with NumPy is not installed"; }();
        return false;
    }
    put_file(folder / "script.py", script);
    const std::string command = "cd '" + folder.native() + "' && " + path + " python3 script.py > python.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << file_bytes(folder / "python.txt");
    return true;
}

}  // namespace attn::test
