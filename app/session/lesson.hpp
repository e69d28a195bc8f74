#pragma once
/// Lessons: steps that each set up document, view and training run, and say a few sentences about what is seen.

#include <bitset>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/session/caption.hpp"
#include "app/session/document.hpp"
#include "app/session/view.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// Parts of the settings pane that a lesson can leave out.
enum class LessonControl : std::uint8_t { Shown, Masks, Softmax, Compare, Model, Tokens, Parts, Heads, Edits, Mistakes };
inline constexpr int kLessonControls = 10;

/// What is looked at.
struct LessonLook {
    View view = View::Step;
    StageId stage{Stage::Scores, 0};
    std::int64_t head = 0, sequence = 0;
    std::vector<std::pair<Axis, std::int64_t>> cell;  ///< chosen indices; empty: nothing is chosen
    bool gradients = false;
    bool unmasked = false;                                                         ///< compared with the unmasked state
    bool settings = true, inspector = true, stages = true;                         ///< the panes
    std::bitset<kLessonControls> controls = std::bitset<kLessonControls>{}.set();  ///< in the settings
    bool operator==(const LessonLook&) const = default;
};

/// A training run, begun by the first step that has it and shared by those that go on with it.
struct LessonTraining {
    RunSettings run;                                ///< `run.stop` says until when
    std::optional<std::int64_t> moment;             ///< the step whose model is shown; none: the newest
    std::optional<std::vector<std::string>> texts;  ///< in place of the run's own
    std::optional<ForwardSettings> forward;         ///< the same
};

/// A step as it is to be shown, with all that it has from the steps before it.
struct LessonStep {
    std::string title;
    Caption caption;
    Document document;  ///< what is shown where there is no training
    std::optional<LessonTraining> training;
    LessonLook look;
    std::set<std::string, std::less<>> said;  ///< the fields that the file has for this step; all else stays as it was
};

struct Lesson {
    std::string name;        ///< "masks"
    std::string title;       ///< "Masks"
    std::string summary;     ///< one sentence for the menu
    std::int32_t order = 0;  ///< place in the menu
    std::vector<LessonStep> steps;
};

/// Reads a lesson's JSON. Throws FileError naming `source`, the step and the field for anything unknown, missing or impossible. Whether
/// the places that it names exist is check_lesson()'s question.
Lesson parse_lesson(std::string_view json, std::string_view source);

/// The lessons inside the program in the order of the menu, parsed once.
std::span<const std::shared_ptr<const Lesson>> lessons();
/// A lesson by its name, or the file of that path, checked. Throws Error naming the lessons that there are, FileError for a bad file.
std::shared_ptr<const Lesson> find_lesson(const std::string& name_or_file);

}  // namespace attn::app
