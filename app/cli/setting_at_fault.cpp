#include "app/cli/setting_at_fault.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "engine/io/json.hpp"

namespace attn::app {
namespace {

void collect_places(const Json& object, const std::string& before, std::vector<std::string>& places) {
    for (const auto& [key, value] : object.members()) {
        if (value.is_object()) collect_places(value, before + "/" + key, places);
        else places.push_back(before + "/" + key);
    }
}

/// "d_model" of "/model/d_model" and of "model.d_model=30".
std::string_view last_part(std::string_view setting) {
    setting = setting.substr(0, setting.find('='));
    return setting.substr(setting.find_last_of("./") + 1);
}

}  // namespace

std::vector<std::string> places_of_values(const std::string& json) {
    std::vector<std::string> places;
    if (const Json whole = Json::parse(json, ""); whole.is_object()) collect_places(whole, "", places);
    return places;
}

std::string without_value(const std::string& json, const std::string& place) {
    Json whole = Json::parse(json, "");
    Json* object = &whole;
    std::size_t from = 1;
    for (std::size_t end = place.find('/', from); end != std::string::npos; end = place.find('/', from = end + 1))
        object = &(*object)[place.substr(from, end - from)];
    std::erase_if(object->members(), [&](const auto& member) { return member.first == place.substr(from); });
    return whole.dump();
}

int setting_at_fault(const std::vector<std::string>& settings, const std::string& problem, const std::function<bool(std::size_t)>& works) {
    std::vector<std::size_t> order(settings.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t i) { return problem.find(last_part(settings[i])) != std::string::npos; });
    const auto found = std::find_if(order.begin(), order.end(), works);
    return found == order.end() ? -1 : static_cast<int>(*found);
}

}  // namespace attn::app
