#pragma once
/// What the person looks at: chosen view, stage, head, cell and colours. Not part of the document, so not undone.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "app/panels/actions/palette_state.hpp"
#include "app/panels/compare/comparison_state.hpp"
#include "app/panels/edit/edit_state.hpp"
#include "app/panels/files/file_view.hpp"
#include "app/panels/help/help_state.hpp"
#include "app/panels/lessons/lesson_view.hpp"
#include "app/panels/maps/morph.hpp"
#include "app/panels/train/train_state.hpp"
#include "app/panels/views/grid_state.hpp"
#include "app/panels/views/inspector_state.hpp"
#include "app/panels/views/knock_out_state.hpp"
#include "app/panels/views/lines_state.hpp"
#include "app/panels/views/precision_state.hpp"
#include "app/panels/views/reading_state.hpp"
#include "app/panels/views/token_path_state.hpp"
#include "app/panels/write/head_rows_view.hpp"
#include "app/session/document/look.hpp"
#include "app/session/document/view.hpp"
#include "app/widgets/color_bar.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "app/widgets/token_chips.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

/// A chosen index on each axis, by the axis' name: the same query row and key column light up in every stage.
class AxisSelection {
public:
    std::optional<std::int64_t> on(Axis axis) const { return index_[static_cast<std::size_t>(axis)]; }
    void set(Axis axis, std::int64_t index) { index_[static_cast<std::size_t>(axis)] = index; }
    void clear() { index_ = {}; }
    bool empty() const {
        for (const auto& index : index_)
            if (index) return false;
        return true;
    }
    bool operator==(const AxisSelection&) const = default;

private:
    std::array<std::optional<std::int64_t>, static_cast<std::size_t>(Axis::N) + 1> index_{};
};

struct PaneState {
    bool left = true, right = true, strip = true;
    bool thumbnails = true;                                         ///< of the open block's stages, below the map of the model
    float left_width = 248, right_width = 328, strip_height = 178;  ///< logical pixels
    bool only_centre = false;                                       ///< F11: the picture alone, for projecting
    /// Where a narrow window folds the panes at the sides: one of them is open over the picture.
    bool left_open = false, right_open = false;
    std::string_view reveal{};  ///< part of the settings, by name, that is to be scrolled to
};

/// What is looked for among the settings.
struct SettingsSearch {
    std::string text;    ///< "": nothing, all are shown
    bool focus = false;  ///< the field takes the keyboard in the next frame
};

struct ViewState {
    View view = View::Step;
    StageId stage{Stage::Scores, 0};
    std::optional<Look> opening;  ///< to turn to as soon as the numbers of what was opened are there
    Stack text_of = Stack::Main;  ///< the stack of the stage that was shown last
    std::int64_t head = 0;
    std::int64_t batch = 0;
    AxisSelection locked;       ///< by click; Esc clears it
    AxisSelection hovered;      ///< under the mouse in this frame, gathered while the panels draw; empty when the mouse is elsewhere
    AxisSelection hover_shown;  ///< under the mouse in the frame before: what maps light up, whichever of them comes first
    ColorOptions signed_colors;
    ColorOptions probability_colors;
    Stage heads_stage = Stage::Weights;  ///< what the heads and grid views show

    bool playing = false;
    double next_step_at = 0;  ///< time of the next automatic step, seconds

    bool gradients = false;  ///< maps show what their numbers do to the loss
    Comparison compare;
    LinesView lines;
    TotalsView totals;
    LensView lens;
    HistogramView histogram;
    TokenPathState token_path;
    PrecisionView precision;
    GridView grid;

    bool times_moved = false;        ///< maps of weights of many heads: times the length of what each moves
    bool without_first_key = false;  ///< maps of weights of many heads leave it out, and rescale the others
    std::string sort_heads_by;       ///< "" = layer, head; else the name of a pattern
    TextEdit text;                   ///< the sequence being edited
    bool source_text = false;        ///< the text row shows what the encoder of an encoder-decoder reads
    EditState edits;
    KnockOutState knock_out;
    HeadRowsView head_rows;
    InspectorState inspector;
    TrainView train;
    LessonView lesson;
    PaletteState palette;
    KeyboardFocus focus;
    FileView files;
    PaneState panes;
    std::set<std::string, std::less<>> folded;  ///< parts of the pane at the left, by name: see app/panels/section.hpp
    SettingsSearch search;
    bool toured = false;    ///< the tour has been taken to its end
    double memory_mib = 0;  ///< that what is computed may take; 0: a quarter of the machine's memory
    bool dark = true;
    double ui_zoom = 1;                             ///< size of everything, on top of the display's scale
    bool help = false;                              ///< the sheet of keys and help pages is open
    HelpState help_page;                            ///< what it shows
    std::string dump_path;                          ///< typed into the Doctor view
    std::optional<bool> stroke;                     ///< while the mouse paints: whether it forbids cells
    bool painting = false;                          ///< clicks on an attention map forbid or allow cells
    std::uint64_t gesture = 0;                      ///< counts finished drags, so that each becomes one undo step
    std::optional<StageId> strip_shows;             ///< the stage that the strip has scrolled to
    std::optional<StageId> map_shows;               ///< the stage whose block the map of the model has scrolled to
    Morph morph;                                    ///< from the map that was shown before
    bool morphing = true;                           ///< steps between maps of one shape are shown as a change
    float zoom_by_key = 0;                          ///< steps of + and − in this frame
    std::map<std::string, HeatmapViewState> zooms;  ///< zoom and pan by the matrix' name

    const AxisSelection& selection() const { return hovered.empty() ? locked : hovered; }
};

}  // namespace attn::app
