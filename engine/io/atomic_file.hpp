#pragma once
/// Atomic file writing: a file name always refers to either the old or the complete new contents. The program writes all files this way.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/file_error.hpp"

namespace attn {

/// There is no room left for a file on its disk, or in the user's share of it.
class DiskFull : public FileError {
public:
    using FileError::FileError;
};

/// An existing file that gets a second name.
struct SecondNameOf {
    const std::filesystem::path& file;
};

/// A file in the target's folder that has no name yet, so that nothing of it stays if the program is killed; on file systems without such
/// files, it has a temporary name. commit() flushes it to disk and renames it to the target; without commit() the destructor removes it
/// and the target stays unchanged. Every failure throws FileError(Io) naming the target, DiskFull for want of room.
/// The target must be a regular file or not exist: a link (even to a regular file), folder, device, pipe or socket is refused. Links among
/// the path's folders are followed as usual.
/// The temporary name is unpredictable and the file newly created, so it never writes to a file that somebody planted. It is locked while
/// its writer lives, so that remove_abandoned_files() can recognize files left by killed programs.
class AtomicFile {
public:
    /// Named: as on file systems on which every file has a name.
    enum class Temporary : std::uint8_t { Unnamed, Named };
    explicit AtomicFile(const std::filesystem::path& target, Temporary temporary = Temporary::Unnamed);
    /// commit() makes the target a second name of the existing file: a hard link, or a copy where links are not supported.
    AtomicFile(const std::filesystem::path& target, SecondNameOf existing);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    const std::filesystem::path& target() const { return target_; }
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    /// On return the data is on disk; only naming it can still fail.
    void flush();
    /// On return the data is on disk under the target's name.
    void commit();

private:
    void create(Temporary temporary);
    bool create_without_name();
    void create_with_name();
    void give_name();
    void copy_to_name();  ///< where a file cannot be given a name later
    void keep_mode();
    void put(std::span<const std::byte> bytes);
    bool link(const std::filesystem::path& existing);
    [[noreturn]] void fail(const char* action, int error_number) const;
    void discard() noexcept;

    std::filesystem::path target_, temporary_;
    unsigned mode_ = 0;              ///< permissions of the file being replaced; 0: none
    std::vector<std::byte> buffer_;  ///< collects small writes, such as many small tensors
    std::size_t unflushed_ = 0;      ///< bytes written since the last flush
    bool flushed_ = false;
    int fd_ = -1;  ///< -1 for a second name
};

/// Writes a small file as a whole.
void write_whole_file(const std::filesystem::path& target, std::string_view contents);

/// Removes temporary files whose writers are dead from the folder. Never throws FileError: what cannot be removed stays.
void remove_abandoned_files(const std::filesystem::path& folder);

}  // namespace attn
