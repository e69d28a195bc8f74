#pragma once
/// Renders pictures of a training run without a window.

#include <filesystem>

#include "app/platform/png_file.hpp"
#include "engine/tasks/dataset.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

/// Loss, accuracy, gradient norm and learning rate over the steps. Throws PlatformError if rendering is not possible.
Image draw_curves(const RunFolder& run);

/// Attention weights of all heads and layers on the dataset's probe, with the newest parameters. Throws as above.
Image draw_attention(const RunFolder& run, const Dataset& dataset);

}  // namespace attn::app
