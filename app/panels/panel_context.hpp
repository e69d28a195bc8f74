#pragma once
/// What every panel gets: the look, the numbers, what the person set and looks at, and where to put what they ask for.

#include <cstdint>
#include <optional>
#include <string_view>

#include "app/panels/maps/matrix.hpp"
#include "app/panels/view_state.hpp"
#include "app/session/commands.hpp"
#include "app/session/files_state.hpp"
#include "app/session/knock_out_report.hpp"
#include "app/session/snapshot.hpp"
#include "app/session/training_report.hpp"
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
    bool any() const { return document || run; }
};

struct PanelContext {
    const Theme& theme;
    Canvas& canvas;
    const Document& document;                         ///< as set, perhaps not (yet) computed
    std::shared_ptr<const Snapshot> shared_snapshot;  ///< as computed
    const Snapshot& snapshot;                         ///< the same
    const TrainingReport& training;                   ///< of the run under way and of those before it
    ViewState& view;
    MatrixStore& matrices;
    CommandSink& commands;
    double now = 0;  ///< seconds since the start
    bool can_undo = false, can_redo = false;
    KnockOutReport knock_out{};
    std::shared_ptr<const DoctorReport> dump{};  ///< of the file opened last; null before the first
    std::string_view message{};                  ///< what the last command could not do, "" when it could
    const FilesState& files = no_files();
    std::shared_ptr<const Snapshot> other_moment{};  ///< the moment that is compared with; null: none
    std::optional<std::int64_t> other_step{};        ///< its step, also before it is computed
    WouldBeLost would_be_lost{};
    const AutosaveWords* leftover = nullptr;  ///< work of a process that is gone, to be asked about; null: none
    ReadingsReport kept_readings{};           ///< of the kept state that a view has asked for last

    float px(float logical) const { return theme.px(logical); }
    Ui ui() const { return {theme, canvas, &view.focus}; }
    bool ready() const { return snapshot.trace != nullptr; }
    const Trace<float>& trace() const { return *snapshot.trace; }
};

}  // namespace attn::app
