#include "app/session/document/look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "app/session/document/knock_out_names.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"
#include "engine/io/json_fields.hpp"
#include "engine/io/json_object.hpp"
#include "engine/plan/stage_list.hpp"

namespace attn::app {
namespace {

constexpr std::int64_t kMaxIndex = std::int64_t{1} << 31;

// In the order of the enumerations.
constexpr std::array<std::string_view, kLessonControls> kControls = {"shown",  "masks", "softmax", "compare", "model",
                                                                     "tokens", "parts", "heads",   "edits",   "mistakes"};
constexpr std::array<std::string_view, 3> kPanes = {"settings", "cell", "stages"};
constexpr std::array<std::pair<std::string_view, Compare>, 5> kComparisons = {{{"itself", Compare::Itself},
                                                                               {"unedited", Compare::Plain},
                                                                               {"unmasked", Compare::Unmasked},
                                                                               {"correct", Compare::Correct},
                                                                               {"pinned", Compare::Pinned}}};
constexpr std::array<std::string_view, 4> kLayouts = {"all", "side", "difference", "in_place"};  // in the order of CompareLayout
constexpr std::array<std::string_view, 2> kTotals = {"mean", "rollout"};
constexpr std::array<Axis, 6> kCellAxes = {Axis::T, Axis::S, Axis::C, Axis::D, Axis::F, Axis::V};

/// Sets the flags of the names listed under `key`. An unknown name is an error that lists the valid ones.
template <std::size_t N>
void read_names(JsonObject& object, std::string_view key, const std::array<std::string_view, N>& names, std::array<bool, N>& chosen) {
    std::vector<std::string> listed;
    if (!object.read(key, listed)) return;
    chosen.fill(false);
    for (const std::string& name : listed) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end())
            object.fail(key, fmt::format("there is no \"{}\"; expected any of {}", escaped(name), fmt::join(names, ", ")));
        chosen[static_cast<std::size_t>(found - names.begin())] = true;
    }
}

void read_panes(JsonObject& object, Look& look) {
    std::array<bool, kPanes.size()> panes = {look.settings, look.inspector, look.stages};
    read_names(object, "panes", kPanes, panes);
    look.settings = panes[0];
    look.inspector = panes[1];
    look.stages = panes[2];
    std::array<bool, kControls.size()> controls{};
    for (std::size_t i = 0; i < controls.size(); ++i) controls[i] = look.controls[i];
    read_names(object, "controls", kControls, controls);
    for (std::size_t i = 0; i < controls.size(); ++i) look.controls[i] = controls[i];
}

/// A layer beside a stage without one, or contradicting the stage's own, is an error.
void expect_layer(const JsonObject& object, const StageId& id, std::int32_t layer) {
    if (id.layer < 0) object.fail("layer", fmt::format("{} belongs to no layer", tensor_name(id)));
    if (id.layer != layer) object.fail("layer", fmt::format("{} belongs to layer {}", tensor_name(id), id.layer));
}

void read_stage(JsonObject& object, StageId& id) {
    std::int32_t layer = std::max(id.layer, 0);
    const bool other_layer = object.read("layer", layer, 0, 1000);
    std::string name;
    if (object.read("stage", name)) {
        if (const std::optional<StageId> exact = stage_from_tensor_name(name)) {
            id = *exact;
        } else if (const std::optional<StageId> named = stage_from_name(name, layer)) {
            id = *named;
        } else {
            object.fail("stage", fmt::format("there is no stage \"{}\"; the stages are {}", escaped(name), all_stages()));
        }
    } else if (other_layer && id.layer >= 0) {
        id.layer = layer;
    }
    if (other_layer) expect_layer(object, id, layer);
}

void read_cell(JsonObject& object, Look& look) {
    std::optional<JsonObject> cell = object.optional_object("cell");
    if (!cell) return;
    look.cell.clear();
    for (const Axis axis : kCellAxes)
        if (std::int64_t index = 0; cell->read(axis_letter(axis), index, 0, kMaxIndex)) look.cell.emplace_back(axis, index);
    cell->expect_no_more();
}

void read_comparison(JsonObject& object, Look& look) {
    std::vector<std::string_view> names;
    for (const auto& [name, compare] : kComparisons) names.push_back(name);
    if (std::size_t index = 0; object.read_choice("compare", names, index)) look.compare = kComparisons[index].second;
    read_enum(object, "compare_as", kLayouts, look.compare_as);
    for (const auto& [key, value] : {std::pair{"compare_layer", &look.compare_layer},
                                     {"compare_head", &look.compare_head},
                                     {"compare_sequence", &look.compare_sequence}})
        if (std::int64_t index = 0; object.read(key, index, 0, kMaxIndex)) *value = index;
}

void read_totals(JsonObject& object, Look& look) {
    if (std::size_t index = 0; object.read_choice("totals", {kTotals.begin(), kTotals.end()}, index)) look.rollout = index == 1;
    if (std::int64_t layer = 0; object.read("totals_layer", layer, 0, kMaxIndex)) look.up_to = layer;
}

constexpr const char* kZero = "zero";  // beside the names of parts: heads, taken from no text

void read_knock_out(JsonObject& object, Look& look) {
    const std::vector<std::string> measures = joined_names(kMeasureNames, '_'), parts = joined_names(kPartNames, '_');
    read_enum(object, "measure", std::vector<std::string_view>(measures.begin(), measures.end()), look.measure);
    std::vector<std::string_view> replaced(parts.begin(), parts.end());
    replaced.emplace_back(kZero);
    if (std::int64_t token = 0; object.read("against", token, 0, kMaxIndex - 1)) look.against = static_cast<std::int32_t>(token);
    if (std::size_t index = 0; object.read_choice("replaced", replaced, index)) {
        const bool zero = replaced[index] == kZero;
        if (zero && object.has("replaced_from")) object.fail("replaced_from", "zero is taken from no text");
        if (zero) look.replaced_from.reset();
        look.replaced = zero ? ReplacedParts::Heads : static_cast<ReplacedParts>(index);
    }
    if (std::int64_t text = 0; object.read("replaced_from", text, 0, kMaxIndex)) look.replaced_from = text;
}

}  // namespace

void read_look(JsonObject& object, Look& look) {
    std::vector<std::string_view> names;
    for (const ViewInfo& info : views()) names.push_back(info.name);
    read_enum(object, "view", names, look.view);
    read_stage(object, look.stage);
    object.read("head", look.head, 0, kMaxIndex);
    object.read("sequence", look.sequence, 0, kMaxIndex);
    read_cell(object, look);
    object.read("gradients", look.gradients);
    if (bool unmasked = false; object.read("compare_unmasked", unmasked)) look.compare = unmasked ? Compare::Unmasked : Compare::Off;
    read_comparison(object, look);
    read_totals(object, look);
    read_knock_out(object, look);
    read_panes(object, look);
}

Json to_json(const Look& look) {
    Json cell = Json::object();
    for (const auto& [axis, index] : look.cell) cell[axis_letter(axis)] = index;
    Json json{{"view", std::string(view_info(look.view).name)}, {"stage", tensor_name(look.stage)}, {"head", look.head}};
    json["sequence"] = look.sequence;
    json["cell"] = std::move(cell);
    json["gradients"] = look.gradients;
    if (!look.rollout) json["totals"] = std::string(kTotals[0]);
    if (look.up_to) json["totals_layer"] = *look.up_to;
    if (look.measure != AnswerMeasure::Loss) json["measure"] = joined_names(kMeasureNames, '_').at(static_cast<std::size_t>(look.measure));
    if (look.against) json["against"] = *look.against;
    if (look.replaced != ReplacedParts::Heads) json["replaced"] = joined_names(kPartNames, '_').at(static_cast<std::size_t>(look.replaced));
    if (look.replaced_from) json["replaced_from"] = *look.replaced_from;
    const auto named = std::find_if(kComparisons.begin(), kComparisons.end(), [&](const auto& one) { return one.second == look.compare; });
    if (named == kComparisons.end()) return json;
    json["compare"] = std::string(named->first);
    json["compare_as"] = name_of(kLayouts, look.compare_as);
    for (const auto& [key, value] :
         {std::pair{"compare_layer", look.compare_layer}, {"compare_head", look.compare_head}, {"compare_sequence", look.compare_sequence}})
        if (value) json[key] = *value;
    return json;
}

}  // namespace attn::app
