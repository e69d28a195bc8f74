#pragma once
/// What the parts of the window drew in the last frame: they are drawn by different panels, and tests check that they agree.

#include <imgui.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "app/session/states/setup_parts.hpp"
#include "app/session/states/state.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

struct DrawnParts {
    struct Chips {
        StateRef state;  ///< null: not drawn
        std::size_t sequence = 0;
        bool source = false;
    } chips{};
    struct Words {
        StateRef state;    ///< null: not drawn
        bool act = false;  ///< a click writes one
    } next_words{}, candidates{};
    /// The Write view's text up to the shown moment; none: not drawn.
    struct Written {
        std::size_t tokens = 0;
        std::int32_t last = -1;
    };
    std::optional<Written> written{};
    SetupParts settings{};         ///< whose settings are on screen
    SetupParts marked{};           ///< those of them that are marked as not shown
    bool centre = false;           ///< the pane in the centre, which has no room in a tiny window and is not there while training is shown
    bool eye = false;              ///< the sentence that says what is worth looking at
    bool problem = false;          ///< the sentence that says what cannot be computed
    bool problem_in_line = false;  ///< it stands in the place of the eye's sentence
    bool unread_text = false;      ///< the text that cannot be read
    bool verified = false;         ///< the badge is green
    std::optional<Box> framed{};   ///< around the control that the palette led to
    bool settles = false;          ///< the next frame is laid out otherwise, without any input
    bool sheet = false;            ///< a sheet, which says what there is to be told
    std::optional<Box> problem_box{};  ///< where that sentence stands, which is not dimmed with the picture
    std::optional<Box> notice_line{};  ///< where notices stand: over the eye's sentence, or where a plot has room
};

}  // namespace attn::app
