#include "app/panels/views/look_at_line.hpp"

#include <fmt/format.h>

#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/session/document/presets.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kLowWindow = 680;
constexpr std::string_view kGoThere = "Click to go there.";

/// Goes to the layer, head and cell that the sentence describes.
void go_there(const PanelContext& context) {
    const std::optional<Look> look = look_of(context.document);
    if (!look) return;
    turn_to(context.view, *look);
    keep_view_valid(context.view, *context.snapshot.trace);
}

/// The sentence. In its own layer it does not name the layer; in any other it does.
std::string sentence_of(const PanelContext& context) {
    const std::string_view sentence = look_at(context.document, context.view.stage);
    const std::optional<Look> look = look_of(context.document);
    const bool of_mistake = context.document.forward.mistaken();  // which is made in every layer
    const bool elsewhere = !of_mistake && look && is_layer_stage(look->stage.stage) && look->stage.layer != context.view.stage.layer;
    return sentence.empty() || !elsewhere ? std::string(sentence) : fmt::format("Layer {}: {}", look->stage.layer, sentence);
}

/// Whether the sentence, which is gone, was shown in this place.
bool was_here(const PanelContext& context) {
    const ViewState::SentenceRoom& room = context.view.sentence_room;
    return room.view == context.view.view && room.stage == context.view.stage && room.preset == context.document.preset;
}

}  // namespace

float draw_look_at(const PanelContext& context, ImVec2 bottom_left, float width) {
    const std::string sentence = sentence_of(context);
    if (context.view.lesson.open()) return 0;  // lessons have captions instead
    if (sentence.empty()) {
        if (!was_here(context)) context.view.sentence_room = {};
        return context.view.sentence_room.height;
    }
    context.view.sentence_room = {};
    const auto& [colors, fonts, scale] = context.theme;
    const bool leads = look_of(context.document).has_value();
    if (ImGui::GetIO().DisplaySize.y < context.px(kLowWindow)) {
        // In a low window, only an icon with a tooltip in the corner.
        const float side = context.px(20);
        const Item eye = item_at(context.ui(), "##look_at", {bottom_left.x - context.px(2), bottom_left.y - side}, {side, side},
                                 {.tooltip = leads ? fmt::format("{} {}", sentence, kGoThere) : sentence});
        if (eye.pressed) go_there(context);
        draw_icon(*ImGui::GetWindowDrawList(), Icon::Eye, {eye.min.x + side / 2, eye.min.y + side / 2}, context.px(14), colors.accent);
        draw_focus_ring(context.ui(), eye, context.px(4));
        return 0;
    }
    const float indent = context.px(26), height = wrapped_height(fonts.label, width - indent, sentence);
    const ImVec2 at{bottom_left.x, bottom_left.y - height};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    bool hovered = false;
    if (leads && !context.picture_alone) {
        const Item line = item_at(context.ui(), "##look_at", at, {width, height}, {.tooltip = kGoThere});
        draw_focus_ring(context.ui(), line, context.px(4));
        hovered = line.hovered;
        if (line.pressed) go_there(context);
    }
    draw_icon(list, Icon::Eye, {at.x + context.px(8), at.y + context.px(8)}, context.px(14), colors.accent);
    draw_text_wrapped(list, fonts.label, {at.x + indent, at.y}, width - indent, hovered ? colors.text : colors.muted, sentence);
    context.view.sentence_room = {context.view.view, context.view.stage, context.document.preset, height + context.px(10)};
    return context.view.sentence_room.height;
}

}  // namespace attn::app
