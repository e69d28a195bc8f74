#pragma once
/// Writing a file so that its name always holds either the old or the whole new contents. All files that the program writes are
/// written here.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/file_error.hpp"

namespace attn {

/// An existing file that is to be found under a second name too.
struct SecondNameOf {
    const std::filesystem::path& file;
};

/// A file under a temporary name in the target's folder. commit() flushes it to the disk and renames it to the target; without a
/// commit the destructor removes it and the target stays as it was. Every failure is a FileError(Io) naming the target.
/// What is at the target must be a regular file or nothing: a link there (even one to a regular file), a folder, a device, a pipe or
/// a socket is refused. Links among the folders of the path are followed as everywhere.
/// The temporary name cannot be guessed and the file is new, so that nothing planted in the folder is ever written to. As long as its
/// writer lives the file is locked, which tells remove_abandoned_files() those of killed programs.
class AtomicFile {
public:
    explicit AtomicFile(const std::filesystem::path& target);
    /// commit() makes the target a second name of that file as it is now: a hard link, or a copy where there are none.
    AtomicFile(const std::filesystem::path& target, SecondNameOf existing);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    const std::filesystem::path& target() const { return target_; }
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    /// After it returns, what was written is on the disk, still under the temporary name; only the renaming can then fail.
    void flush();
    /// After it returns, the contents are on the disk under the target's name.
    void commit();

private:
    void create();
    void put(std::span<const std::byte> bytes);
    bool link(const std::filesystem::path& existing);
    [[noreturn]] void fail(const char* action, int error_number) const;
    void discard() noexcept;

    std::filesystem::path target_, temporary_;
    unsigned mode_ = 0;              ///< the permissions of the file that is replaced; 0: there is none
    std::vector<std::byte> buffer_;  ///< what comes in small pieces, such as many small tensors, is written in larger ones
    bool flushed_ = false;
    int fd_ = -1;  ///< none for a second name
};

/// Writes a whole small file.
void write_whole_file(const std::filesystem::path& target, std::string_view contents);

/// Removes temporary files whose writers no longer live from the folder. Never throws FileError: what cannot be removed stays.
void remove_abandoned_files(const std::filesystem::path& folder);

}  // namespace attn
