#include "app/panels/views/heads_switch.hpp"

#include <array>

#include "app/panels/kit/navigation.hpp"
#include "app/widgets/controls.hpp"

namespace attn::app {
namespace {

constexpr std::array<std::string_view, 2> kHeads = {"all heads", "one head"};

}  // namespace

bool has_heads_switch(const PanelContext& context) {
    return context.ready() && is_attention_map(context.view.stage.stage) && head_count(context.structure()) > 1;
}

float heads_switch_width(const PanelContext& context) { return has_heads_switch(context) ? segmented_width(context.ui(), kHeads) : 0; }

void draw_heads_switch(PanelContext& context, float right, float y) {
    if (!has_heads_switch(context)) return;
    ViewState& view = context.view;
    const float width = heads_switch_width(context);
    ImGui::SetCursorScreenPos({right - width, y + context.px(1)});
    int chosen = view.view == View::Heads ? 0 : 1;
    if (!segmented(context.ui(), "##heads", kHeads, chosen, width / context.theme.scale + 1,
                   {.tooltip = "The maps of all heads of this layer side by side (H), or the chosen head step by step (S)."}))
        return;
    view.view = chosen == 0 ? View::Heads : View::Step;
    if (chosen == 0) view.heads.stage = view.stage.stage;
}

}  // namespace attn::app
