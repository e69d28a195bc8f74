#pragma once
/// Short summaries of settings sections, shown at the right of collapsed ones.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

std::string sampler_value(const PanelContext& context);
std::string shown_value(const PanelContext& context);
std::string lines_value(const PanelContext& context);
std::string find_heads_value(const PanelContext& context);
std::string measure_value(const PanelContext& context);
std::string masks_value(const PanelContext& context);
std::string other_masks_value(const PanelContext& context);
std::string softmax_value(const PanelContext& context);
std::string edits_value(const PanelContext& context);
std::string compare_value(const PanelContext& context);
std::string model_value(const PanelContext& context);
std::string tokens_value(const PanelContext& context);
std::string parts_value(const PanelContext& context);
std::string mistake_value(const PanelContext& context);
/// The memory limit for computed numbers in MiB, and as text.
double memory_in_use(const PanelContext& context);
std::string memory_value(const PanelContext& context);

}  // namespace attn::app
