#pragma once
/// Where to look: the view, stage, head and cell that lessons, examples and saved documents open at.

#include <bitset>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "app/session/document/view.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"
#include "engine/trace/part_worth.hpp"

namespace attn {
class Json;
class JsonObject;
}  // namespace attn

namespace attn::app {

/// Groups of the settings pane that a lesson can hide.
enum class LessonControl : std::uint8_t { Shown, Masks, Softmax, Compare, Model, Tokens, Parts, Heads, Edits, Mistakes };
inline constexpr int kLessonControls = 10;

/// What is compared as A with the shown state B. To add one, add a value here and a line in comparison.cpp.
enum class Compare : std::uint8_t {
    Off,
    Itself,    ///< another layer, head or text of the shown state
    Plain,     ///< without edits
    Unmasked,  ///< without masks and dropout, at temperature 1
    Correct,   ///< without the deliberate mistake
    Moment,    ///< another step of the training run
    Pinned,    ///< pinned by the user; in the Train view, pinned run A
    PinnedB,   ///< pinned run B of the Train view
};

enum class CompareLayout : std::uint8_t {
    All,         ///< B − A = difference
    SideBySide,  ///< A and B
    Difference,  ///< B − A only
    InPlace,     ///< only B; A while the key is held
};

struct Look {
    View view = View::Step;
    StageId stage{Stage::Scores, 0};
    std::int64_t head = 0, sequence = 0;
    std::vector<std::pair<Axis, std::int64_t>> cell;  ///< selected indices; empty: nothing is selected
    bool gradients = false;
    Compare compare = Compare::Off;
    CompareLayout compare_as = CompareLayout::All;
    std::optional<std::int64_t> compare_layer{}, compare_head{}, compare_sequence{};  ///< of A; none: the same as shown
    bool rollout = true;                                                              ///< of Totals; otherwise the plain mean
    std::optional<std::int64_t> up_to{};                                              ///< of Totals: the last layer included; none: all
    AnswerMeasure measure = AnswerMeasure::Loss;                                      ///< of Knock-out
    std::optional<std::int32_t> against{};                                            ///< of a logit difference: the other token, if chosen
    ReplacedParts replaced = ReplacedParts::Heads;                                    ///< of Knock-out
    std::optional<std::int64_t> replaced_from{};                                      ///< of Knock-out: the text taken from; none: zeros
    bool settings = true, inspector = true, stages = true;                            ///< which panes are open
    std::bitset<kLessonControls> controls = std::bitset<kLessonControls>{}.set();     ///< which groups of the settings are shown
    bool operator==(const Look&) const = default;
};

/// Missing fields keep their values in `look`. Throws FileError naming the field.
void read_look(JsonObject& object, Look& look);
/// The fields that read_look() reads, but for panes and controls. A comparison with a step of a training run is left out: the run is not
/// part of a document.
Json to_json(const Look& look);

}  // namespace attn::app
