#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/slider.hpp"

namespace attn::app {
namespace {

void draw_sources(PanelContext& context) {
    Comparison& compare = context.view.compare;
    const Ui ui = context.ui();
    std::string shown = "off";
    for (const CompareSource& source : compare_sources())
        if (source.source == compare.source) shown = name_of_source(context, source);
    if (!begin_menu_button(ui, "##compare", shown, -1,
                           {.tooltip = "The state A to compare with the shown one, B. The B key switches the comparison on and off."}))
        return;
    if (menu_item(ui, "off", !compare.on(), "No comparison.")) compare.end();
    for (const CompareSource& source : compare_sources()) {
        // Unavailable states say why and cannot be chosen. Pinned is always available, since choosing it can pin the state.
        const bool there = can_compare(context, source.source) || source.source == Compare::Pinned;
        if (!menu_item(ui, name_of_source(context, source), source.source == compare.source, there ? source.tooltip : source.none, {},
                       !there) ||
            !there)
            continue;
        if (source.source == Compare::Moment) compare_with_step(context, context.other_step.value_or(0));
        else compare.choose(source.source);
        if (source.source == Compare::Pinned && context.states.pinned_a == nullptr) pin_shown_state(context);
    }
    end_menu_button();
}

/// A row such as "same 0 1 2" for A's layer, head or text; texts are counted from 1.
void draw_place(const PanelContext& context, const char* label, std::int64_t count, std::optional<std::int64_t>& chosen,
                std::string_view tooltip, std::int64_t first = 0) {
    std::vector<std::string> texts = {"same"};
    for (std::int64_t i = 0; i < count; ++i) texts.push_back(std::to_string(first + i));
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    int index = chosen ? static_cast<int>(*chosen) + 1 : 0;
    if (!segmented_row(context.ui(), label, names, index, 46, {.tooltip = tooltip})) return;
    chosen = index == 0 ? std::nullopt : std::optional<std::int64_t>(index - 1);
}

/// A slider for A's training step.
void draw_step(PanelContext& context) {
    const auto& moments = context.training.status->moments;
    if (context.view.compare.source != Compare::Moment || moments.size() < 2) return;
    auto step = static_cast<double>(context.other_step.value_or(0));
    const Edited edited = slider_row(context.ui(), "step of A", step,
                                     {.min = static_cast<double>(moments.front()),
                                      .max = static_cast<double>(moments.back()),
                                      .step = 1,
                                      .decimals = 0,
                                      .shown = format_count(context.other_step.value_or(0)),
                                      .notes = {.tooltip = "The step of the training run used as A, with the shown text and masks."}});
    if (edited) compare_with_step(context, std::llround(step));
    close_gesture(context, edited);
}

void draw_layouts(PanelContext& context) {
    // Lines of two states would cover each other, so there is no choice of layout.
    if (context.view.view == View::Lines) return;
    Comparison& compare = context.view.compare;
    const View view = context.view.view;
    if (view == View::Lens || view == View::Heads || view == View::Grid) {
        // There is no room for both states.
        static constexpr std::array<std::string_view, 2> kOneOfThem = {"B − A", "in place"};
        const bool difference = compare.layout == CompareLayout::All || compare.layout == CompareLayout::Difference;
        int chosen = difference || (view == View::Lens && compare.layout == CompareLayout::SideBySide) ? 0 : 1;
        if (segmented(context.ui(), "##one_layout", kOneOfThem, chosen, 0,
                      {.tooltip = view == View::Lens
                                      ? "How much more likely the correct token is than in A, or the shown state, replaced by A while X is "
                                        "held."
                                      : "How much the maps differ from those of A, or the shown state, replaced by A while X is held."}))
            compare.lay_out(chosen == 1 ? CompareLayout::InPlace : CompareLayout::All);
        return;
    }
    static constexpr std::array<std::string_view, 4> kLayouts = {"B − A = Δ", "A | B", "B − A", "in place"};
    int layout = static_cast<int>(compare.layout);
    if (segmented(context.ui(), "##compare_layout", kLayouts, layout, 0,
                  {.tooltip = "Both states and their difference, both side by side, the difference alone, or the shown state, replaced by "
                              "A while X is held."}))
        compare.lay_out(static_cast<CompareLayout>(layout));
}

}  // namespace

void draw_compare_settings(PanelContext& context) {
    const Ui ui = context.ui();
    ViewState& view = context.view;
    Comparison& compare = view.compare;
    draw_sources(context);
    gap(ui, 6);
    if (compare.on() && context.ready()) {
        const ComparedSide side = reference_side(context, view.stage, view.head);
        const Structure& structure = side.empty() ? context.structure() : side.of.structure();
        draw_step(context);
        // Totals and lens cover all layers and heads, so those cannot be chosen.
        if (view.view != View::Totals && view.view != View::Lens) {
            draw_place(context, "layer", structure.config.layers_of(view.stage.stack), compare.layer, "The layer shown as A.");
            draw_place(context, "head", head_count(structure), compare.head, "The head shown as A.");
        }
        if (batch_size(structure) > 1) draw_place(context, "text", batch_size(structure), compare.batch, "The text shown as A.", 1);
        draw_layouts(context);
        paragraph(ui, context.theme.fonts.label, context.theme.colors.faint, "Hold X to swap A and B.");
        gap(ui, 6);
    }
    if (button(
            ui, context.states.pinned_a != nullptr ? "pin again" : "pin this state",
            {.width = -1,
             .notes = {.tooltip = "Keeps what is on screen now as A, for comparison with later states. It is saved with the document."}}))
        pin_shown_state(context);
}

}  // namespace attn::app
