#pragma once
/// Model configurations as JSON objects, for presets, documents, runs and trace files.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/io/json_object.hpp"
#include "engine/plan/config.hpp"

namespace attn {

/// AsNeeded leaves out fields that most models do not use (GQA, RMS norm, gated feed-forward, RoPE, ...) if they have their default.
enum class ConfigFields : std::uint8_t { AsNeeded, All };

/// Every field under its C++ name; enumerators as snake_case words ("decoder_only", "gelu_tanh").
Json to_json(const Config& config, ConfigFields fields = ConfigFields::AsNeeded);

/// Missing fields keep their value in `base`. Throws FileError naming the source and the JSON pointer for an unknown field, a wrong type or
/// a number out of range. Call validate() to check that the fields are consistent.
Config config_from_json(JsonObject object, Config base = {});

/// The same from JSON text that is one object.
Config config_from_json(std::string_view text, std::string_view source);

}  // namespace attn
