#pragma once
/// The panels of the frame. Each draws into the current ImGui child window and appends the user's actions to context.commands.

#include <string_view>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_top_bar(PanelContext& context);
void draw_text_row(PanelContext& context);
/// The row of next-token candidates below the text, and its height for a window height in pixels; 0 if the row is not shown.
float next_row_height(const PanelContext& context, float window_height);
void draw_next_row(PanelContext& context);
/// For low windows without that row: draws up to three candidates in the text row, right-aligned at `right`. Returns the width used of
/// `room`.
float draw_few_next_words(PanelContext& context, float right, float y, float room);
/// Shows the next or previous of an example's sentences, as far as there are any; false if the text is not one of them.
bool step_sentence(PanelContext& context, int direction);
/// Opens the editor for the shown sequence.
void start_text_edit(PanelContext& context);
void draw_settings(PanelContext& context);
/// A section of the settings: its name in the settings file, and its title.
struct ListedSection {
    const char* name;
    std::string_view title;
    std::string_view words;  ///< of its settings, for a search
};
/// The current settings sections from top to bottom.
std::vector<ListedSection> listed_sections(const PanelContext& context);
/// Opens the settings pane at a section, unfolded.
void open_settings_section(ViewState& view, const char* name);
void draw_step_view(PanelContext& context);
void draw_heads_view(PanelContext& context);
void draw_grid_view(PanelContext& context);
void draw_lines_view(PanelContext& context);
void draw_totals_view(PanelContext& context);
void draw_lens_view(PanelContext& context);
/// The right pane of the totals and lens views: how the selected number arises.
void draw_totals_cell(PanelContext& context);
void draw_lens_cell(PanelContext& context);
/// Statistics of the shown numbers, in the right pane.
void draw_histogram_section(PanelContext& context);
void draw_doctor_view(PanelContext& context);
void draw_inspector(PanelContext& context);
/// Thumbnails of the open block's stages.
void draw_thumbnails(PanelContext& context);
/// The model map with thumbnails of the open block's stages below.
void draw_stages(PanelContext& context);
/// The model map alone.
void draw_stage_map(PanelContext& context);
/// One line with the open block's name and buttons to its neighbours.
void draw_stage_line(PanelContext& context);
void draw_help_sheet(PanelContext& context);

}  // namespace attn::app
