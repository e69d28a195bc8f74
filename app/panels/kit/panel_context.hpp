#pragma once
/// Everything a panel needs: theme, numbers, document, view state, and the list that receives its commands.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/panels/state/abilities.hpp"
#include "app/panels/state/view_state.hpp"
#include "app/session/document/commands.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/states/state.hpp"
#include "app/session/training/training_report.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/results.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct PanelContext;
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
    NumberStore& number_store;  ///< what numbers() keeps from frame to frame
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
    const Abilities& abilities = kAllAbilities;
};

struct PanelContext : WindowContext {
    const Snapshot& snapshot;  ///< as computed
    const States& states;      ///< the shown state and those it can be compared with

    float px(float logical) const { return theme.px(logical); }
    Ui ui() const { return {theme, canvas, &view.focus, picture_alone}; }
    bool ready() const { return snapshot.trace != nullptr; }
    /// "computing", or "computing 43 %".
    std::string computing(std::string_view verb) const;
    /// The shown state; the Step view shows one head of it.
    Subject shown() const { return {states.shown, &snapshot, view.view == View::Step ? std::optional(view.head) : std::nullopt}; }
    /// The numbers of this and other states.
    NumberDesk numbers() const { return {inquiry, number_store, shown(), sight()}; }
    /// The shown numbers of a stage, as far as they are held for the stage that is looked at: nothing more is computed for them.
    Matrix beside(const StageId& id, std::int64_t head) const {
        return numbers().numbers({.of = shown(), .stage = id, .sequence = view.batch, .head = head, .beside = view.stage}).map;
    }
    /// What the view shows together.
    Sight sight() const;
    /// Whether gradients are switched on in a view that has them.
    bool wants_gradients() const;
    /// Why a stage is not available (yet); empty if it is.
    Reason missing(const StageId& id) const { return numbers().missing(shown(), id); }
    /// Plan, shapes, inputs and settings of the shown state; causes no computation. Only if ready().
    const Structure& structure() const { return *snapshot.trace; }
    bool has_stage(const StageId& id) const { return ready() && structure().plan->find(id) != nullptr; }
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
