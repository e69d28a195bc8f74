#pragma once
/// Which run `attnscope train` makes or takes up.

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
    std::filesystem::path half_file;  ///< gets the finished model in half precision; empty: none is written
    std::optional<std::int64_t> steps;
    std::optional<std::uint64_t> seed;
    std::vector<std::string> assignments;  ///< of --set
    std::string tokenizer;                 ///< of a text: "character" or "bpe"; "": as the configuration says
    std::optional<std::int64_t> vocab;     ///< pieces of "bpe"
    std::string bug;                       ///< name of a mistake to make on purpose; "" for none
    int threads = 0;                       ///< 0: all
    bool json = false;
};

void add_train_options(CliCommand command, TrainOptions& options);

/// A run before its next step, and the curves that it has behind it.
struct WantedRun {
    std::unique_ptr<TrainingRun> run;
    RunFolder past;  ///< of a run that is taken up; only its curves are used
};

/// Throws Error for options that contradict each other and for a run that would learn nothing, ConfigError for settings that no run can
/// have, FileError for bad files.
WantedRun make_run(const TrainOptions& options);

}  // namespace attn::app
