#pragma once
/// An interactive heatmap: a matrix as coloured cells with labels, numbers, selection, zoom and pan.

#include <imgui.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/session/numbers/cell_marks.hpp"
#include "app/widgets/heatmap_state.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct HeatmapCell {
    std::int64_t row = 0, col = 0;
    bool operator==(const HeatmapCell&) const = default;
};

/// The label of a row or column; called only for those that are drawn. It is shown unchanged: return visible text.
using LabelOf = std::function<std::string(std::int64_t)>;
/// The labels of a list with one for each row or column, which must outlive the result.
LabelOf labels_in(std::span<const std::string> list);

/// The labels along an axis.
struct HeatmapAxis {
    LabelOf label{};           ///< none: no labels
    bool numbers = false;      ///< show indices where there are no labels
    float room = 0;            ///< space for labels in pixels; longer ones are shortened; 0 = no labels
    std::string_view title{};  ///< such as "query"; written with the axis letter in its colour
    Axis axis = Axis::N;
};

/// Selection and hover; -1 = none. A row and a column together frame their cell strongly and their strips faintly; one of them alone frames
/// its strip strongly.
struct HeatmapMarks {
    std::int64_t row = -1, col = -1;              ///< selected
    std::int64_t hover_row = -1, hover_col = -1;  ///< hovered in this map or another
};

/// The map to animate from; must have the same shape.
struct HeatmapBefore {
    HeatmapData data;
    HeatmapStyle style;
    float share = 0;  ///< progress of the animation: the opacity of the new map, 0 to 1
};

struct HeatmapOptions {
    HeatmapAxis rows{}, cols{};
    HeatmapMarks marks{};
    CellMarks edited{};
    bool numbers = true;      ///< show numbers in cells that are large enough
    bool interactive = true;  ///< false for thumbnails: no input, no hover
    bool zoom = true;         ///< zoom with wheel, drag, double-click and F
    float zoom_steps = 0;     ///< zoom by keys, in wheel steps: about the pointer if hovered, else the selection if `zoom_keys`
    bool zoom_keys = false;   ///< keys zoom this map even if it is not hovered
    bool opens = false;       ///< report a double-click instead of fitting the view
    bool pan = true;          ///< pan by dragging; false leaves dragging to the caller (painting)
    bool arrows = false;      ///< arrow keys move the selected cell; false if the panel uses them itself
    bool border = true;
    bool dropped = false;                   ///< zeros are what dropout has left out, and are crossed
    bool lies_below = false;                ///< controls drawn later may lie on top of it
    const HeatmapBefore* before = nullptr;  ///< previous map whose colours fade into this one; numbers are those of this map from the start
    std::string_view note{};                ///< shown in red below the map, such as "3 NaN"
};

struct HeatmapResult {
    std::optional<HeatmapCell> hovered, clicked, right_clicked, double_clicked;
    std::optional<HeatmapCell> moved;  ///< the selected cell after an arrow key
    bool held = false;                 ///< the left button was pressed on this map and is still down
    bool view_changed = false;
};

/// Draws the cells into [min, max]; labels and titles go around it, where the caller has left space. The cost depends on what is visible,
/// not on the matrix size. Does not move ImGui's cursor.
HeatmapResult heatmap_view(const Ui& ui, const char* id, ImVec2 min, ImVec2 max, const HeatmapData& data, const HeatmapStyle& style,
                           HeatmapViewState& state, const HeatmapOptions& options = {});

/// The exact number of a cell, or "masked".
std::string cell_text(const HeatmapData& data, HeatmapCell cell);
/// The tooltip of a cell: its row and column, and the exact number or `instead`.
void heatmap_tooltip(const Ui& ui, const HeatmapData& data, HeatmapCell cell, const HeatmapAxis& rows, const HeatmapAxis& cols,
                     std::string_view instead = {});

}  // namespace attn::app
