#include "app/panels/views/heads_switch.hpp"

#include <array>

#include "app/widgets/controls.hpp"

namespace attn::app {

float draw_heads_pages(PanelContext& context, float right, float y) {
    static constexpr std::array<std::string_view, 2> kPages = {"one layer", "all layers"};
    if (context.structure().config.layers_of(context.view.stage.stack) < 2) return 0;
    ViewState& view = context.view;
    const float width = segmented_width(context.ui(), kPages);
    ImGui::SetCursorScreenPos({right - width, y + context.px(1)});
    int page = view.view == View::Grid ? 1 : 0;
    if (segmented(context.ui(), "##pages", kPages, page, width / context.theme.scale + 1,
                  {.tooltip = "The heads of the chosen layer (H), or of all layers (G)."}))
        view.view = page == 1 ? View::Grid : View::Heads;
    return width;
}

}  // namespace attn::app
