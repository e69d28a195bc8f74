#include "app/session/facets/token_search.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace attn::app {
namespace {

bool same_letter(char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b)); }

std::string_view without_space(std::string_view text) { return text.substr(std::min(text.find_first_not_of(' '), text.size())); }

}  // namespace

std::vector<std::int32_t> tokens_named(const std::vector<std::string>& vocabulary, std::string_view text) {
    std::vector<std::int32_t> named;
    const auto add = [&](const std::string& name) {
        const auto found = std::find(vocabulary.begin(), vocabulary.end(), name);
        if (found != vocabulary.end()) named.push_back(static_cast<std::int32_t>(found - vocabulary.begin()));
    };
    const bool quoted = text.size() > 2 && text.front() == '"' && text.back() == '"';
    if (quoted) {
        add(std::string(text.substr(1, text.size() - 2)));
        return named;
    }
    add(std::string(text));
    if (!text.starts_with(' ')) add(" " + std::string(text));
    return named;
}

std::vector<std::int32_t> tokens_with(const std::vector<std::string>& vocabulary, std::string_view text, std::size_t most) {
    const std::string_view wanted = without_space(text);
    std::array<std::vector<std::int32_t>, 4> found;  // equal, equal but for capitals, begins with it, contains it
    if (wanted.empty()) return {};
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view name = without_space(vocabulary[id]);
        const auto at = std::search(name.begin(), name.end(), wanted.begin(), wanted.end(), same_letter);
        if (at == name.end()) continue;
        auto& group = found[name == wanted ? 0 : at != name.begin() ? 3 : name.size() == wanted.size() ? 1 : 2];
        if (group.size() < most) group.push_back(static_cast<std::int32_t>(id));
    }
    std::vector<std::int32_t> all;
    for (const auto& group : found)
        for (const std::int32_t id : group)
            if (all.size() < most) all.push_back(id);
    return all;
}

}  // namespace attn::app
