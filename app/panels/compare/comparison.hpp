#pragma once
/// Compares the shown state (B) with a reference (A): another state, layer, head or sequence of the batch.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/maps/equation.hpp"
#include "app/session/values/readings.hpp"

namespace attn::app {

/// A reference state.
struct ComparedState {
    StateRef state;                      ///< null: it does not exist
    const Snapshot* snapshot = nullptr;  ///< null: see `missing`
    Reason missing{};                    ///< why there are no numbers
};

struct CompareSource {
    Compare source;
    std::string_view name;     ///< such as "unmasked"
    std::string_view tooltip;  ///< one sentence
    StateRef States::*state;   ///< the state it refers to
    std::string_view none;     ///< why that state may not exist, one sentence
    std::string_view with;     ///< the text after "comparing with"; "" if layer, head and text say it
};
/// All except Off, in menu order.
std::span<const CompareSource> compare_sources();

/// The name of an opened model that is not the shown one, or of a recording with its step; "" for any other state.
std::string name_of_other_model(const PanelContext& context, const StateRef& state);
/// "branch “␣mat”" for a state that continues the shown prompt otherwise, after the first token that differs; "" for any other state.
std::string name_of_branch(const PanelContext& context, const StateRef& state);
/// The name of a source, or what is pinned there if it is a branch.
std::string name_of_source(const PanelContext& context, const CompareSource& source);
ComparedState compared_state(const PanelContext& context, const CompareSource& source);
/// Whether the reference state exists, computed or not.
bool can_compare(const PanelContext& context, Compare source);
/// To be called once per frame before drawing: ends a comparison whose reference no longer exists, or whose example, model or run is no
/// longer shown.
void end_stale_comparison(PanelContext& context);
/// Draws the chip below and, if there is room, the switch "A | B | B − A" before it. Returns their width.
float draw_comparison(PanelContext& context, float right, float y, float room);
/// Draws the chip "comparing with step 300 ✕", right-aligned at `right`, during a comparison. Returns its width, otherwise 0.
float draw_comparison_chip(PanelContext& context, float right, float y, float room);
/// What was read of the reference state, for views of whole traces.
template <class F>
struct ComparedReading {
    const typename F::Value* reading = nullptr;  ///< null or partial while `missing` is not empty
    const Snapshot* snapshot = nullptr;
    std::int64_t batch = 0;
    std::string name{};
    Reason missing{};
    bool one_state = false;  ///< it is that of the shown text itself
};
ComparedReading<facet::Lens> compared_lens(const PanelContext& context);
ComparedReading<facet::Totals> compared_totals(const PanelContext& context);
/// Pins the shown state as A and compares with it.
void pin_shown_state(PanelContext& context);
/// Compares with the step of the training run nearest to `step`.
void compare_with_step(PanelContext& context, std::int64_t step);

/// A slice of one of the two states.
struct ComparedSide {
    Subject of;
    StageId stage;
    std::int64_t head = 0, batch = 0;
    std::string name{};     ///< such as "unmasked, head 1": how it differs from the other side
    Reason missing{};       ///< why there is nothing to compare with
    bool is_there = false;  ///< its numbers are
    bool empty() const { return !is_there; }
    NumbersOf numbers() const { return {.of = of, .stage = stage, .sequence = batch, .head = head}; }
};

/// Whether both sides are the same part of the same state.
bool is_same(const ComparedSide& a, const ComparedSide& b);

/// The shown side and the reference side for stage `id` and head `head`. The reference is empty, with a reason, if it has no such stage,
/// head or sequence.
ComparedSide shown_side(const PanelContext& context, const StageId& id, std::int64_t head);
ComparedSide reference_side(const PanelContext& context, const StageId& id, std::int64_t head);
Matrix slice_of(const PanelContext& context, const ComparedSide& side);

/// Both sides in the order shown; swapped while the key is held.
struct ComparedSides {
    ComparedSide a, b;
    std::string_view first = "A", second = "B";
};
ComparedSides compared_sides(const PanelContext& context, const StageId& id, std::int64_t head);

/// Whether a view draws A, B or their difference, as chosen by the switch.
bool draws_comparison(View view);
/// A, if the view shows it in place of B; otherwise empty.
ComparedSide side_in_place(const PanelContext& context);
/// " of A" or " of B": the state whose numbers the cell pane gives; "" without a comparison.
std::string_view words_of_side(const PanelContext& context);
/// Draws a panel as if the state in place were the shown one.
void draw_side_in_place(PanelContext& context, const std::function<void(PanelContext&)>& draw);

/// Why the two matrices cannot be subtracted (their shapes), and what the view shows `instead`; "" if they can.
std::string no_difference(const ComparedSides& sides, const Matrix& a, const Matrix& b, std::string_view instead);

/// Says that A and B are one state, and how to make them differ.
std::string words_of_one_state(const PanelContext& context);
/// Why nothing differs between the sides: they are one state, or differ only in later stages, the first of which is named. "" if something
/// may differ.
std::string why_same(const PanelContext& context, const ComparedSides& sides);

/// Red, unless numbers are only awaited.
Color problem_color(const PanelContext& context, const Reason& problem);

/// The comparison for the view's stage in the chosen layout; not for CompareLayout::InPlace.
struct ComparisonPicture {
    Equation equation;
    std::string formula;  ///< the selected cell's two numbers and their difference
    std::string remark;   ///< why the two stand side by side though their difference was chosen, or why nothing differs; "" otherwise
    Reason problem;       ///< why nothing can be shown; empty if it can
};
ComparisonPicture comparison_picture(PanelContext& context, const ComparedSides& sides);

/// Adds the number that a difference shows of a cell to the pane; nothing for other matrices and cells outside.
void draw_difference_row(PanelContext& context, const Matrix& difference, std::int64_t row, std::int64_t col);

/// The range of a stage over both states, so that equal colours are equal numbers on both sides.
struct SharedRange {
    float lo = 0, hi = 0;
};
SharedRange shared_range(const PanelContext& context, const StageId& id);

/// The section of the settings.
void draw_compare_settings(PanelContext& context);

}  // namespace attn::app
