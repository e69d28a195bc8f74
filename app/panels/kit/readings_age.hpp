#pragma once
/// A note that readings lag behind while a run is followed, because they take longer than the trace.

#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// " · read once a second" while the document follows a running training run, otherwise "".
inline std::string_view readings_age(const PanelContext& context) {
    const auto& trained = context.document.trained;
    const bool follows = trained && !trained->step && trained->run == context.training.status->run;
    return follows && context.training.status->phase == TrainingPhase::Running ? " · updated once a second" : "";
}

}  // namespace attn::app
