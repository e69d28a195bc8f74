#include "engine/trace/edit_json.hpp"

#include <array>
#include <limits>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/json_fields.hpp"

namespace attn {
namespace {

// In enumerator order.
constexpr std::array<std::string_view, 4> kKinds = {"set", "scale", "freeze", "take_row"};
constexpr std::array<std::string_view, 4> kPatterns = {"uniform", "previous", "self", "first"};

constexpr std::int64_t kMostIndex = std::numeric_limits<std::int32_t>::max();

bool has_value(EditKind kind) { return kind == EditKind::Set || kind == EditKind::Scale; }

Json to_json(const Edit& edit) {
    Json out{{"kind", name_of(kKinds, edit.kind)}, {"stage", tensor_name(edit.at)}};
    const auto put = [&](const char* key, std::int64_t index) {
        if (index != Edit::kAll) out[key] = index;
    };
    put("sequence", edit.sequence);
    put("head", edit.head);
    put("row", edit.row);
    if (has_value(edit.kind)) {
        put("column", edit.column);
        out["value"] = finite("the value of an edit", edit.value);
    }
    if (edit.kind == EditKind::Freeze) out["pattern"] = name_of(kPatterns, edit.pattern);
    if (edit.kind == EditKind::TakeRow) {
        put("from", edit.from);
        put("from_sequence", edit.from_sequence);
    }
    if (!edit.on) out["on"] = false;
    return out;
}

void require(bool there, const JsonObject& object, std::string_view key) {
    if (!there) object.fail_missing(key);
}

Edit edit_from_json(JsonObject object) {
    Edit edit;
    std::string stage;
    require(object.has("kind"), object, "kind");
    read_enum(object, "kind", kKinds, edit.kind);
    require(object.read("stage", stage), object, "stage");
    const std::optional<StageId> id = stage_from_tensor_name(stage);
    if (!id) object.fail("stage", "there is no stage \"" + escaped(stage) + "\"");
    edit.at = *id;
    if (!is_editable(edit.at.stage, edit.kind))
        object.fail("stage", "the numbers of \"" + escaped(stage) + "\" cannot be edited like this");
    object.read("sequence", edit.sequence, 0, kMostIndex);
    object.read("head", edit.head, 0, kMostIndex);
    const bool has_row = object.read("row", edit.row, 0, kMostIndex);
    if (has_value(edit.kind)) {
        object.read("column", edit.column, 0, kMostIndex);
        require(object.read("value", edit.value, -Edit::kMostValue, Edit::kMostValue), object, "value");
    }
    if (edit.kind == EditKind::Freeze) {
        require(object.has("pattern"), object, "pattern");
        read_enum(object, "pattern", kPatterns, edit.pattern);
    }
    if (edit.kind == EditKind::TakeRow) {
        const bool from_other_text = object.read("from_sequence", edit.from_sequence, 0, kMostIndex);
        require(has_row || from_other_text, object, "row");
        if (!object.read("from", edit.from, 0, kMostIndex)) {
            require(from_other_text, object, "from");
            edit.from = Edit::kAll;
        }
    }
    object.read("on", edit.on);
    object.expect_no_more();
    return edit;
}

}  // namespace

Json to_json(const std::vector<Edit>& edits) {
    Json out = Json::list();
    for (const Edit& edit : edits) out.push_back(to_json(edit));
    return out;
}

std::vector<Edit> edits_from_json(JsonObject& object) {
    std::vector<JsonObject> objects = object.objects("edits");
    if (objects.size() > kMostEdits)
        object.fail("edits", "at most " + std::to_string(kMostEdits) + " edits are read, found " + std::to_string(objects.size()));
    std::vector<Edit> edits;
    edits.reserve(objects.size());
    for (JsonObject& edit : objects) edits.push_back(edit_from_json(std::move(edit)));
    return edits;
}

}  // namespace attn
