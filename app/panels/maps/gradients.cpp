#include "app/panels/maps/gradients.hpp"

#include <array>

#include "app/session/values/gradients.hpp"
#include "app/widgets/controls.hpp"

namespace attn::app {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"values", "gradients"};

/// Why gradients are not available, "" if they are.
std::string_view no_gradients(const PanelContext& context) {
    if (context.view.compare.on()) return "A comparison shows values. End it (key B) to see gradients.";
    return context.structure().config.lm_head ? "" : "Without an output head the model predicts nothing, so there is no loss.";
}

}  // namespace

bool shows_gradients(const PanelContext& context) {
    return context.wants_gradients() && context.ready() && context.ask(facet::Gradients{});
}

std::string missing_gradients(const PanelContext& context) {
    if (!context.wants_gradients() || !context.ready()) return "";
    const Answer<facet::Gradients> gradients = context.ask(facet::Gradients{});
    if (gradients) return "";
    return gradients.computing() ? "Values are shown while the gradients are being computed."
                                 : "Values are shown, as there are no gradients: " + gradients.problem + ".";
}

void toggle_gradients(PanelContext& context) {
    if (const std::string_view why = no_gradients(context); !why.empty())
        context.commands.push_back({command::TellFile{std::string(why), false}, ""});
    else context.view.gradients = !context.view.gradients;
}

float gradient_switch_width(const PanelContext& context) { return segmented_width(context.ui(), kNames); }

void draw_gradient_switch(PanelContext& context, float right, float y) {
    const float width = gradient_switch_width(context);
    ImGui::SetCursorScreenPos({right - width, y + context.px(1)});
    int chosen = context.view.gradients && !context.view.compare.on() ? 1 : 0;
    const ControlNotes notes{.tooltip = "The numbers themselves, or the gradient of the loss (D).", .disabled = no_gradients(context)};
    if (segmented(context.ui(), "##gradients", kNames, chosen, width + 1, notes)) context.view.gradients = chosen == 1;
}

}  // namespace attn::app
