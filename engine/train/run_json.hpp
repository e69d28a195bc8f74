#pragma once
/// The settings of a training run as a JSON object, for configuration files and checkpoints.

#include <string_view>

#include "engine/io/json_object.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {

/// Every field under its C++ name, nested as in the struct; a Text task's text is not among them, only its name, and a schedule's
/// `continued` only where there is one.
/// Throws ConfigError for a number that is not finite.
Json to_json(const RunSettings& settings);

/// Fields that are missing stay as in `base`. Throws FileError naming the source and the JSON pointer for an unknown field, a wrong type
/// or a number that no run could have. Whether the settings fit together is validate()'s question.
RunSettings run_settings_from_json(JsonObject object, RunSettings base = {});
/// The same from a text that is one object.
RunSettings run_settings_from_json(std::string_view text, std::string_view source, RunSettings base = {});

}  // namespace attn
