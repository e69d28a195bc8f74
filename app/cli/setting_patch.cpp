#include "app/cli/setting_patch.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/settings_json.hpp"
#include "engine/train/run_json.hpp"

namespace attn::app {
namespace {

/// Collects the names of all settings, such as "train.schedule.rate".
void collect(const Json& object, const std::string& before, std::vector<std::string>& names) {
    for (const auto& [key, value] : object.members()) {
        const std::string name = before.empty() ? key : before + "." + key;
        if (value.is_object()) collect(value, name, names);
        else names.push_back(name);
    }
}

std::vector<std::string> all_settings(const RunSettings& settings) {
    std::vector<std::string> names;
    Json all = to_json(settings);
    all["model"] = to_json(settings.model, ConfigFields::All);
    collect(all, "", names);
    return names;
}

bool is_last_part(const std::string& part, const std::string& name) { return name.ends_with("." + part); }

/// Resolves `key` to the full name of a setting.
std::string find(const RunSettings& settings, const std::string& key) {
    std::vector<std::string> candidates;
    for (const std::string& name : all_settings(settings)) {
        if (name == key) return name;
        if (is_last_part(key, name)) candidates.push_back(name);
    }
    if (candidates.size() == 1) return candidates.front();
    if (candidates.empty()) throw Error(fmt::format("--set: there is no setting {} (attnscope train --help lists them)", escaped(key)));
    throw Error(fmt::format("--set: {} could be {}", escaped(key), fmt::join(candidates, " or ")));
}

/// Parses numbers, booleans and lists as JSON; everything else is a string.
Json parse_value(const std::string& text) {
    try {
        return Json::parse(text, "");
    } catch (const FileError&) {
        return text;
    }
}

}  // namespace

RunSettings with_setting(const RunSettings& settings, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        throw Error(fmt::format("--set {}: expected KEY=VALUE, such as train.schedule.rate=0.001", escaped(assignment)));
    const std::string name = find(settings, assignment.substr(0, equals));
    Json patch;
    Json* field = &patch;
    for (std::size_t from = 0, dot = 0; dot != std::string::npos; from = dot + 1) {
        dot = name.find('.', from);
        field = &(*field)[name.substr(from, dot == std::string::npos ? dot : dot - from)];
    }
    *field = parse_value(assignment.substr(equals + 1));
    // Invalid UTF-8 is replaced and then rejected as an unknown name.
    return run_settings_from_json(patch.dump(-1, Json::InvalidUtf8::Replace), "--set", settings);
}

std::string setting_names() { return fmt::format("{}", fmt::join(all_settings(default_run(TaskKind::Copy)), ", ")); }

}  // namespace attn::app
