#pragma once
/// The view: current view, stage, head, cell and colours. Not part of the document and therefore not undone.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/state/axis_selection.hpp"
#include "app/panels/state/comparison_state.hpp"
#include "app/panels/state/completion_state.hpp"
#include "app/panels/state/drawn_parts.hpp"
#include "app/panels/state/edit_state.hpp"
#include "app/panels/state/file_view.hpp"
#include "app/panels/state/fill_in_state.hpp"
#include "app/panels/state/grid_state.hpp"
#include "app/panels/state/head_rows_view.hpp"
#include "app/panels/state/help_state.hpp"
#include "app/panels/state/inspector_state.hpp"
#include "app/panels/state/knock_out_state.hpp"
#include "app/panels/state/lesson_view.hpp"
#include "app/panels/state/lines_state.hpp"
#include "app/panels/state/morph.hpp"
#include "app/panels/state/palette_state.hpp"
#include "app/panels/state/precision_state.hpp"
#include "app/panels/state/reading_state.hpp"
#include "app/panels/state/token_path_state.hpp"
#include "app/panels/state/trail.hpp"
#include "app/panels/state/train_state.hpp"
#include "app/session/document/look.hpp"
#include "app/session/document/view.hpp"
#include "app/session/values/facet.hpp"
#include "app/widgets/color_bar.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "app/widgets/token_chips.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn::app {

struct DoctorReport;
struct Setup;

struct PaneState {
    bool left = true, right = true, strip = true;
    std::optional<bool> map{};                   ///< whether the map of the model is open above the stages; none: if there is room
    float left_width = 208, right_width = 324;   ///< in logical pixels
    bool only_centre = false;                    ///< F11: only the picture, for projectors
    bool left_open = false, right_open = false;  ///< all settings, and the right pane where it is collapsed, are open over the picture
    std::string_view reveal{};                   ///< section of the settings to scroll to
};

/// The search in the settings.
struct SettingsSearch {
    std::string text;      ///< "": no search
    std::string revealed;  ///< the text whose first finding has been scrolled to
    bool focus = false;    ///< the field takes the focus in the next frame
};

/// Another head shown while the mouse is on its map.
struct HeadUnderMouse {
    std::int64_t head = 0, chosen = 0;  ///< `chosen` returns when the mouse leaves
};

/// The section of the settings clicked last. It stays in place for a moment, even if the click makes a section above it longer.
struct HeldSection {
    std::string_view name{};
    float top = 0;
    double until = 0;  ///< in seconds
};

/// The settings pane.
struct SettingsPane {
    std::set<std::string, std::less<>> folded;  ///< collapsed sections, by name: see app/panels/kit/section.hpp
    SettingsSearch search;
    HeldSection held;
};

/// Views of the maps of many heads.
struct ManyHeads {
    Stage stage = Stage::Weights;    ///< whose maps they show
    bool norm_weighted = false;      ///< weights are multiplied by the norm of what each head moves
    bool without_first_key = false;  ///< weights leave out the first key, and the rest is rescaled
    std::string sort_by;             ///< "" = by layer and head; otherwise the name of a pattern
};

/// Where a text with words that are new to the model was first shown: there, the line with the eye says what that means.
struct NewWordsTold {
    std::vector<std::string> texts;
    std::weak_ptr<const Setup> setup{};  ///< what the sentence is about, and which text of it
    std::size_t text = 0;
    std::string sentence{};
    StageId stage{};
    std::int64_t head = 0;
    AxisSelection cell;
};

/// What a kind of map was coloured by: where that changes, the range before is told beside the scale for a moment.
struct ToldRange {
    float lo = 0, hi = 0;  ///< of the last frame; equal: none yet
    std::string was;       ///< the range before
    double until = 0;
};
/// Maps of one kind have the same colours: by whether they are probabilities, differences, gradients.
inline constexpr std::size_t kMapKinds = 8;

/// What was chosen before a text is typed: it is chosen again as soon as the text is long enough. The last word stays chosen if it was,
/// because what the model says next depends on it.
struct SelectionWhileTyping {
    AxisSelection wanted, kept;  ///< what was chosen, and what of it there was in the last frame
    bool at_end = false;         ///< the query was the last word
    bool editing = false;        ///< in the last frame
    std::int64_t length = 0;     ///< of the shown text in the last frame
};

struct TextRowState {
    TextEdit edit;                 ///< editor of the shown sequence
    std::size_t added = 0;         ///< how many texts there will be once one is added, which is then edited; 0: none
    bool type_over_added = false;  ///< the first letter replaces the copy that it begins as
    bool unread = false;           ///< nothing could be computed because of a text, so the editor stays open
    bool source = false;           ///< the row shows the encoder's text
    StageId stage{};               ///< the stage that it last followed
    NewWordsTold told{};
    SelectionWhileTyping typing{};
    CompletionState completions{};
    WordSheetState sheet{};
};

/// Where the path of an attention dump is typed.
struct DumpField {
    std::string path;
    bool focus = false;                                 ///< it takes the keyboard in the next frame
    bool entered = false;                               ///< the path was entered, and the file has not been examined yet
    std::string closed{};                               ///< the file whose report the user has closed
    std::weak_ptr<const DoctorReport> closed_report{};  ///< that report: the file may be opened again
    std::size_t finding = 0;                            ///< the chosen one of those that show a number beside the expected one
};

/// While the mask is painted, clicks on an attention map mask or unmask cells.
struct PaintState {
    /// A stroke of the mouse: whether it forbids cells, and the cell it has reached.
    struct Stroke {
        bool forbids = true;
        std::int64_t row = 0, col = 0;
    };
    bool on = false;
    std::optional<Stroke> stroke;
};

/// The stage that the map of the model last scrolled to.
struct StripState {
    std::optional<StageId> block;
};

/// The next-token candidates shown last; they stay, faded, while those of a changed text are computed.
struct NextWordsState {
    std::shared_ptr<const NextWords> last;
    std::shared_ptr<const OpenedModel> model;  ///< whose they are
};

struct ViewState {
    View view = View::Step;
    StageId stage{Stage::Scores, 0};
    std::optional<Look> opening;      ///< applied once the numbers of the opened document are available
    std::optional<Look> next_look{};  ///< to be turned to before the next frame: parts of this one are drawn already
    std::int64_t head = 0;
    std::optional<HeadUnderMouse> head_under_mouse;
    std::int64_t batch = 0;
    std::optional<std::int64_t> next_batch{};  ///< to be shown once it is computed, after a text was added or removed
    AxisSelection locked;                      ///< selected by click; Esc clears it
    Trail trail;
    AxisSelection hovered;      ///< hovered in this frame, collected while panels draw; empty if the mouse is elsewhere
    AxisSelection hover_shown;  ///< hovered in the previous frame; used for highlighting, so that the drawing order of maps does not matter
    ColorOptions signed_colors;
    ColorOptions probability_colors;
    std::array<ToldRange, kMapKinds> told_ranges{};
    ManyHeads heads;

    DrawnParts drawn;
    std::optional<double> outdated_since;  ///< since when the picture has belonged to the document before the last change
    bool playing = false;
    double next_step_at = 0;  ///< time of the next automatic step in seconds

    bool gradients = false;  ///< maps show loss gradients
    Comparison compare;
    LinesView lines;
    TotalsView totals;
    LensView lens;
    HistogramView histogram;
    TokenPathState token_path;
    std::optional<StageId> input_of{};  ///< in a very low window, the stage in whose place its input is drawn
    PrecisionView precision;
    GridView grid;

    TextRowState text_row;
    NextWordsState next_words;
    EditState edits;
    KnockOutState knock_out;
    HeadRowsView head_rows;
    FillInState fill_in;
    InspectorState inspector;
    TrainView train;
    LessonView lesson;
    PaletteState palette;
    KeyboardFocus focus;
    FileView files;
    PaneState panes;
    SettingsPane settings;
    bool toured = false;    ///< the tour has been completed, or is not offered any more
    double memory_mib = 0;  ///< memory limit for computed results; 0: a quarter of the machine's memory
    bool dark = true;
    double ui_zoom = 1;   ///< interface scale on top of the display's
    bool help = false;    ///< the help sheet is open
    HelpState help_page;  ///< page of the help sheet
    DumpField doctor;
    PaintState paint;
    std::uint64_t gesture = 0;  ///< counts finished drags, so that each becomes one undo step
    StripState strip;
    Morph morph;                                    ///< animation from the previously shown map
    bool morphing = true;                           ///< animate the transition between maps of the same shape
    float zoom_by_key = 0;                          ///< zoom steps by + and − in this frame
    std::map<std::string, HeatmapViewState> zooms;  ///< zoom and pan by matrix name

    std::int64_t chosen_head() const { return head_under_mouse ? head_under_mouse->chosen : head; }
    const AxisSelection& selection() const { return hovered.empty() ? locked : hovered; }
    /// For what is drawn before the map under the mouse.
    const AxisSelection& last_selection() const { return hover_shown.empty() ? locked : hover_shown; }
    /// The text whose tokens the Tokens stage shows.
    TextOfState shown_text() const { return {batch, stage.stack == Stack::Encoder}; }
};

}  // namespace attn::app
