#pragma once
/// Forward settings (masks, temperature, dropout, edits, a mistake) as JSON objects, for documents, runs and trace files.

#include <string_view>

#include "engine/io/json_object.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Every field under its C++ name; edits only if there are any.
Json to_json(const ForwardSettings& settings);

/// Missing fields keep their value in `base`. Throws FileError naming the source and the JSON pointer for an unknown field, a wrong type or
/// a number out of range.
ForwardSettings forward_settings_from_json(JsonObject object, ForwardSettings base = {});

/// The same from JSON text that is one object.
ForwardSettings forward_settings_from_json(std::string_view text, std::string_view source);

}  // namespace attn
