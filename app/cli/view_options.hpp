#pragma once
/// --view, --stage, --layer, --head, --gradients, --compare, --replace, --beside, --theme: what the interface shows.

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/arguments.hpp"
#include "app/panels/state/view_state.hpp"
#include "app/session/document/look.hpp"

namespace attn::app {

struct ViewOptions {
    std::string view;   ///< "": as the example specifies, otherwise "step"
    std::string stage;  ///< "": weights
    std::optional<std::int64_t> layer, head, position;
    bool gradients = false;
    bool all_layers = false;
    bool plain_mean = false;
    std::string measure;                       ///< of knock-out; "" for the loss
    std::string replace;                       ///< of knock-out; "" for heads
    std::optional<std::int64_t> replace_from;  ///< of knock-out: a text
    std::string token, against;                ///< of knock-out: the token asked about and the other one; "" for the usual ones
    std::string compare;                       ///< "" for none
    std::string compare_as = "all";            ///< or "side", "difference"
    std::optional<std::int64_t> compare_step;  ///< step of a training run
    std::optional<std::int64_t> compare_layer, compare_head, compare_text;
    std::string beside;  ///< a file of the same model or, with the stage tokens, another tokenizer; "" for none
    std::string theme = "dark";
    bool operator==(const ViewOptions&) const = default;
};

/// The stage of that name and layer (in an encoder-decoder the decoder's, if it exists there), or with that tensor name
/// ("encoder.layers.0.attention.q"). Without a layer the first. Throws Error listing the existing stages, or if the layer contradicts the
/// name.
StageId named_stage(const std::string& name, std::optional<std::int64_t> layer, const Trace<float>& trace);

void add_view_options(CliCommand command, ViewOptions& options);

/// Throws Error for a stage, layer or head that does not exist, listing the existing ones, and for gradients of a model without an output
/// head. Without --view, uses the view of `look`, if there is one.
/// `saved`: it is where a document was saved, and the options change only what they name.
ViewState make_view(const ViewOptions& options, const Trace<float>& trace, const std::optional<Look>& look, bool saved = false);

}  // namespace attn::app
