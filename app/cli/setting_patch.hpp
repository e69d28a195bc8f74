#pragma once
/// --set key=value: single settings of a training run by name.

#include <string>

#include "engine/train/run_settings.hpp"

namespace attn::app {

/// `settings` with one of them changed. `assignment` is KEY=VALUE, where KEY is the path of a setting ("train.schedule.rate") or its last
/// part where only one setting is called so ("rate"). Throws Error for a key that does not exist or is not clear, FileError for a value
/// that does not fit.
RunSettings with_setting(const RunSettings& settings, const std::string& assignment);

/// "batch_size, evaluate_every, model.activation, ..."
std::string setting_names();

}  // namespace attn::app
