#pragma once
/// --set key=value: changes single settings of a training run by name.

#include <string>

#include "engine/train/run_settings.hpp"

namespace attn::app {

/// Returns `settings` with one change. `assignment` is KEY=VALUE, where KEY is the path of a setting ("train.schedule.rate") or, if
/// unambiguous, its last part ("rate"). Throws Error for an unknown or ambiguous key, FileError for an invalid value.
RunSettings with_setting(const RunSettings& settings, const std::string& assignment);

/// "batch_size, evaluate_every, model.activation, ..."
std::string setting_names();

}  // namespace attn::app
