#pragma once
/// Saving a training run into its folder, again and again.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "engine/io/folder_lock.hpp"
#include "engine/train/run_folder.hpp"

namespace attn {

/// Of the moments of a run at most so many are saved: the first, the last, and those evenly between.
inline constexpr std::size_t kMostMoments = 24;

/// Holds the folder while it lives (see FolderLock). Every file is written atomically. Wherever saving ends, by an error or because the
/// process is killed, the folder can be read: as it was before, or as it is after the checkpoint was replaced.
class RunFolderWriter {
public:
    /// Makes the folder if need be, and removes the unfinished files of writers that were killed. Throws FileError, also when another
    /// process is writing a run into it.
    explicit RunFolderWriter(const std::filesystem::path& folder);

    /// The first of the files in the folder that saving a run would replace, such as "model.safetensors"; "" when there is none.
    std::string first_found() const;

    /// To be called once, before save(). `continued`: the steps after which the run in the folder is taken up; none: what the folder holds
    /// is of another run, which stays readable until this one's first checkpoint is on the disk. Throws FileError when one of the files
    /// could not be written now, or not `checkpoint_bytes` of it; what is in the folder stays as it is.
    void begin(std::optional<std::int64_t> continued, std::uint64_t checkpoint_bytes);

    /// Curves and heads, then the checkpoint, then moments; moments that are not chosen any more are removed. A model that is a GPT-2 gets
    /// the config.json with which Hugging Face transformers loads the folder. Throws when the checkpoint could not be replaced: the one
    /// before is then still there. Returns why another file could not be written, "" when all were.
    std::string save(const RunFolder& run, std::size_t most_moments = kMostMoments);

private:
    void write_tables(const RunFolder& run) const;
    void write_moments(const RunFolder& run, std::size_t most_moments);
    void drop_other_run() const;

    std::filesystem::path folder_;
    FolderLock lock_;
    bool replaces_ = false;          ///< the folder still holds another run
    std::set<std::int64_t> stored_;  ///< moments of this run that are in the folder
};

/// Saves a run once, over whatever the folder holds. Throws FileError, also when something but the checkpoint could not be written.
void write_run_folder(const std::filesystem::path& folder, const RunFolder& run, std::size_t most_moments = kMostMoments);

}  // namespace attn
