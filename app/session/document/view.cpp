#include "app/session/document/view.hpp"

#include <array>

namespace attn::app {
namespace {

constexpr std::array kViews = {
    ViewInfo{View::Step, "step", "Step", 's', "One stage as an equation, with the arithmetic of every number."},
    ViewInfo{View::Heads, "heads", "Heads", 'h', "All heads of a layer side by side."},
    ViewInfo{View::Grid, "grid", "Heads, all layers", 'g', "All heads of all layers."},
    ViewInfo{View::Lines, "lines", "Lines", 'n', "Weights as lines from token to token, one colour per head."},
    ViewInfo{View::Totals, "totals", "Totals (rollout)", 'o', "Attention from token to token through all layers."},
    ViewInfo{View::Lens, "lens", "Lens: guess per layer", 'w', "What each layer would predict."},
    ViewInfo{View::KnockOut, "knock-out", "Knock-out", 'k',
             "How much each head, block or position matters when it is removed or replaced by another text's."},
    ViewInfo{View::Write, "write", "Write", 'e', "The model's continuation, token by token, and what it might have written instead."},
    ViewInfo{View::Precision, "precision", "Compare weights", 'q', "The same model at two precisions: how much its weights differ."},
    ViewInfo{View::Train, "train", "Train", 'r', "A training run: its curves, its heads, and the model at every step."},
    ViewInfo{View::Doctor, "doctor", "Check my code", 'v', "What is wrong with the numbers shown, or with a file from other code."},
};

}  // namespace

std::span<const ViewInfo> views() { return kViews; }

const ViewInfo& view_info(View view) { return kViews.at(static_cast<std::size_t>(view)); }

bool shows_maps(View view) { return view == View::Step || view == View::Heads || view == View::Grid; }

std::optional<View> view_from_name(std::string_view name) {
    for (const ViewInfo& info : kViews)
        if (info.name == name) return info.view;
    return std::nullopt;
}

}  // namespace attn::app
