#pragma once
/// What is looked at: view, stage, head and cell, as lessons and examples name them.

#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

#include "app/session/document/view.hpp"
#include "engine/io/json_object.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// Parts of the settings pane that a lesson can leave out.
enum class LessonControl : std::uint8_t { Shown, Masks, Softmax, Compare, Model, Tokens, Parts, Heads, Edits, Mistakes };
inline constexpr int kLessonControls = 10;

struct Look {
    View view = View::Step;
    StageId stage{Stage::Scores, 0};
    std::int64_t head = 0, sequence = 0;
    std::vector<std::pair<Axis, std::int64_t>> cell;  ///< chosen indices; empty: nothing is chosen
    bool gradients = false;
    bool unmasked = false;                                                         ///< compared with the unmasked state
    bool settings = true, inspector = true, stages = true;                         ///< the panes
    std::bitset<kLessonControls> controls = std::bitset<kLessonControls>{}.set();  ///< in the settings
    bool operator==(const Look&) const = default;
};

/// Fields that are missing stay as they are in `look`. Throws FileError naming the field.
void read_look(JsonObject& object, Look& look);

}  // namespace attn::app
