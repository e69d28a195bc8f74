#include "app/panels/views/token_choice.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "app/panels/maps/labels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kMostFound = 12;
constexpr float kTokenField = 180;

bool same_letter(char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b)); }

std::string_view without_space(std::string_view text) { return text.substr(std::min(text.find_first_not_of(' '), text.size())); }

std::string token_words(const PanelContext& context, std::int32_t token) {
    return fmt::format("‘{}’", index_label(context, context.trace().plan->logits(), Axis::V, token));
}

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

std::optional<std::int32_t> followed_token(const std::vector<std::string>& vocabulary, std::optional<std::int32_t> token,
                                           std::optional<NamedToken>& was) {
    const auto has = [&](std::int32_t id) { return id >= 0 && id < std::ssize(vocabulary); };
    const auto text = [&](std::int32_t id) { return vocabulary[static_cast<std::size_t>(id)]; };
    if (token && was && was->id == *token && !(has(*token) && text(*token) == was->text)) {
        const auto found = std::find(vocabulary.begin(), vocabulary.end(), was->text);
        token = found == vocabulary.end() ? std::nullopt : std::optional(static_cast<std::int32_t>(found - vocabulary.begin()));
    }
    if (token && !has(*token)) token.reset();
    if (!token) was.reset();
    else if (!was || was->id != *token) was = NamedToken{*token, text(*token)};
    return token;
}

std::optional<std::int32_t> choose_token(const PanelContext& context, const char* id, std::int32_t shown,
                                         std::span<const std::int32_t> likely, TokenSearch& search, float width, std::string_view tooltip) {
    const Ui ui = context.ui();
    if (!begin_menu_button(ui, id, token_words(context, shown), width, {.tooltip = tooltip})) return std::nullopt;
    if (ImGui::IsWindowAppearing()) {
        search = {};
        search.chosen = std::find(likely.begin(), likely.end(), shown) - likely.begin();
        focus_next_field();
    }
    const bool entered = text_field(ui, "##token", search.text, "any token", kTokenField);
    if (search.found_for != search.text) {
        search.found = tokens_with(context.snapshot.vocabulary, search.text, kMostFound);
        search.found_for = search.text;
        search.chosen = 0;
    }
    const std::span<const std::int32_t> listed = search.text.empty() ? likely : std::span<const std::int32_t>(search.found);
    if (key_pressed(Key::Down)) ++search.chosen;
    if (key_pressed(Key::Up)) --search.chosen;
    search.chosen = std::clamp<std::ptrdiff_t>(search.chosen, 0, std::max<std::ptrdiff_t>(std::ssize(listed) - 1, 0));
    std::optional<std::int32_t> chosen;
    if (entered && !listed.empty()) {
        chosen = listed[static_cast<std::size_t>(search.chosen)];
        ImGui::CloseCurrentPopup();
    }
    if (listed.empty() && !search.text.empty())
        text_line(ui, context.theme.fonts.label, context.theme.colors.muted, "No token contains this.");
    for (std::size_t i = 0; i < listed.size(); ++i) {
        ImGui::PushID(listed[i]);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        if (menu_item(ui, token_words(context, listed[i]), listed[i] == shown)) chosen = listed[i];
        if (static_cast<std::ptrdiff_t>(i) == search.chosen)
            ImGui::GetWindowDrawList()->AddRect(at, ImGui::GetItemRectMax(), context.theme.colors.accent, context.px(4));
        ImGui::PopID();
    }
    end_menu_button();
    return chosen;
}

}  // namespace attn::app
