#pragma once
/// Everything a panel needs: theme, numbers, document, view state, and the list that receives its commands.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/panels/state/view_state.hpp"
#include "app/session/document/commands.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/states/state.hpp"
#include "app/session/training/training_report.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/results.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct PanelContext;
class MatrixStore;
struct Matrix;
struct HeatmapGeometry;
struct HeatmapResult;

/// To be called for every map once it is drawn: what acts on its cells or marks them.
using MapHook = void (*)(PanelContext&, const Matrix&, const HeatmapGeometry&, const HeatmapResult&);

/// The state without any file operations.
inline const FilesState& no_files() {
    static const FilesState kNone;
    return kNone;
}

/// What would be lost by closing the window now.
struct WouldBeLost {
    bool document = false, run = false;
    std::vector<std::uint64_t> earlier_runs{};  ///< kept runs of this session
    bool earlier_document = false;              ///< FilesState::left
    bool any() const { return document || run || !earlier_runs.empty() || earlier_document; }
};

/// What is the same for every state that is drawn in a window.
struct WindowContext {
    const Theme& theme;
    Canvas& canvas;
    const Document& document;        ///< as set, possibly not computed (yet)
    Inquiry& inquiry;                ///< where panels request facets
    const TrainingReport& training;  ///< the current run and earlier ones
    ViewState& view;
    MatrixStore& matrices;
    CommandSink& commands;
    double now = 0;  ///< seconds since the start
    bool can_undo = false, can_redo = false;
    std::string_view undone_part{}, redone_part{};  ///< what they would change, see changed_part()
    std::shared_ptr<const DoctorReport> dump{};     ///< the report on the attention dump opened last; null if none
    std::string_view message{};                     ///< why the last command failed, "" if it succeeded
    const FilesState& files = no_files();
    std::optional<std::int64_t> other_step{};  ///< step of the moment compared with
    bool writing = false;                      ///< tokens are being generated
    std::string_view writing_problem{};        ///< why generation last ended early, "" if it did not
    bool up_to_date = true;                    ///< `snapshot` belongs to the document or says why that cannot be computed
    bool outdated = false;                     ///< `snapshot` belongs to the document before the last change
    WouldBeLost would_be_lost{};
    bool picture_alone = false;               ///< for export: without controls and hints
    const AutosaveWords* leftover = nullptr;  ///< autosaved work of an ended process to ask about; null: none
    std::span<const MapHook> map_hooks{};     ///< set by the frame
    std::optional<double> share_computed{};   ///< how much of the document's pass is computed, if that takes long
};

struct PanelContext : WindowContext {
    const Snapshot& snapshot;  ///< as computed
    const States& states;      ///< the shown state and those it can be compared with

    float px(float logical) const { return theme.px(logical); }
    Ui ui() const { return {theme, canvas, &view.focus, picture_alone}; }
    bool ready() const { return snapshot.trace != nullptr; }
    /// "computing", or "computing 43 %".
    std::string computing(std::string_view verb) const;
    /// The shown state with a stage's numbers; see Inquiry::with().
    const Snapshot& snapshot_with(const StageId& id) const { return inquiry.with(states.shown, snapshot, id, only_head(), maps_wanted()); }
    /// The stage, possibly with only_head() alone.
    const RecordedStage<float>* stage(const StageId& id) const { return recorded(*snapshot_with(id).trace, id); }
    const RecordedStage<float>* recorded(const Trace<float>& trace, const StageId& id) const {
        return only_head() ? trace.find(id, *only_head()) : trace.find(id);
    }
    /// The Step view needs only one head of a map; for a long text no other head is held.
    std::optional<std::int64_t> only_head() const { return view.view == View::Step ? std::optional(view.head) : std::nullopt; }
    /// Whether gradients are switched on in a view that has them.
    bool wants_gradients() const;
    /// In which form the view can show the attention maps of a long text.
    MapsWanted maps_wanted() const;
    /// The part of an outline in which the panels read a stage; none for a whole trace. `head`: as in stage().
    std::optional<facet::Inside> part_read(const Trace<float>& trace, const StageId& id, std::optional<std::int64_t> head) const;
    /// Why a stage is not available (yet); empty if it is.
    Reason missing(const StageId& id) const { return inquiry.missing(states.shown, snapshot, id, only_head(), maps_wanted()); }
    /// The shown trace; for a large model with the stages around the current one.
    const Trace<float>& trace() const { return *snapshot_with(view.stage).trace; }
    bool has_stage(const StageId& id) const { return ready() && snapshot.trace->plan->find(id) != nullptr; }
    /// The same window with another snapshot, and its state as the shown one.
    PanelContext at(const Snapshot& other, const States& others) const;
    /// Requests a facet of the shown state; to be called in every frame that shows it.
    template <class F>
    Answer<F> ask(const F& facet) const {
        return inquiry.ask(states.shown, facet);
    }
    /// The same, but while a run is followed, answers from a recent moment until the newest is ready.
    template <class F>
    Answer<F> ask_latest(const F& facet) const {
        return inquiry.ask_latest(states.shown, facet);
    }
};

}  // namespace attn::app
