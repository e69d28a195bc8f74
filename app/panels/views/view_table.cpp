#include "app/panels/views/view_table.hpp"

#include <array>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/views/drawn_views.hpp"
#include "app/panels/views/knock_out_map.hpp"
#include "app/panels/views/lens_numbers.hpp"
#include "app/panels/views/precision_view.hpp"
#include "app/panels/views/totals_view.hpp"
#include "app/panels/write/write_view.hpp"

namespace attn::app {
namespace {

void draw_arithmetic(PanelContext& context) { draw_side_in_place(context, draw_inspector); }

/// The statistics stand below the whole list of the arithmetic, and in a wide window always.
void draw_arithmetic_and_statistics(PanelContext& context) {
    constexpr float kWide = 2560;
    draw_arithmetic(context);
    if (context.view.inspector.all || ImGui::GetIO().DisplaySize.x >= context.px(kWide))
        draw_side_in_place(context, draw_histogram_section);
}

void draw_totals_side(PanelContext& context) { draw_side_in_place(context, draw_totals_cell); }
void draw_lens_side(PanelContext& context) { draw_side_in_place(context, draw_lens_cell); }

constexpr std::array kPanels = {
    ViewPanels{View::Step, draw_step_view, draw_arithmetic_and_statistics, stage_numbers},
    ViewPanels{View::Heads, draw_heads_view, draw_arithmetic_and_statistics, stage_numbers},
    ViewPanels{View::Grid, draw_grid_view, draw_arithmetic_and_statistics, stage_numbers},
    ViewPanels{View::Lines, draw_lines_view, draw_arithmetic_and_statistics, stage_numbers},
    ViewPanels{View::Totals, draw_totals_view, draw_totals_side, totals_numbers},
    ViewPanels{.view = View::Lens, .draw = draw_lens_view, .draw_cell = draw_lens_side, .numbers = lens_numbers, .needs_model = true},
    // It shows changes of an answer, not a stage's numbers, so there are no statistics.
    ViewPanels{.view = View::KnockOut,
               .draw = draw_knock_out_view,
               .draw_cell = draw_arithmetic,
               .numbers = knock_out_numbers,
               .needs_model = true},
    ViewPanels{.view = View::Write, .draw = draw_write_view, .draw_cell = draw_write_cell, .of_document = false, .needs_model = true},
    ViewPanels{
        .view = View::Precision, .draw = draw_precision_view, .draw_cell = draw_precision_cell, .of_document = false, .needs_trace = false},
    ViewPanels{View::Train, nullptr, draw_arithmetic_and_statistics},
    ViewPanels{.view = View::Doctor,
               .draw = draw_doctor_view,
               .draw_cell = draw_arithmetic_and_statistics,
               .of_document = false,
               .needs_trace = false},
};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < kPanels.size(); ++i)
        if (static_cast<std::size_t>(kPanels[i].view) != i) return false;
    return kPanels.size() == static_cast<std::size_t>(View::Doctor) + 1;
}
static_assert(is_in_order(), "one row for every view, in the order of View");

}  // namespace

const ViewPanels& panels_of(View view) { return kPanels.at(static_cast<std::size_t>(view)); }

}  // namespace attn::app
