#include "app/panels/views/token_choice.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <iterator>

#include "app/panels/kit/labels.hpp"
#include "app/session/values/found_tokens.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kTokenField = 180;

std::string token_words(const PanelContext& context, std::int32_t token) {
    return fmt::format("‘{}’", index_label(context, context.structure().plan->logits(), Axis::V, token));
}

}  // namespace

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
    if (entered) search.entered = true;
    if (search.listed_for != search.text) {
        search.listed_for = search.text;
        search.chosen = 0;
        search.entered = entered;
    }
    const auto found = search.text.empty() ? Answer<facet::FoundTokens>{} : context.ask(facet::FoundTokens{search.text});
    const bool searching = !search.text.empty() && found.computing();
    if (search.text.empty()) search.listed.assign(likely.begin(), likely.end());
    else if (!searching) search.listed = found ? found->ids : std::vector<std::int32_t>();
    const std::vector<std::int32_t>& listed = search.listed;
    if (key_pressed(Key::Down)) ++search.chosen;
    if (key_pressed(Key::Up)) --search.chosen;
    search.chosen = std::clamp<std::ptrdiff_t>(search.chosen, 0, std::max<std::ptrdiff_t>(std::ssize(listed) - 1, 0));
    std::optional<std::int32_t> chosen;
    if (search.entered && !searching && !listed.empty()) {
        chosen = listed[static_cast<std::size_t>(search.chosen)];
        ImGui::CloseCurrentPopup();
    }
    if (!searching) search.entered = false;
    if (found && listed.empty()) text_line(ui, context.theme.fonts.label, context.theme.colors.muted, "No token contains this.");
    const ImVec2 top = ImGui::GetCursorScreenPos();
    for (std::size_t i = 0; i < listed.size(); ++i) {
        ImGui::PushID(listed[i]);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        if (menu_item(ui, token_words(context, listed[i]), listed[i] == shown, {}, {}, searching) && !searching) chosen = listed[i];
        if (!searching && static_cast<std::ptrdiff_t>(i) == search.chosen)
            ImGui::GetWindowDrawList()->AddRect(at, ImGui::GetItemRectMax(), context.theme.colors.accent, context.px(4));
        ImGui::PopID();
    }
    if (searching && !listed.empty())
        ImGui::GetWindowDrawList()->AddRectFilled(top, ImGui::GetItemRectMax(), with_alpha(context.theme.colors.raised, 0.6F));
    end_menu_button();
    return chosen;
}

}  // namespace attn::app
