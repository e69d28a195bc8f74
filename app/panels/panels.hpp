#pragma once
/// The panels of the frame. Each draws into the current ImGui child window and appends what the person asks for to context.commands.

#include <string_view>
#include <vector>

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_top_bar(PanelContext& context);
void draw_text_row(PanelContext& context);
/// What may come next, below the text; its height in a window of this height, 0 where there is no such row. All in pixels.
float next_row_height(const PanelContext& context, float window_height);
void draw_next_row(PanelContext& context);
/// In a low window, which has no such row: the likeliest of them, at most three, in the row of the text, ending at `right`. Returns the
/// pixels they took of `room`.
float draw_few_next_words(PanelContext& context, float right, float y, float room);
/// Opens the field in which the shown sequence is edited.
void start_text_edit(PanelContext& context);
void draw_settings(PanelContext& context);
/// A part of the settings: what the settings file calls it, and its heading.
struct ListedSection {
    const char* name;
    std::string_view title;
};
/// Those that the settings have now, from top to bottom.
std::vector<ListedSection> listed_sections(const PanelContext& context);
void draw_step_view(PanelContext& context);
void draw_heads_view(PanelContext& context);
void draw_grid_view(PanelContext& context);
void draw_lines_view(PanelContext& context);
void draw_totals_view(PanelContext& context);
void draw_lens_view(PanelContext& context);
/// The right pane of the totals and of the lens: where the chosen number comes from.
void draw_totals_cell(PanelContext& context);
void draw_lens_cell(PanelContext& context);
/// Statistics of what is shown, in the right pane.
void draw_histogram_section(PanelContext& context);
void draw_doctor_view(PanelContext& context);
void draw_inspector(PanelContext& context);
/// The stages of the open block, with pictures.
void draw_thumbnails(PanelContext& context);
/// The map of the model, and below it the stages of the open block.
void draw_stages(PanelContext& context);
/// The map alone.
void draw_stage_map(PanelContext& context);
/// One line: the open block's name between buttons to its neighbours.
void draw_stage_line(PanelContext& context);
void draw_help_sheet(PanelContext& context);

}  // namespace attn::app
