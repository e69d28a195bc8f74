#pragma once
/// The state of the Train view, including the drawn curves.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/panels/state/recorded_course_state.hpp"
#include "app/panels/state/train_curves.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/line_plot.hpp"

namespace attn::app {

/// A position whose prediction is shown, and the token there.
struct PredictedPosition {
    std::int64_t sequence = 0, index = 0;
    std::string token;
};

/// The model's candidates at a position.
struct Predicted {
    std::shared_ptr<const NextWords> words;  ///< null: none yet, or a problem
    std::string problem;
    std::uint64_t run = 0;  ///< the training run whose model it is
    PredictedPosition at;
    std::shared_ptr<const NextWords> pinned;  ///< the candidates of the pinned step A for the same text; null: none
};

/// A head in the Train view.
struct HeadPlace {
    StageId id;  ///< of its weights
    std::int64_t head = 0;
    bool operator==(const HeadPlace&) const = default;
};

/// The name that is being typed for a run.
struct RunNaming {
    std::uint64_t run = 0;  ///< 0: none
    std::string name;
    bool focus = false;  ///< the field is to get the keyboard
};

/// The names of all runs, as of a status.
struct NamesOfRuns {
    std::uint64_t serial = 0;
    std::vector<std::string> names;
};

struct TrainView {
    RecordedCourse recorded;    ///< shown instead of all below while a recording with a course of its own is shown
    bool all_settings = false;  ///< before the first run: every setting instead of the chief ones
    TrainCurves curves;
    PlotView plot;          ///< shared by loss, accuracy, gradient norm and learning rate
    PlotView history_plot;  ///< always shows everything, so that the slider below reaches all steps
    PlotCursor cursor;      ///< shared by all plots
    double smoothing = 0.8;
    bool log_loss = false;

    std::set<std::uint64_t> hidden;  ///< the runs whose curves are not drawn
    RunNaming naming;
    NamesOfRuns names;  ///< see names_of_runs()

    std::optional<HeadPlace> large;          ///< the head whose map is the large one
    std::optional<HeadPlace> chosen_before;  ///< the chosen head in the last frame: another one is the user's choice
    bool own_head = false;                   ///< the user's choice is large, not the head that forms
    std::optional<std::uint64_t> head_of;    ///< the run that was shown last: another one shows its own head again

    HeadPattern pattern = HeadPattern::Strongest;
    bool replaying = false;     ///< replay of the saved moments
    double next_moment_at = 0;  ///< time of the next one in seconds

    bool difference = false;  ///< the attention pane shows B − A
    bool lines = false;       ///< the attention pane shows the selected head as lines

    std::optional<std::int64_t> query;  ///< the token after which predictions are shown; none: the last
    Predicted predicted;                ///< what the model expected when that was last known
    int side = 0;                       ///< the pane shown if there is room for one only: 0 attention, 1 predictions
    double ended_at = -1e9;             ///< when a run was last seen running, in seconds
    std::uint64_t forgetting = 0;       ///< the run to delete after a second click; 0: none
    double history_mib = static_cast<double>(kHistoriesBudget >> 20);  ///< memory limit for the kept steps of all runs
    std::string text_path;
};

}  // namespace attn::app
