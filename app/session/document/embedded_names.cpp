#include "app/session/document/embedded_names.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "app/session/document/document_json.hpp"
#include "assets/embedded.hpp"

namespace attn::app {

std::vector<std::string> embedded_names(std::string_view folder) {
    std::vector<std::pair<std::int32_t, std::string>> places;
    for (const EmbeddedFile& file : embedded_assets()) {
        if (!file.name.starts_with(folder)) continue;
        JsonObject object(file.bytes, file.name);
        auto& [order, name] = places.emplace_back();
        if (!object.read("name", name)) object.fail_missing("name");
        object.read("order", order, 0, 1000);
    }
    std::sort(places.begin(), places.end());
    std::vector<std::string> names;
    for (auto& place : places) names.push_back(std::move(place.second));
    return names;
}

}  // namespace attn::app
