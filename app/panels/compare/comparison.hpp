#pragma once
/// Comparing the shown state (B) with another one (A): another state, layer, head or sequence of the batch.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/panels/maps/large_map.hpp"
#include "app/panels/panel_context.hpp"
#include "app/panels/views/equation.hpp"

namespace attn::app {

/// A state that can be compared with.
struct ComparedState {
    StateRef state;                      ///< null: there is no such state
    const Snapshot* snapshot = nullptr;  ///< null: see `missing`
    std::string missing{};               ///< why there are no numbers
};

struct CompareSource {
    Compare source;
    std::string_view name;     ///< "unmasked"
    std::string_view tooltip;  ///< one sentence
    StateRef States::*state;   ///< which it is
    std::string_view none;     ///< why there may be no such state, one sentence
    std::string_view with;     ///< what is compared with, after "comparing with"; "" where the place says it
};
/// Everything but Off, in the order of the menu.
std::span<const CompareSource> compare_sources();

/// The name of a published model that is not the shown one; "" of every other state.
std::string name_of_other_model(const PanelContext& context, const StateRef& state);
ComparedState compared_state(const PanelContext& context, const CompareSource& source);
/// There is such a state of what is looked at, or there will be as soon as it is computed.
bool can_compare(const PanelContext& context, Compare source);
/// Once a frame, before anything is drawn: ends a comparison whose other state is gone, or whose own example, model or run is.
void end_stale_comparison(PanelContext& context);
/// The chip below, and before it where there is room "A | B | B − A": what of the two is shown. Returns the width they took.
float draw_comparison(PanelContext& context, float right, float y, float room);
/// "comparing with step 300 ✕", ending at `right`, for as long as it lasts; returns its width, 0 where nothing is compared.
float draw_comparison_chip(PanelContext& context, float right, float y, float room);
/// Readings of the state that is compared with, for views of whole traces.
struct ComparedReadings {
    const Readings* readings = nullptr;  ///< null, or a part as long as something is `missing`
    const Snapshot* snapshot = nullptr;
    std::int64_t batch = 0;
    std::string name{}, missing{};
};
ComparedReadings compared_readings(const PanelContext& context, ReadingKind kind);
/// Keeps what is shown as A, and compares with it.
void pin_shown_state(PanelContext& context);
/// Makes the step of the training run nearest to `step` the state that is compared with.
void compare_with_step(PanelContext& context, std::int64_t step);

/// One slice of one state.
struct ComparedSide {
    const Trace<float>* trace = nullptr;  ///< null: see `missing`
    StateRef state;
    const Snapshot* snapshot = nullptr;
    StageId stage;
    std::int64_t head = 0, batch = 0;
    std::string name{};     ///< "unmasked, head 1": what tells it from the other side
    std::string missing{};  ///< why there is nothing to compare with, one sentence
    bool empty() const { return trace == nullptr; }
};

/// Of stage `id` and head `head`: what is shown, and what it is compared with. The reference is empty, with its reason, where the other
/// state lacks the stage, the head or the sequence.
ComparedSide shown_side(const PanelContext& context, const StageId& id, std::int64_t head);
ComparedSide reference_side(const PanelContext& context, const StageId& id, std::int64_t head);
Matrix slice_of(const PanelContext& context, const ComparedSide& side);

/// Both sides as they stand on screen: exchanged while the key is held.
struct ComparedSides {
    ComparedSide a, b;
    std::string_view first = "A", second = "B";
};
ComparedSides compared_sides(const PanelContext& context, const StageId& id, std::int64_t head);

/// Of the slices of both sides, B less A: MatrixStore::difference(), and of large maps what is there once it is computed. Empty, without a
/// problem, where no_difference() says why.
ChangedMap difference_of(const PanelContext& context, const ComparedSides& sides, const Matrix& now, const Matrix& before);

/// Why the difference of the two matrices means nothing, "" when it does: their shapes.
std::string no_difference(const ComparedSides& sides, const Matrix& a, const Matrix& b);

/// The comparison of the stage that the view shows, laid out as the person wants it; never for CompareLayout::InPlace.
struct ComparisonPicture {
    Equation equation;
    std::string formula;  ///< the chosen cell's two numbers and their difference
    std::string problem;  ///< why this layout cannot be shown, "" when it can
};
ComparisonPicture comparison_picture(PanelContext& context, const ComparedSides& sides);

/// Smallest and largest number of a stage in both states, so that equal colours are equal numbers on both sides.
struct SharedRange {
    float lo = 0, hi = 0;
};
SharedRange shared_range(const PanelContext& context, const StageId& id);

/// The settings' section.
void draw_compare_settings(PanelContext& context);

}  // namespace attn::app
