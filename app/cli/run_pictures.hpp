#pragma once
/// Pictures of a training run, drawn without a window.

#include <filesystem>

#include "app/platform/png_file.hpp"
#include "engine/tasks/dataset.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

/// Loss, accuracy, gradient norm and learning rate against the step. Throws PlatformError where nothing can be drawn.
Image draw_curves(const RunFolder& run);

/// Attention weights of all heads of all layers on the dataset's probe, by the newest parameters. Throws as above.
Image draw_attention(const RunFolder& run, const Dataset& dataset);

}  // namespace attn::app
