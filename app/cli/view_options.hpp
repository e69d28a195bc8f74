#pragma once
/// --view, --stage, --layer, --head, --gradients, --compare, --theme: what of the interface is looked at.

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/arguments.hpp"
#include "app/panels/view_state.hpp"

namespace attn::app {

struct ViewOptions {
    std::string view = "step";
    std::string stage = "weights";
    std::int64_t layer = 0;
    std::int64_t head = 0;
    bool gradients = false;
    bool all_layers = false;
    bool plain_mean = false;
    std::string compare;                       ///< "" for nothing
    std::string compare_as = "all";            ///< or "side", "difference"
    std::optional<std::int64_t> compare_step;  ///< of a training run
    std::optional<std::int64_t> compare_layer, compare_head, compare_text;
    std::string theme = "dark";
};

/// The recorded stage of that name and layer (of an encoder-decoder the decoder's, if it has one), or of that tensor
/// ("encoder.layers.0.attention.q"). Throws Error naming the stages that there are.
StageId named_stage(const std::string& name, std::int64_t layer, const Trace<float>& trace);

void add_view_options(CliCommand command, ViewOptions& options);

/// Throws Error for a stage, layer or head that the trace does not have, naming those that it has, and for gradients of a model without
/// an output head.
ViewState make_view(const ViewOptions& options, const Trace<float>& trace);

}  // namespace attn::app
