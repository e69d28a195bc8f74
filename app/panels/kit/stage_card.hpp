#pragma once
/// A card of the stage strip: a heading, room for a picture, and one or two lines below.

#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

struct StageCard {
    bool pressed = false;
    ImVec2 picture_min{0, 0}, picture_max{0, 0};
    float x = 0, width = 0;  ///< where texts begin, and their room
    float bottom = 0;
    Color ink{};
    bool has_picture() const { return picture_max.y > picture_min.y; }
};

/// The card number `index` of its kind (`id`), in an area that includes the gap to the next one. `current`: framed as the chosen one.
StageCard draw_stage_card(PanelContext& context, const char* id, std::size_t index, ImVec2 at, ImVec2 size, bool current,
                          std::string_view title, const std::string& tooltip);

}  // namespace attn::app
