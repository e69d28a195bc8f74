#pragma once
/// Where to look: the view, stage, head and cell that lessons and examples open at.

#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

#include "app/session/document/view.hpp"
#include "engine/io/json_object.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// Groups of the settings pane that a lesson can hide.
enum class LessonControl : std::uint8_t { Shown, Masks, Softmax, Compare, Model, Tokens, Parts, Heads, Edits, Mistakes };
inline constexpr int kLessonControls = 10;

struct Look {
    View view = View::Step;
    StageId stage{Stage::Scores, 0};
    std::int64_t head = 0, sequence = 0;
    std::vector<std::pair<Axis, std::int64_t>> cell;  ///< selected indices; empty: nothing is selected
    bool gradients = false;
    bool unmasked = false;                                                         ///< compare with the unmasked state
    bool settings = true, inspector = true, stages = true;                         ///< which panes are open
    std::bitset<kLessonControls> controls = std::bitset<kLessonControls>{}.set();  ///< which groups of the settings are shown
    bool operator==(const Look&) const = default;
};

/// Missing fields keep their values in `look`. Throws FileError naming the field.
void read_look(JsonObject& object, Look& look);

}  // namespace attn::app
