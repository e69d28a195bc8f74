#include "app/cli/setting_patch.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/io/run_json.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

using nlohmann::json;

struct NamedSetting {
    std::string name;  ///< "train.schedule.rate"
    json::json_pointer pointer;
};

void collect(const json& object, const std::string& before, const json::json_pointer& at, std::vector<NamedSetting>& settings) {
    for (const auto& [key, value] : object.items()) {
        const std::string name = before.empty() ? key : before + "." + key;
        if (value.is_object()) collect(value, name, at / key, settings);
        else settings.push_back({name, at / key});
    }
}

std::vector<NamedSetting> all_settings(const json& object) {
    std::vector<NamedSetting> settings;
    collect(object, "", json::json_pointer(), settings);
    return settings;
}

bool is_last_part(const std::string& part, const std::string& name) { return name.ends_with("." + part); }

json::json_pointer find(const json& object, const std::string& key) {
    const std::vector<NamedSetting> settings = all_settings(object);
    std::vector<const NamedSetting*> candidates;
    for (const NamedSetting& setting : settings) {
        if (setting.name == key) return setting.pointer;
        if (is_last_part(key, setting.name)) candidates.push_back(&setting);
    }
    if (candidates.size() == 1) return candidates.front()->pointer;
    if (candidates.empty()) throw Error(fmt::format("--set: there is no setting {} (attnscope train --help lists them)", key));
    std::string names;
    for (const NamedSetting* candidate : candidates) names += (names.empty() ? "" : " or ") + candidate->name;
    throw Error(fmt::format("--set: {} is not clear: {}", key, names));
}

/// Numbers, truth values and lists as JSON; everything else is a word.
json parse_value(const std::string& text) {
    json value = json::parse(text, nullptr, false);
    return value.is_discarded() ? json(text) : value;
}

}  // namespace

RunSettings with_setting(const RunSettings& settings, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        throw Error(fmt::format("--set {}: expected KEY=VALUE, such as train.schedule.rate=0.001", assignment));
    json object = to_json(settings);
    const json::json_pointer pointer = find(object, assignment.substr(0, equals));
    json patch;
    patch[pointer] = parse_value(assignment.substr(equals + 1));
    // Invalid UTF-8 is replaced, and then refused as a word that does not exist.
    return run_settings_from_json(patch.dump(-1, ' ', false, json::error_handler_t::replace), "--set", settings);
}

std::string setting_names() {
    std::string names;
    for (const NamedSetting& setting : all_settings(to_json(default_run(TaskKind::Copy))))
        names += (names.empty() ? "" : ", ") + setting.name;
    return names;
}

}  // namespace attn::app
