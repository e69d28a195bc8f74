#pragma once
/// What the person looks at in the Train view, and the curves as they are drawn there.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/panels/train/train_curves.hpp"
#include "app/widgets/line_plot.hpp"

namespace attn::app {

struct TrainView {
    TrainCurves curves;
    PlotView plot;          ///< shared by loss, accuracy, gradient norm and learning rate
    PlotView history_plot;  ///< always whole, so that the slider below it reaches everything
    PlotCursor cursor;      ///< shared by all
    double smoothing = 0.8;
    bool log_loss = false;

    HeadPattern pattern = HeadPattern::Strongest;
    bool replaying = false;     ///< walks through the kept moments
    double next_moment_at = 0;  ///< seconds

    bool difference = false;  ///< the attention pane shows B − A
    bool lines = false;       ///< the attention pane shows the chosen head's weights as lines

    std::optional<StopAt> finished_with;  ///< the conditions of which one has ended the run; none while none has
    std::optional<std::int64_t> query;    ///< the token whose next one is predicted; none: the last
    int side = 0;                         ///< where only one fits: 0 attention, 1 predictions
    double ended_at = -1e9;               ///< when a run was last seen running, seconds
    std::uint64_t forgetting = 0;         ///< the run whose removal waits to be confirmed; 0: none
    std::string text_path, checkpoint_path = "attnscope-run.safetensors";
};

}  // namespace attn::app
