#pragma once
/// The options of `attnscope train`, and the run they describe.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/arguments.hpp"
#include "app/cli/run_saver.hpp"
#include "engine/train/run_folder.hpp"
#include "engine/train/training_run.hpp"

namespace attn::app {

struct TrainOptions {
    std::string task;
    std::filesystem::path text_file, config_file, resume_file;
    SaveOptions save;
    std::filesystem::path half_file;  ///< receives the finished model in half precision; empty: not written
    std::optional<std::int64_t> steps;
    std::optional<std::uint64_t> seed;
    std::vector<std::string> assignments;  ///< from --set
    std::filesystem::path from;            ///< model that is trained further; empty: random parameters
    std::string tokenizer;                 ///< for texts: "character" or "bpe"; "": as configured
    std::optional<std::int64_t> vocab;     ///< vocabulary size of "bpe"
    std::string bug;                       ///< name of the deliberate mistake; "" for none
    int threads = 0;                       ///< 0: all
    bool json = false;
};

void add_train_options(CliCommand command, TrainOptions& options);

/// A run before its next step, with its curves so far.
struct WantedRun {
    std::unique_ptr<TrainingRun> run;
    RunFolder past;  ///< of a resumed run; only its curves, name and course are used
};

/// Throws Error for contradictory options and for a run that would learn nothing, ConfigError for invalid settings, FileError for invalid
/// files.
WantedRun make_run(const TrainOptions& options);

}  // namespace attn::app
