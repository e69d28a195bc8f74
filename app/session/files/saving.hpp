#pragma once
/// Writes documents and training runs as the user saves them.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"
#include "engine/io/file_stamp.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

/// A run, to be saved with its curves and all its moments.
struct RunToSave {
    std::filesystem::path folder;
    bool named_here = false;                ///< the name of the folder is not one that the user chose
    std::optional<std::int64_t> continued;  ///< the step of this run that the folder held when it was last opened or saved; none: nothing
    std::function<std::shared_ptr<const RunFolder>()> contents;  ///< waits for the run; throws Error if it no longer exists
    std::function<void(std::int64_t step)> saved;                ///< called when it is written
};

struct DocumentToSave {
    std::filesystem::path path;  ///< run_document(FOLDER): it becomes part of the run in that folder
    std::shared_ptr<const Document> document;
    std::optional<Look> look;
    std::map<std::uint64_t, std::filesystem::path> run_places;  ///< of the runs that it names
    std::shared_ptr<const std::string> text_of_run;             ///< the training text that the run in its folder brings along; null: none
};

struct ThingsToSave {
    std::optional<DocumentToSave> document;
    std::vector<RunToSave> runs;
    FileStamps known;      ///< of the files as they were last opened or saved here
    bool replace = false;  ///< whatever else is there may be replaced
};

/// The outcome of save_things().
struct SavedThings {
    std::filesystem::path in_the_way;        ///< what would be replaced although it is not known here; empty: everything was written
    bool changed = false;                    ///< it was known, but has changed since
    bool is_other_run = false;               ///< it is known, as another run
    FileStamps stamps;                       ///< of what was written
    std::optional<std::int64_t> run_step{};  ///< of the last run written
};

/// Writes the runs, each with the document that belongs into its folder, then any other document. If that would replace anything that is
/// not as it was last seen here, nothing is written. Throws FileError, and Error as `contents`.
SavedThings save_things(const ThingsToSave& things);

}  // namespace attn::app
