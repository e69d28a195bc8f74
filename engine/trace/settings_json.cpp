#include "engine/trace/settings_json.hpp"

#include <limits>
#include <utility>

#include "engine/io/json_fields.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/edit_json.hpp"

namespace attn {
namespace {

constexpr std::int32_t kMaxPosition = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxPainted = std::size_t{1} << 20;

Json to_json(const MaskSettings& masks) {
    Json painted = Json::list();
    for (const PaintedCell& cell : masks.painted) painted.push_back({cell.query, cell.key});
    return {{"causal", masks.causal}, {"padding", masks.padding}, {"window", masks.window},
            {"prefix", masks.prefix}, {"block", masks.block},     {"painted", std::move(painted)}};
}

MaskSettings masks_from_json(JsonObject object, MaskSettings masks) {
    object.read("causal", masks.causal);
    object.read("padding", masks.padding);
    object.read("window", masks.window, 0, kMaxPosition);
    object.read("prefix", masks.prefix, 0, kMaxPosition);
    object.read("block", masks.block, 0, kMaxPosition);
    std::vector<std::pair<std::int32_t, std::int32_t>> painted;
    if (object.read("painted", painted, 0, kMaxPosition)) masks.painted.clear();
    if (painted.size() > kMaxPainted)
        object.fail("painted", "at most " + std::to_string(kMaxPainted) + " cells are read, found " + std::to_string(painted.size()));
    for (const auto& [query, key] : painted) masks.painted.push_back({query, key});
    object.expect_no_more();
    return masks;
}

DropoutSettings dropout_from_json(JsonObject object, DropoutSettings dropout) {
    object.read("attention", dropout.attention, 0, 1);
    object.read("residual", dropout.residual, 0, 1);
    object.read("embedding", dropout.embedding, 0, 1);
    object.read("seed", dropout.seed);
    object.expect_no_more();
    return dropout;
}

}  // namespace

Json to_json(const ForwardSettings& settings) {
    const DropoutSettings& dropout = settings.dropout;
    Json out{{"masks", to_json(settings.masks)},
             {"temperature", finite("temperature", settings.temperature)},
             {"dropout",
              {{"attention", finite("attention", dropout.attention)},
               {"residual", finite("residual", dropout.residual)},
               {"embedding", finite("embedding", dropout.embedding)},
               {"seed", dropout.seed}}},
             {"mistake", mistake_name(settings.mistake)}};
    // Training runs have no edits, so an empty list would only be clutter.
    if (!settings.edits.empty()) out["edits"] = to_json(settings.edits);
    return out;
}

ForwardSettings forward_settings_from_json(JsonObject object, ForwardSettings settings) {
    if (auto part = object.optional_object("masks")) settings.masks = masks_from_json(std::move(*part), std::move(settings.masks));
    object.read("temperature", settings.temperature, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
    if (auto part = object.optional_object("dropout")) settings.dropout = dropout_from_json(std::move(*part), settings.dropout);
    if (object.has("edits")) settings.edits = edits_from_json(object);
    if (std::string name; object.read("mistake", name)) {
        try {
            settings.mistake = mistake_by_name(name);
        } catch (const ConfigError& error) {
            object.fail("mistake", error.what());
        }
    }
    object.expect_no_more();
    return settings;
}

ForwardSettings forward_settings_from_json(std::string_view text, std::string_view source) {
    return forward_settings_from_json(JsonObject(text, source));
}

}  // namespace attn
