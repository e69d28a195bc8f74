#pragma once
/// When and where `attnscope train` saves its run, and what happens when it cannot.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "app/cli/arguments.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "engine/train/training_run.hpp"

namespace attn::app {

/// After so many steps or seconds, whichever is given; without either every 15 seconds, for at most a twentieth of the time.
struct SavePace {
    std::int64_t steps = 0;
    double seconds = 0;
};

struct SaveOptions {
    std::filesystem::path out;  ///< empty: nothing is kept
    bool force = false;         ///< a run in `out` may be replaced
    std::string every;          ///< "500" steps, "30s", "5m"; "" for the pace that suits
};

/// --out, --force and --save-every.
void add_save_options(CliCommand command, SaveOptions& options);

/// Saves one run into --out. One thread. Without --out it does nothing.
class RunSaver {
public:
    /// Takes hold of the folder if there is one, before a run is read from it. `resumed`: the checkpoint that is taken up, if one is.
    /// Throws FileError when another process writes into the folder, and when it holds a run that is neither the resumed one nor may be
    /// replaced.
    RunSaver(const SaveOptions& options, const std::filesystem::path& resumed);

    /// Before the first step. Throws FileError when the folder cannot be written.
    void begin(const TrainingRun& run);
    bool due(std::int64_t step) const;

    /// Saves the run with the curves and heads of `past`; never throws. Returns what is to be said about it, "" when all is as it should
    /// be.
    std::string save(TrainingRun& run, const RunFolder& past);
    /// The same at the end of the run, tried once more if it fails: what is lost, "" for nothing.
    std::string save_last(TrainingRun& run, const RunFolder& past);
    /// True when the last save left the model of that moment in the folder.
    bool saved() const { return problem_.empty() || incomplete_; }

private:
    void take_folder();
    void try_saving(TrainingRun& run, const RunFolder& past);

    SaveOptions options_;
    std::filesystem::path resumed_;
    SavePace pace_;
    bool continues_ = false;  ///< what is in the folder is the run that is taken up
    std::optional<RunFolderWriter> writer_;
    std::optional<std::int64_t> saved_step_;  ///< of the checkpoint in the folder, where it is this run's
    std::int64_t tried_step_ = -1;            ///< of the last save
    std::string problem_;                     ///< with the last save; "" for none
    bool incomplete_ = false;                 ///< the model itself was saved all the same
    std::chrono::steady_clock::time_point due_;
};

}  // namespace attn::app
