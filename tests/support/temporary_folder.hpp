#pragma once
/// A temporary folder for a test.

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>

namespace attn::test {

class TemporaryFolder {
public:
    TemporaryFolder() {
        // Prefer a RAM disk: thousands of small files are rewritten, and a disk would be flushed each time.
        const std::filesystem::path memory = "/dev/shm";
        const bool usable = ::access(memory.c_str(), R_OK | W_OK | X_OK) == 0;
        std::string name = ((usable ? memory : std::filesystem::temp_directory_path()) / "attnscope-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
    /// The number of entries, to check that nothing is left behind.
    std::ptrdiff_t entries() const {
        return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
    }

private:
    std::filesystem::path path_;
};

}  // namespace attn::test

namespace attn::app::test {
using attn::test::TemporaryFolder;
}
