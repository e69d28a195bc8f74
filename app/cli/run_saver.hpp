#pragma once
/// Saves the run of `attnscope train`, and handles failures to save.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "app/cli/arguments.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "engine/train/training_run.hpp"

namespace attn::app {

/// Save after this many steps or seconds, whichever is set. With neither, every 15 seconds, using at most a twentieth of the time.
struct SavePace {
    std::int64_t steps = 0;
    double seconds = 0;
};

struct SaveOptions {
    std::filesystem::path out;  ///< empty: nothing is saved
    bool force = false;         ///< a run in `out` may be overwritten
    std::string every;          ///< "500" steps, "30s", "5m"; "" for the default pace
};

/// Adds --out, --force and --save-every.
void add_save_options(CliCommand command, SaveOptions& options);

/// Saves a run to --out; without --out it does nothing. Not thread-safe.
class RunSaver {
public:
    /// Locks the folder, if there is one, before a run is read from it. `resumed`: the checkpoint to resume, if any. Throws FileError if
    /// another process writes to the folder, or if it holds another run that may not be overwritten.
    RunSaver(const SaveOptions& options, const std::filesystem::path& resumed);

    /// To be called before the first step. Throws FileError if the folder is not writable.
    void begin(const TrainingRun& run);
    bool due(std::int64_t step) const;

    /// Saves the run with the curves and head scores of `past`. Never throws; returns a message about any problem, or "".
    std::string save(TrainingRun& run, const RunFolder& past);
    /// Saves at the end of the run and retries once on failure. Returns what could not be saved, or "".
    std::string save_last(TrainingRun& run, const RunFolder& past);
    /// Whether the last save stored the model, possibly without the rest.
    bool saved() const { return problem_.empty() || incomplete_; }

private:
    void take_folder();
    void try_saving(TrainingRun& run, const RunFolder& past);

    SaveOptions options_;
    std::filesystem::path resumed_;
    SavePace pace_;
    bool continues_ = false;  ///< the folder holds the run being resumed
    std::optional<RunFolderWriter> writer_;
    RunExtras extras_;
    std::optional<std::int64_t> saved_step_;  ///< step of the checkpoint in the folder, if it belongs to this run
    std::int64_t tried_step_ = -1;            ///< step of the last attempt
    std::string problem_;                     ///< of the last attempt; "" for none
    bool incomplete_ = false;                 ///< despite the problem, the model itself was saved
    std::chrono::steady_clock::time_point due_;
};

}  // namespace attn::app
