#include "app/panels/views/token_choice.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>

#include "app/panels/maps/labels.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kMostFound = 12;
constexpr float kTokenField = 180;

std::string_view without_space(std::string_view text) { return text.substr(std::min(text.find_first_not_of(' '), text.size())); }

std::string token_words(const PanelContext& context, std::int32_t token) {
    return fmt::format("‘{}’", index_label(context, context.trace().plan->logits(), Axis::V, token));
}

}  // namespace

std::optional<std::int32_t> token_named(const std::vector<std::string>& vocabulary, std::string_view text) {
    for (const std::string& name : {std::string(text), " " + std::string(text)})
        if (const auto found = std::find(vocabulary.begin(), vocabulary.end(), name); found != vocabulary.end())
            return static_cast<std::int32_t>(found - vocabulary.begin());
    return std::nullopt;
}

std::vector<std::int32_t> tokens_with(const std::vector<std::string>& vocabulary, std::string_view text, std::size_t most) {
    const std::string_view wanted = without_space(text);
    std::array<std::vector<std::int32_t>, 3> found;  // equal, begins with it, contains it
    if (wanted.empty()) return {};
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view name = without_space(vocabulary[id]);
        const std::size_t at = name.find(wanted);
        if (at == std::string_view::npos) continue;
        auto& group = found[name == wanted ? 0 : at == 0 ? 1 : 2];
        if (group.size() < most) group.push_back(static_cast<std::int32_t>(id));
    }
    std::vector<std::int32_t> all;
    for (const auto& group : found)
        for (const std::int32_t id : group)
            if (all.size() < most) all.push_back(id);
    return all;
}

std::optional<std::int32_t> choose_token(const PanelContext& context, const char* id, std::int32_t shown,
                                         std::span<const std::int32_t> likely, TokenSearch& search, float width, std::string_view tooltip) {
    const Ui ui = context.ui();
    if (!begin_menu_button(ui, id, token_words(context, shown), width, {.tooltip = tooltip})) return std::nullopt;
    if (ImGui::IsWindowAppearing()) {
        search = {};
        focus_next_field();
    }
    const bool entered = text_field(ui, "##token", search.text, "any token", kTokenField);
    if (search.found_for != search.text) {
        search.found = tokens_with(context.snapshot.vocabulary, search.text, kMostFound);
        search.found_for = search.text;
    }
    const std::span<const std::int32_t> listed = search.text.empty() ? likely : std::span<const std::int32_t>(search.found);
    std::optional<std::int32_t> chosen;
    if (entered && !listed.empty()) {
        chosen = listed.front();
        ImGui::CloseCurrentPopup();
    }
    if (listed.empty() && !search.text.empty())
        text_line(ui, context.theme.fonts.label, context.theme.colors.muted, "No token contains this.");
    for (const std::int32_t token : listed) {
        ImGui::PushID(token);
        if (menu_item(ui, token_words(context, token), token == shown)) chosen = token;
        ImGui::PopID();
    }
    end_menu_button();
    return chosen;
}

}  // namespace attn::app
