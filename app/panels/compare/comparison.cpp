#include "app/panels/compare/comparison.hpp"
#include "engine/plan/head_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/session/values/map_region.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {
namespace {

constexpr std::array<CompareSource, 7> kSources = {{
    {Compare::Itself, "itself", "Another layer, head or text of what is shown.", &States::shown, "Nothing is computed yet.", ""},
    {Compare::Plain, "unedited", "The same without the edits.", &States::unedited, "Nothing is edited.", "the unedited state"},
    {Compare::Unmasked, "unmasked", "The same without masks and dropout, at temperature 1.", &States::unmasked, "Nothing is computed yet.",
     "the unmasked state"},
    {Compare::Correct, "without the mistake", "The correct computation, while a deliberate mistake is active.", &States::correct,
     "No mistake is active: choose one under “Break it on purpose” in the settings.", "the correct computation"},
    {Compare::Moment, "another step", "Another step of the training run, with the same text, masks and edits.", &States::other_moment,
     "This model has no training steps to compare with: train one first (R).", ""},
    {Compare::Pinned, "pinned A", "The state kept with “pin this state”, or the step of a training run pinned as A.", &States::pinned_a,
     "Nothing is pinned as A.", "pinned A"},
    {Compare::PinnedB, "pinned B", "The step of a training run pinned as B.", &States::pinned_b,
     "Nothing is pinned as B: press B in the Train view.", "pinned B"},
}};

const CompareSource* chosen_source(const PanelContext& context) {
    const auto it = std::find_if(kSources.begin(), kSources.end(),
                                 [&](const CompareSource& source) { return source.source == context.view.compare.source; });
    return it == kSources.end() ? nullptr : &*it;
}

std::string where(const ComparedSide& side, const ComparedSide& other) {
    std::string text;
    if (side.stage.layer != other.stage.layer) text += fmt::format(", layer {}", side.stage.layer);
    if (side.head != other.head) text += side.head == kMeanHead ? std::string(", mean of the heads") : fmt::format(", head {}", side.head);
    if (side.batch != other.batch) text += fmt::format(", text {}", side.batch + 1);
    return text;
}

bool have_the_same_prompt(const Setup& a, const Setup& b) {
    const bool same_text = a.written.ids.empty() || b.written.ids.empty() || a.written.sequence == b.written.sequence;
    return same_text && a.texts == b.texts && a.source_texts == b.source_texts && a.model == b.model && a.shipped == b.shipped &&
           a.tokenizer == b.tokenizer && a.vocabulary == b.vocabulary;
}

std::string state_name(const PanelContext& context, const CompareSource& source, const ComparedState& state) {
    if (std::string branch = name_of_branch(context, state.state); !branch.empty()) return branch;
    if (const std::string model = name_of_other_model(context, state.state); !model.empty())
        return fmt::format("{}, {}", source.name, model);
    const bool other_step = state.snapshot != nullptr && state.snapshot != &context.snapshot && state.snapshot->trained_step;
    if (!other_step) return std::string(source.name);
    const std::string step = "step " + format_count(*state.snapshot->trained_step);
    return source.source == Compare::Moment ? step : fmt::format("{}, {}", source.name, step);
}

std::string shape_words(const Matrix& matrix) {
    return fmt::format("{} × {} ({} × {})", matrix.data.rows, matrix.data.cols, axis_letter(matrix.row_axis), axis_letter(matrix.col_axis));
}

/// With as many decimals, at least 4, the two numbers of a difference visibly differ.
int decimals_that_show(double difference) {
    constexpr int kUsual = 4, kMost = 9;
    if (difference == 0 || !std::isfinite(difference)) return kUsual;
    return std::clamp(static_cast<int>(std::ceil(-std::log10(std::abs(difference)))) + 1, kUsual, kMost);
}

/// The difference at the hovered or selected cell, "0.250 − 0.131 = +0.119"; otherwise the names of the two sides.
std::string cell_formula(const PanelContext& context, const ComparedSides& sides, const Matrix& a, const Matrix& b) {
    const bool beside = context.view.compare.layout == CompareLayout::SideBySide;
    std::string names = fmt::format("{} − {}", sides.second, sides.first);
    const AxisSelection& selection = context.view.last_selection();
    const auto row = b.row_axis == Axis::N ? std::optional<std::int64_t>(0) : selection.on(b.row_axis), col = selection.on(b.col_axis);
    const auto outside = [&](const Matrix& m) { return *row >= m.data.rows || *col >= m.data.cols; };
    if (!row || !col || outside(a) || outside(b)) return beside ? fmt::format("{} and {}", sides.first, sides.second) : names;
    if (!a.data.knows(*row, *col) || !b.data.knows(*row, *col)) return names;
    const double difference = static_cast<double>(b.at(*row, *col) - a.at(*row, *col));
    const int decimals = decimals_that_show(difference);
    const auto number = [&](const Matrix& m) {
        return m.masked(*row, *col) ? std::string(kMasked) : format_number(static_cast<double>(m.at(*row, *col)), {.decimals = decimals});
    };
    if (a.masked(*row, *col) || b.masked(*row, *col)) return fmt::format("{} = {} − {}", names, number(b), number(a));
    const std::string subtracted = a.at(*row, *col) < 0 ? "(" + number(a) + ")" : number(a);
    return fmt::format("{} = {} − {} = {}", names, number(b), subtracted, format_number(difference, {.decimals = 4, .plus = true}));
}

/// For large maps this requests the selected row's exact numbers.
std::string formula_of_chosen_cell(const PanelContext& context, const ComparedSides& sides, const Matrix& a, const Matrix& b) {
    const auto row = context.view.last_selection().on(b.row_axis);
    if (!row) return cell_formula(context, sides, a, b);
    return cell_formula(context, sides, context.numbers().with_row(a, *row), context.numbers().with_row(b, *row));
}

/// Why a side has no numbers (yet); empty if unknown.
Reason missing_numbers(const PanelContext& context, const ComparedSide& side) {
    return side.of.state == context.states.shown ? context.missing(side.stage) : Reason();
}

void include(SharedRange& range, bool& any, float lo, float hi) {
    range.lo = any ? std::min(range.lo, lo) : lo;
    range.hi = any ? std::max(range.hi, hi) : hi;
    any = true;
}

}  // namespace

std::span<const CompareSource> compare_sources() { return kSources; }

std::string name_of_other_model(const PanelContext& context, const StateRef& state) {
    if (state == nullptr) return "";
    if (const RecordedNumbers* numbers = recorded_in(*state)) {
        const recording::Recording& recorded = numbers->recording->recording();
        const std::string of_one = recorded.rank ? fmt::format(", rank {}", *recorded.rank) : ", all ranks";
        const std::string rank = recorded.ranks.size() > 1 ? of_one : "";
        return fmt::format("{}{}, step {}", visible_text(numbers->recording->name()), rank, format_count(numbers->step));
    }
    if (state->setup->model == nullptr) return "";
    // A document's pinned states have opened its file on their own.
    if (context.document.model != nullptr && state->setup->model->path() == context.document.model->path()) return "";
    return visible_text(state->setup->model->name());
}

std::string name_of_branch(const PanelContext& context, const StateRef& state) {
    const StateRef& shown = context.states.shown;
    if (state == nullptr || shown == nullptr || state == shown || !have_the_same_prompt(*state->setup, *shown->setup)) return "";
    const std::vector<std::int32_t>&here = shown->setup->written.ids, &there = state->setup->written.ids;
    const auto differs = std::mismatch(there.begin(), there.end(), here.begin(), here.end()).first;
    if (differs == there.end()) return "";
    return fmt::format("branch “{}”", shown_token(context.snapshot.vocabulary, *differs));
}

std::string name_of_source(const PanelContext& context, const CompareSource& source) {
    const std::string branch = name_of_branch(context, context.states.*source.state);
    return branch.empty() ? std::string(source.name) : branch;
}

ComparedState compared_state(const PanelContext& context, const CompareSource& source) {
    const StateRef& state = context.states.*source.state;
    if (state == nullptr && source.source == Compare::Moment && context.other_step && can_compare(context, source.source))
        return {nullptr, nullptr, {fmt::format("Step {} of this run is not kept: choose another.", format_count(*context.other_step))}};
    if (state == nullptr) return {nullptr, nullptr, {std::string(source.none)}};
    if (state == context.states.shown) return {state, &context.snapshot, {}};
    const auto trace = context.inquiry.ask(state, facet::Trace{});
    return {state, trace.value.get(), trace.computing() ? Reason::waiting("That state is being computed.") : Reason{trace.problem}};
}

bool can_compare(const PanelContext& context, Compare source) {
    const Document& document = context.document;
    const auto active = [](const Edit& edit) { return edit.on; };
    switch (source) {
    case Compare::Off:
    case Compare::Itself:
    case Compare::Unmasked:
        return true;
    case Compare::Plain:
        return std::any_of(document.forward.edits.begin(), document.forward.edits.end(), active);
    case Compare::Correct:
        return document.forward.mistaken();
    case Compare::Moment:
        return document.trained && document.trained->run == context.training.status->run && !context.training.status->moments.empty();
    case Compare::Pinned:
        return document.pins.a.has_value();
    case Compare::PinnedB:
        return document.pins.b.has_value();
    }
    return false;
}

void end_stale_comparison(PanelContext& context) {
    Comparison& compare = context.view.compare;
    const Document& document = context.document;
    const ComparedSubject now{document.preset, document.model.get(), document.trained ? document.trained->run : 0};
    if (!compare.on()) {
        auto& interrupted = compare.interrupted;
        if (interrupted && interrupted->subject != now) interrupted.reset();
        if (interrupted && can_compare(context, interrupted->source)) compare.choose(interrupted->source);
        return;
    }
    if (!compare.subject) compare.subject = now;
    if (*compare.subject == now && can_compare(context, compare.source)) return;
    const Comparison::Interrupted before{compare.source, *compare.subject};
    compare.end();
    if (before.subject == now && (before.source == Compare::Pinned || before.source == Compare::PinnedB)) compare.interrupted = before;
}

namespace {

template <class F>
ComparedReading<F> compared_reading(const PanelContext& context, const F& facet) {
    const CompareSource* source = chosen_source(context);
    if (source == nullptr) return {};
    const ComparedState state = compared_state(context, *source);
    ComparedReading<F> out{nullptr, state.snapshot, context.view.compare.batch.value_or(context.view.batch), "", state.missing};
    out.name = state_name(context, *source, state);
    if (out.batch != context.view.batch) out.name += fmt::format(", text {}", out.batch + 1);
    out.one_state = state.state == context.states.shown && out.batch == context.view.batch;
    if (source->source == Compare::Itself && out.one_state) {
        out.missing = {"This view shows all layers and heads: choose another text, or another state."};
        return out;
    }
    if (state.snapshot == nullptr) return out;
    const auto answer = context.inquiry.ask(state.state, facet);
    out.reading = answer ? answer.value.get() : answer.so_far.get();
    out.missing = answer.computing() ? Reason::waiting("That state's results are being computed.") : Reason{answer.problem};
    return out;
}

}  // namespace

ComparedReading<facet::Lens> compared_lens(const PanelContext& context) { return compared_reading(context, facet::Lens{}); }
ComparedReading<facet::Totals> compared_totals(const PanelContext& context) { return compared_reading(context, facet::Totals{}); }

void pin_shown_state(PanelContext& context) {
    if (!context.ready()) return;
    context.commands.push_back({command::Pin{false, context.states.shown}, ""});
    context.view.compare.choose(Compare::Pinned);
}

void compare_with_step(PanelContext& context, std::int64_t step) {
    const auto& moments = context.training.status->moments;
    context.view.compare.choose(Compare::Moment);
    if (moments.empty()) return;
    const std::int64_t nearest = moments[nearest_moment(moments, step)];
    if (context.other_step != nearest) context.commands.push_back({command::CompareMoment{nearest}, ""});
}

ComparedSide shown_side(const PanelContext& context, const StageId& id, std::int64_t head) {
    return {.of = context.shown(), .stage = id, .head = head, .batch = context.view.batch, .is_there = true};
}

namespace {

/// Why that state lacks what the side names; empty if it has it.
Reason missing_from(const PanelContext& context, const ComparedSide& side) {
    const Structure& structure = side.of.structure();
    if (structure.plan->find(side.stage) == nullptr) return {fmt::format("That state has no {}.", tensor_name(side.stage))};
    if (Reason missing = context.numbers().missing(side.of, side.stage); !missing.empty()) return missing;
    const Shape shape = structure.shape_of(side.stage);
    if (has_heads(shape) && side.head >= structure.config.num_heads)
        return {fmt::format("That state has no head {}: it has {}.", side.head, structure.config.num_heads)};
    if (side.batch >= shape[0].size) return {fmt::format("That state has no text {}: it has {}.", side.batch + 1, shape[0].size)};
    return {};
}

}  // namespace

ComparedSide reference_side(const PanelContext& context, const StageId& id, std::int64_t head) {
    const ComparedSide shown = shown_side(context, id, head);
    const CompareSource* source = chosen_source(context);
    if (source == nullptr) return {};
    context.numbers().ask_for(shown.of, id);
    ComparedState state = compared_state(context, *source);
    const Comparison& compare = context.view.compare;
    ComparedSide side{.of = {state.state, state.snapshot},
                      .stage = id,
                      .head = compare.head.value_or(head),
                      .batch = compare.batch.value_or(context.view.batch),
                      .missing = std::move(state.missing)};
    if (shown.of.one_head) side.of.one_head = side.head;
    if (is_layer_stage(id.stage) && compare.layer) side.stage.layer = static_cast<int>(*compare.layer);
    if (!side.of.empty()) {
        side.missing = missing_from(context, side);
        side.is_there = side.missing.empty();
        // If the stage has no heads, keep the head, so that it is not mentioned as a difference.
        if (side.is_there && !has_heads(side.of.structure().shape_of(side.stage))) side.head = shown.head;
    }
    const std::string place = where(side, shown);
    side.name = source->source == Compare::Itself && !place.empty() ? place.substr(2) : state_name(context, *source, state) + place;
    return side;
}

Matrix slice_of(const PanelContext& context, const ComparedSide& side) {
    return side.empty() ? Matrix() : context.numbers().numbers(side.numbers()).map;
}

ComparedSides compared_sides(const PanelContext& context, const StageId& id, std::int64_t head) {
    ComparedSides sides{reference_side(context, id, head), shown_side(context, id, head)};
    const std::string place = where(sides.b, sides.a);
    sides.b.name = place.empty() || sides.a.empty() ? "shown" : place.substr(2);
    if (context.view.compare.swapped && !sides.a.empty()) {
        std::swap(sides.a, sides.b);
        std::swap(sides.first, sides.second);
    }
    return sides;
}

bool is_same(const ComparedSide& a, const ComparedSide& b) {
    return !a.empty() && !b.empty() && a.stage == b.stage && a.head == b.head && a.batch == b.batch && *a.of.state == *b.of.state;
}

bool draws_comparison(View view) {
    switch (view) {
    case View::Step:
    case View::Heads:
    case View::Grid:
    case View::Lines:
    case View::Totals:
    case View::Lens:
        return true;
    case View::KnockOut:
    case View::Write:
    case View::Precision:
    case View::Train:
    case View::Doctor:
        return false;
    }
    return false;
}

ComparedSide side_in_place(const PanelContext& context) {
    const ViewState& view = context.view;
    const CompareLayout layout = view.compare.layout;
    // Where a view has many maps, it has no room for a second one beside each.
    const bool one_side = view.view == View::Lines || view.view == View::Lens ||
                          ((view.view == View::Heads || view.view == View::Grid) && layout == CompareLayout::SideBySide);
    const bool in_place = draws_comparison(view.view) && (one_side || layout == CompareLayout::InPlace);
    return view.compare.on() && view.compare.swapped && in_place ? reference_side(context, view.stage, view.head) : ComparedSide();
}

std::string_view words_of_side(const PanelContext& context) {
    if (!context.view.compare.on()) return "";
    return side_in_place(context).empty() ? " of B" : " of A";
}

void draw_side_in_place(PanelContext& context, const std::function<void(PanelContext&)>& draw) {
    const ComparedSide a = side_in_place(context);
    if (a.empty()) return draw(context);
    States states = context.states;
    states.shown = a.of.state;
    PanelContext there = context.at(*compared_state(context, *chosen_source(context)).snapshot, states);
    ViewState& view = context.view;
    const auto [stage, head, batch] = std::tuple(view.stage, view.head, view.batch);
    std::tie(view.stage, view.head, view.batch) = std::tuple(a.stage, a.head, a.batch);
    draw(there);
    // Unless the panel went to another place itself.
    if (view.stage == a.stage) view.stage = stage;
    if (view.head == a.head) view.head = head;
    if (view.batch == a.batch) view.batch = batch;
}

std::string no_difference(const ComparedSides& sides, const Matrix& a, const Matrix& b, std::string_view instead) {
    if (a.empty() || b.empty() || (a.data.rows == b.data.rows && a.data.cols == b.data.cols)) return "";
    return fmt::format("{} is {} and {} is {}: their shapes differ, so {}.", sides.first, shape_words(a), sides.second, shape_words(b),
                       instead);
}

Color problem_color(const PanelContext& context, const Reason& problem) {
    return problem.waits ? context.theme.colors.muted : context.theme.colors.bad;
}

ComparisonPicture comparison_picture(PanelContext& context, const ComparedSides& sides) {
    ComparisonPicture out;
    if (sides.a.empty()) {
        out.problem = sides.a.missing;
        return out;
    }
    Matrix a = slice_of(context, sides.a), b = slice_of(context, sides.b);
    out.formula = formula_of_chosen_cell(context, sides, a, b);
    CompareLayout layout = context.view.compare.layout;
    for (const auto& [side, matrix] : {std::pair{&sides.a, &a}, std::pair{&sides.b, &b}})
        if (matrix->empty() && out.problem.empty()) out.problem = missing_numbers(context, *side);
    Matrix difference;
    if (layout != CompareLayout::SideBySide) out.remark = no_difference(sides, a, b, "they are shown side by side");
    if (!out.remark.empty()) {
        layout = CompareLayout::SideBySide;
        out.formula = fmt::format("{} and {}", sides.first, sides.second);
    } else {
        out.remark = why_same(context, sides);
    }
    if (out.problem.empty() && layout != CompareLayout::SideBySide) {
        Found found = context.numbers().difference(b, a);
        difference = std::move(found.map);
        out.problem = {found.problem()};
        if (out.problem.empty() && difference.empty()) out.problem = Reason::waiting("The difference is being computed.");
    }
    if (!out.problem.empty()) return out;
    difference.symbol = fmt::format("{} − {}", sides.second, sides.first);
    a.symbol = fmt::format("{}  {}", sides.first, sides.a.name);
    b.symbol = fmt::format("{}  {}", sides.second, sides.b.name);
    a.name += " before";  // its zoom is its own
    a.is_side_a = true;
    out.equation.layout = layout == CompareLayout::Difference ? Layout::Single
                          : layout == CompareLayout::All      ? Layout::Difference
                                                              : Layout::Sum;
    out.equation.op = layout == CompareLayout::SideBySide ? "" : "−";
    if (layout == CompareLayout::SideBySide) {
        out.equation.operands = {std::move(a)};
        out.equation.result = std::move(b);
        out.equation.rows_differ = sides.a.batch != sides.b.batch || sides.a.of.snapshot != sides.b.of.snapshot;
    } else {
        if (layout == CompareLayout::All) out.equation.operands = {std::move(b), std::move(a)};
        out.equation.result = std::move(difference);
    }
    return out;
}

void draw_difference_row(PanelContext& context, const Matrix& difference, std::int64_t row, std::int64_t col) {
    if (!difference.is_difference || difference.empty() || row >= difference.data.rows || col >= difference.data.cols) return;
    value_row(context.ui(), context.view.compare.swapped ? "A − B" : "B − A",
              difference.masked(row, col) ? std::string(kMasked) : format_number(difference.at(row, col), {.decimals = 4, .plus = true}),
              "The number in the picture.");
}

SharedRange shared_range(const PanelContext& context, const StageId& id) {
    // Called with either side of the same pair of stages: map the reference's layer back to the shown one.
    StageId shown = id;
    const Comparison& compare = context.view.compare;
    if (compare.on() && compare.layer && is_layer_stage(id.stage) && id.layer == *compare.layer) shown.layer = context.view.stage.layer;
    SharedRange range;
    bool any = false;
    const NumberDesk numbers = context.numbers();
    const auto include_stage = [&](const Subject& of, const StageId& stage, const StageId& beside) {
        const StageRange* found = numbers.range(of, stage, beside);
        if (found != nullptr && found->finite > 0) include(range, any, found->lo, found->hi);
        return found != nullptr;
    };
    // Prefer the part computed for the current stage, so that a large model need not compute another part.
    if (!include_stage(context.shown(), shown, context.view.stage)) include_stage(context.shown(), shown, shown);
    if (!compare.on()) return range;
    if (const ComparedSide side = reference_side(context, shown, context.view.head); !side.empty())
        include_stage(side.of, side.stage, side.stage);
    return range;
}

}  // namespace attn::app
