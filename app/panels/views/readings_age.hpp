#pragma once
/// Readings of a whole trace take longer than the trace: while a run is followed they are of a moment ago.

#include <string_view>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// " · read once a second" while the document's model is the newest of a run under way, else "".
inline std::string_view readings_age(const PanelContext& context) {
    const auto& trained = context.document.trained;
    const bool follows = trained && !trained->step && trained->run == context.training.snapshot->run;
    return follows && context.training.snapshot->phase == TrainingPhase::Running ? " · updated once a second" : "";
}

}  // namespace attn::app
