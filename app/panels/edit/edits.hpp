#pragma once
/// Turns changed values into commands: one place that knows how a drag becomes a single undo step.

#include <string>
#include <string_view>

#include "app/panels/panel_context.hpp"
#include "app/widgets/slider.hpp"

namespace attn::app {

/// Emits the changed settings. Changes of one gesture on one control become one undo step.
void emit_forward(PanelContext& context, ForwardSettings forward, const std::string& control);
void emit_config(PanelContext& context, Config config, const std::string& control);
/// `source` says whether they are the texts of the encoder of an encoder-decoder.
void emit_texts(PanelContext& context, std::vector<std::string> texts, bool source, const std::string& control);

/// What of it applies to the run under way does so at once.
void emit_run(PanelContext& context, RunSettings run, const std::string& control);
void emit_sampling(PanelContext& context, const SamplingSettings& sampling, const std::string& control);

/// What is wrong with a setting as the document has it; "" when nothing is.
std::string_view error_at(const PanelContext& context, Field field);

/// Ends the gesture when the control says so.
void close_gesture(PanelContext& context, const Edited& edited);

}  // namespace attn::app
