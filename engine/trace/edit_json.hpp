#pragma once
/// Edits as JSON: {"kind": "freeze", "stage": "layers.0.attention.weights", "head": 1, "pattern": "previous"}.

#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/trace/edit.hpp"

namespace attn {

/// A list of objects. Only what matters for the kind is written, and an index that stands for all of them is left out.
Json to_json(const std::vector<Edit>& edits);

/// The list under "edits"; none when the field is missing. Throws FileError naming the source and the JSON pointer for a stage that does
/// not exist or has no such edit, a field that the kind has no use for or cannot be without, a wrong type, a number outside its range
/// and for more than kMostEdits.
std::vector<Edit> edits_from_json(JsonObject& object);

}  // namespace attn
