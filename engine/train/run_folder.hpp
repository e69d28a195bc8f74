#pragma once
/// The folder in which a training run leaves what there is to see of it.

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

/// model.safetensors          the newest checkpoint, from which the run can be resumed; the one before as model.previous.safetensors
/// curves.csv                 a row a step: training and, where there was an evaluation, validation (see curve_csv.hpp)
/// heads.csv                  a row a head and evaluation: its scores on the probe
/// moments/step-N.safetensors models (without moments) after N steps
inline constexpr std::string_view kCheckpointName = "model.safetensors";
inline constexpr std::string_view kCurvesName = "curves.csv";
inline constexpr std::string_view kHeadsName = "heads.csv";
inline constexpr std::string_view kMomentsName = "moments";

/// 120 -> "step-120.safetensors"
std::string moment_name(std::int64_t step);
/// Steps of the moments in that folder; none when there is no such folder. Throws FileError.
std::set<std::int64_t> stored_moments(const std::filesystem::path& folder);

/// All of a run; nothing of it lies after checkpoint.steps.
struct RunFolder {
    Checkpoint checkpoint;
    std::vector<LossPoint> losses;  ///< steps ascend, as in all lists
    std::vector<ValidationPoint> validations;
    std::vector<HeadPoint> heads;
    std::vector<Moment> moments;  ///< the last is that of the checkpoint
};

/// Throws FileError: Schema for a folder without a checkpoint or whose moments are of another run, and whatever is wrong with one of the
/// files. curves.csv, heads.csv and moments may be missing; what they tell beyond the checkpoint's steps (a run that was killed between
/// two writes) is left out.
RunFolder read_run_folder(const std::filesystem::path& folder);

}  // namespace attn
