#pragma once
/// The central picture: one matrix as coloured cells with its labels, numbers, lights, zoom and pan.

#include <imgui.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/widgets/cell_marks.hpp"
#include "app/widgets/heatmap_state.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct HeatmapCell {
    std::int64_t row = 0, col = 0;
    bool operator==(const HeatmapCell&) const = default;
};

/// What stands along one axis. Labels are shown as they are: pass visible text.
struct HeatmapAxis {
    std::span<const std::string> labels{};  ///< one for each row (column), or empty
    bool numbers = false;                   ///< the index where there are no labels
    float room = 0;                         ///< pixels for the labels; longer ones are cut; 0 = none are drawn
    std::string_view title{};               ///< "query": written with the axis' letter in its colour
    Axis axis = Axis::N;
};

/// Lights: -1 = none. Row and column together frame their cell strongly and the strips faintly; one alone frames its strip strongly.
struct HeatmapMarks {
    std::int64_t row = -1, col = -1;              ///< chosen
    std::int64_t hover_row = -1, hover_col = -1;  ///< pointed at here or in another map
};

/// What a map looked like before: of the same shape.
struct HeatmapBefore {
    HeatmapData data;
    HeatmapStyle style;
    float share = 0;  ///< how much of the new map is seen, 0 to 1
};

struct HeatmapOptions {
    HeatmapAxis rows{}, cols{};
    HeatmapMarks marks{};
    CellMarks edited{};
    bool numbers = true;      ///< in the cells, where they are large enough
    bool interactive = true;  ///< false for thumbnails: no item, no hover
    bool zoom = true;         ///< wheel, drag, double-click and F
    float zoom_steps = 0;     ///< by keys, as turns of the wheel: about the pointer, elsewhere about the chosen cell where `zoom_keys`
    bool zoom_keys = false;   ///< the keys zoom this map although nothing points at it
    bool opens = false;       ///< a double click is reported as such instead of fitting the picture
    bool pan = true;          ///< dragging pans; false leaves the drag to the caller (painting)
    bool arrows = false;      ///< arrow keys move the chosen cell; off where the panel uses them itself
    bool border = true;
    bool lies_below = false;                ///< controls that are drawn later lie on the cells
    const HeatmapBefore* before = nullptr;  ///< its colours pass over into the map's; numbers are the map's own from the start
    std::string_view note{};                ///< in red below the map, such as "3 NaN"
};

struct HeatmapResult {
    std::optional<HeatmapCell> hovered, clicked, right_clicked, double_clicked;
    std::optional<HeatmapCell> moved;  ///< where the arrow keys took the chosen cell
    bool held = false;                 ///< the left button went down on this map and is still down
    bool view_changed = false;
};

/// Draws the cells into [min, max]; labels and titles stand outside, in the room that the caller left. The cost depends on what is
/// visible, not on the matrix' size. ImGui's cursor stays where it is.
HeatmapResult heatmap_view(const Ui& ui, const char* id, ImVec2 min, ImVec2 max, const HeatmapData& data, const HeatmapStyle& style,
                           HeatmapViewState& state, const HeatmapOptions& options = {});

/// The exact number of a cell, or "masked".
std::string cell_text(const HeatmapData& data, HeatmapCell cell);
/// Tooltip of a cell: what row and column are, the exact number or what stands in its place.
void heatmap_tooltip(const Ui& ui, const HeatmapData& data, HeatmapCell cell, const HeatmapAxis& rows, const HeatmapAxis& cols,
                     std::string_view instead = {});

}  // namespace attn::app
