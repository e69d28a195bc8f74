#pragma once
/// Saves a training run to its folder, repeatedly.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "engine/io/folder_lock.hpp"
#include "engine/train/run_folder.hpp"

namespace attn {

/// At most this many of a run's moments are saved by the command line: the first, the last, and evenly spaced ones between.
inline constexpr std::size_t kMostMoments = 24;

/// What is saved of a run besides its checkpoint and tables.
struct RunExtras {
    std::size_t most_moments = kMostMoments;
    std::set<std::int64_t> named{};  ///< steps whose moments are saved as well, as far as the run has them
    std::string document{};          ///< the text of document.attnscope.json; "": the one of this run that is there stays
};

/// Locks the folder while alive (see FolderLock). Every file is written atomically. If saving stops anywhere, through an error or because
/// the process is killed, the folder remains readable: either as it was, or as it is after the checkpoint was replaced.
class RunFolderWriter {
public:
    /// Creates the folder if necessary and removes unfinished files of killed writers. Throws FileError, also if another process is writing
    /// a run there, or the folder of the moments is a link.
    explicit RunFolderWriter(const std::filesystem::path& folder);

    /// The first existing file that saving a run would replace, such as "model.safetensors"; "" if there is none.
    std::string first_found() const;

    /// Must be called once before save(). `continued` is the step from which the folder's run is resumed; none means that the folder holds
    /// another run, which stays readable until this run's first checkpoint is on disk. Throws FileError if one of the files cannot be
    /// written now, or there is no room for `checkpoint_bytes`; the folder's contents are left unchanged.
    void begin(std::optional<std::int64_t> continued, std::uint64_t checkpoint_bytes);

    /// Writes curves, heads and new moments, then the checkpoint and the document, and removes moments that are no longer selected. Where
    /// there is no room for all, checkpoint and tables come first: new moments are taken back for them, then the previous checkpoint and
    /// older moments of this run are removed. A model that Hugging Face's transformers computes alike (see unlike_transformers()) also gets
    /// the config.json with which it loads the folder. Throws if the checkpoint could not be replaced; the one before is then intact.
    /// Returns why any other file could not be written, or "".
    std::string save(const RunFolder& run, const RunExtras& extras = {});

private:
    /// Throws FileError if it is a link.
    std::filesystem::path moments_folder() const;
    void write_tables(const RunFolder& run) const;
    /// Writes those that are not stored yet; returns the steps of all that the folder is to hold.
    std::set<std::int64_t> add_moments(const RunFolder& run, const RunExtras& extras);
    void drop_moment(std::int64_t step);
    /// Returns whether there were any to drop.
    bool drop_moments_except(const std::set<std::int64_t>& kept);
    void drop_other_run() const;
    /// Removes what matters least, if that much can get room at all; false if nothing was removed.
    bool make_room(std::uint64_t bytes, const std::set<std::int64_t>& named);

    std::filesystem::path folder_;
    FolderLock lock_;
    bool replaces_ = false;          ///< the folder still contains another run
    std::set<std::int64_t> stored_;  ///< moments of this run that are in the folder
};

/// Saves a run once, replacing whatever the folder contains; `continued` as in begin(). Throws FileError, also if a file other than the
/// checkpoint cannot be written.
void write_run_folder(const std::filesystem::path& folder, const RunFolder& run, const RunExtras& extras = {},
                      std::optional<std::int64_t> continued = {});

}  // namespace attn
