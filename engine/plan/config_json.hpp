#pragma once
/// Model configurations as JSON objects, for presets, documents, runs and trace files.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/io/json_object.hpp"
#include "engine/plan/config.hpp"

namespace attn {

/// AsNeeded leaves out what most models do without (grouped heads, another norm, a gate, rotary positions) where it is as usual.
enum class ConfigFields : std::uint8_t { AsNeeded, All };

/// Every field under its C++ name; enumerations as snake_case words ("decoder_only", "gelu_tanh").
Json to_json(const Config& config, ConfigFields fields = ConfigFields::AsNeeded);

/// Fields that are missing stay as in `base`. Throws FileError naming the source and the JSON pointer for an unknown field, a wrong
/// type or a number outside its range. Whether the fields fit together is validate()'s question.
Config config_from_json(JsonObject object, Config base = {});

/// The same from a text that is one object.
Config config_from_json(std::string_view text, std::string_view source);

}  // namespace attn
