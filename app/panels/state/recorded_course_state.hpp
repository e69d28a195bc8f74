#pragma once
/// The state of the curves that recorded code logged.

#include <memory>
#include <string>
#include <vector>

#include "app/widgets/line_plot.hpp"

namespace attn::recording {
struct Logged;
}

namespace attn::app {

struct RecordedCourse {
    std::shared_ptr<const recording::Logged> of;  ///< what `curves` were made from
    std::vector<std::string> names;
    std::vector<Curve> curves;
    PlotView plot;
    PlotCursor cursor;
};

}  // namespace attn::app
