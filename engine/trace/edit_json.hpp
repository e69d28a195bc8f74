#pragma once
/// Edits as JSON: {"kind": "freeze", "stage": "layers.0.attention.weights", "head": 1, "pattern": "previous"}.

#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/trace/edit.hpp"

namespace attn {

/// A JSON array of objects. Writes only the fields that the kind uses, and leaves out indices that are kAll.
Json to_json(const std::vector<Edit>& edits);

/// The list in field "edits"; empty if the field is missing. Throws FileError naming the source and the JSON pointer for a stage that does
/// not exist or does not support the kind, a field that the kind does not use, a missing one that it requires, a wrong type, a number out
/// of range, or more than kMostEdits edits.
std::vector<Edit> edits_from_json(JsonObject& object);

}  // namespace attn
