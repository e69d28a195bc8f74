#pragma once
/// Reads the folder in which a training run saves its results.

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/checkpoint.hpp"
#include "engine/train/curve.hpp"
#include "engine/train/history.hpp"

namespace attn {

/// model.safetensors          the newest checkpoint, from which the run can be resumed; the previous one is model.previous.safetensors
/// curves.csv                 one row per step: training and, where there was an evaluation, validation (see curve_csv.hpp)
/// heads.csv                  one row per head and evaluation: its scores on the probe
/// moments/step-N.safetensors models after N steps, without the optimizer's moments
/// document.attnscope.json    if the window saved it: what it showed of the run
inline constexpr std::string_view kCheckpointName = "model.safetensors";
inline constexpr std::string_view kCurvesName = "curves.csv";
inline constexpr std::string_view kHeadsName = "heads.csv";
inline constexpr std::string_view kMomentsName = "moments";
inline constexpr std::string_view kRunDocumentName = "document.attnscope.json";

/// 120 -> "step-120.safetensors"
std::string moment_name(std::int64_t step);
/// Steps of the moments in that folder; empty if it does not exist. Throws FileError.
std::set<std::int64_t> stored_moments(const std::filesystem::path& folder);

/// Whether the path is a training run's folder or a checkpoint of ours, intact or damaged behind its header.
bool is_run(const std::filesystem::path& path);
/// The newest checkpoint of a run, given by its folder or as a file. Throws FileError, with Schema for a folder without a checkpoint.
Checkpoint read_run_checkpoint(const std::filesystem::path& path);

/// A whole run; nothing in it is later than checkpoint.steps.
struct RunFolder {
    Checkpoint checkpoint;
    std::vector<LossPoint> losses;  ///< by ascending step, like all lists here
    std::vector<ValidationPoint> validations;
    std::vector<HeadPoint> heads;
    std::vector<Moment> moments;  ///< the last is the checkpoint's
};

/// Throws FileError: Schema for a folder without a checkpoint or with moments of another run, and for any fault in its files. curves.csv,
/// heads.csv and moments may be missing; entries later than the checkpoint (from a run killed between two writes) are dropped.
RunFolder read_run_folder(const std::filesystem::path& folder);

}  // namespace attn
