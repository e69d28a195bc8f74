#include "app/panels/kit/read_with_stories.hpp"

#include <utility>

#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/session/document/presets.hpp"

namespace attn::app {

std::optional<std::string> text_for_stories(const PanelContext& context) {
    if (context.document.model != nullptr) return {};
    const std::optional<UnreadText> unread = unread_text(context, {shown_index(context), shows_source(context)});
    if (!unread || unread->source) return {};
    return whole_texts(context.document).at(unread->index);
}

void read_with_stories(PanelContext& context, std::string text) {
    const Preset& stories = find_preset("stories");
    context.commands.push_back({command::OpenPreset{stories.name, 0}, ""});
    context.commands.push_back({command::SetTexts{{std::move(text)}, {}}, ""});
    context.view.next_look = look_of_own_text(stories);
}

}  // namespace attn::app
