#pragma once
/// A temporary file for readers and writers that need a file name.

#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace attn::test {

class ScratchFile {
public:
    explicit ScratchFile(const std::string& extension = "") {
        std::string name = (std::filesystem::temp_directory_path() / "attnscope-fuzz-XXXXXX").string() + extension;
        const int descriptor = ::mkstemps(name.data(), static_cast<int>(extension.size()));
        if (descriptor < 0) throw std::runtime_error("no temporary file");
        ::close(descriptor);
        path_ = name;
    }
    ~ScratchFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    const std::filesystem::path& path() const { return path_; }
    void fill(const std::uint8_t* data, std::size_t size) const {
        std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    }

private:
    std::filesystem::path path_;
};

}  // namespace attn::test
