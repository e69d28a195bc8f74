#pragma once
/// What every panel gets: the look, the numbers, what the person set and looks at, and where to put what they ask for.

#include <cstdint>
#include <optional>
#include <string_view>

#include "app/panels/maps/matrix.hpp"
#include "app/panels/view_state.hpp"
#include "app/session/document/commands.hpp"
#include "app/session/facets/doctor_report.hpp"
#include "app/session/facets/results.hpp"
#include "app/session/facets/snapshot.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/states/state.hpp"
#include "app/session/training/training_report.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

/// Nothing opened, nothing saved.
inline const FilesState& no_files() {
    static const FilesState kNone;
    return kNone;
}

/// What closing the window now would lose.
struct WouldBeLost {
    bool document = false, run = false;
    bool earlier_runs = false;  ///< of this session, that are kept until it ends
    bool any() const { return document || run || earlier_runs; }
};

struct PanelContext {
    const Theme& theme;
    Canvas& canvas;
    const Document& document;        ///< as set, perhaps not (yet) computed
    const Snapshot& snapshot;        ///< as computed
    const States& states;            ///< that of the snapshot, and what it can be compared with
    Inquiry& inquiry;                ///< where panels ask for what they show
    const TrainingReport& training;  ///< of the run under way and of those before it
    ViewState& view;
    MatrixStore& matrices;
    CommandSink& commands;
    double now = 0;  ///< seconds since the start
    bool can_undo = false, can_redo = false;
    std::shared_ptr<const DoctorReport> dump{};  ///< of the file opened last; null before the first
    std::string_view message{};                  ///< what the last command could not do, "" when it could
    const FilesState& files = no_files();
    std::optional<std::int64_t> other_step{};  ///< of the moment that is compared with
    bool writing = false;                      ///< tokens are being written on
    std::string_view writing_problem{};        ///< why the last writing ended before its time, "" when it did not
    bool up_to_date = true;                    ///< the snapshot is that of the document, or says why there is none
    WouldBeLost would_be_lost{};
    bool picture_alone = false;               ///< for a file: without controls and hints
    const AutosaveWords* leftover = nullptr;  ///< work of a process that is gone, to be asked about; null: none

    float px(float logical) const { return theme.px(logical); }
    Ui ui() const { return {theme, canvas, &view.focus, picture_alone}; }
    bool ready() const { return snapshot.trace != nullptr; }
    /// The shown state with what is recorded of a stage; see Inquiry::with().
    const Snapshot& snapshot_with(const StageId& id) const { return inquiry.with(states.shown, snapshot, id, only_head(), maps_wanted()); }
    /// The stage, perhaps with only_head() alone.
    const RecordedStage<float>* stage(const StageId& id) const { return recorded(*snapshot_with(id).trace, id); }
    const RecordedStage<float>* recorded(const Trace<float>& trace, const StageId& id) const {
        return only_head() ? trace.find(id, *only_head()) : trace.find(id);
    }
    /// The Step view shows one head of a map; of a long text no more than that is held then.
    std::optional<std::int64_t> only_head() const { return view.view == View::Step ? std::optional(view.head) : std::nullopt; }
    /// What the view can show of the attention maps of a long text.
    MapsWanted maps_wanted() const;
    /// Why a stage is not there (yet), "" when it is.
    std::string missing(const StageId& id) const { return inquiry.missing(states.shown, snapshot, id, only_head(), maps_wanted()); }
    /// The shown trace; of a large model with the stages around the one that is looked at.
    const Trace<float>& trace() const { return *snapshot_with(view.stage).trace; }
    bool has_stage(const StageId& id) const { return ready() && snapshot.trace->plan->find(id) != nullptr; }
    /// A facet of the shown state. Asking for it has it computed; to be asked for in every frame that shows it.
    template <class F>
    Answer<F> ask(const F& facet) const {
        return inquiry.ask(states.shown, facet);
    }
    /// The same; while a run is followed, that of its last moments until there is newer.
    template <class F>
    Answer<F> ask_latest(const F& facet) const {
        return inquiry.ask_latest(states.shown, facet);
    }
};

}  // namespace attn::app
