#pragma once
/// Turns changed values into commands and merges the changes of a drag into a single undo step.

#include <cstddef>
#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/slider.hpp"

namespace attn::app {

/// The name that merges the changes of one gesture on one control; "" for "", which merges nothing.
std::string gesture_name(const PanelContext& context, const std::string& control);
/// Emit the changed settings. Changes by one gesture on one control form one undo step.
void emit_forward(PanelContext& context, ForwardSettings forward, const std::string& control);
void emit_config(PanelContext& context, Config config, const std::string& control);
/// `source`: these are the encoder's texts in an encoder-decoder.
void emit_texts(PanelContext& context, std::vector<std::string> texts, bool source, const std::string& control);

/// Changes that the current run can take over apply at once.
void emit_run(PanelContext& context, RunSettings run, const std::string& control);
void emit_sampling(PanelContext& context, const SamplingSettings& sampling, const std::string& control);

/// The error for a setting of the document; "" if there is none.
std::string_view error_at(const PanelContext& context, Field field);

/// Ends the gesture if the control reports so.
void close_gesture(PanelContext& context, const Edited& edited);

}  // namespace attn::app
