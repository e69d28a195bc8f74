#pragma once
/// A training run's settings as JSON, for configuration files and checkpoints.

#include <string_view>

#include "engine/io/json_object.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {

/// Every field under its C++ name, nested like the struct. Of a Text task's text only the name is included, and a schedule's `continued`
/// only if it is set. Throws ConfigError for a number that is not finite.
Json to_json(const RunSettings& settings);

/// Missing fields keep their value in `base`. Throws FileError naming the source and the JSON pointer for an unknown field, a wrong type or
/// an impossible number. Call validate() to check that the settings are consistent.
RunSettings run_settings_from_json(JsonObject object, RunSettings base = {});
/// The same from JSON text that is one object.
RunSettings run_settings_from_json(std::string_view text, std::string_view source, RunSettings base = {});

}  // namespace attn
