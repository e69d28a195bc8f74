#include "app/panels/gradients.hpp"

#include <array>

#include "app/widgets/controls.hpp"

namespace attn::app {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"values", "gradients"};

/// Why there are no gradients to show, "" when there are.
std::string_view no_gradients(const PanelContext& context) {
    if (context.snapshot.gradients != nullptr) return "";
    return context.trace().config.lm_head ? "The gradients are being computed."
                                          : "A model without an output head predicts nothing, so there is no loss.";
}

}  // namespace

bool shows_gradients(const PanelContext& context) { return context.view.gradients && context.snapshot.gradients != nullptr; }

float gradient_switch_width(const PanelContext& context) { return segmented_width(context.ui(), kNames); }

void draw_gradient_switch(PanelContext& context, float right, float y) {
    const float width = gradient_switch_width(context);
    ImGui::SetCursorScreenPos({right - width, y + context.px(1)});
    int chosen = context.view.gradients ? 1 : 0;
    const ControlNotes notes{.tooltip = "What the numbers are, or how the loss of predicting the next token changes with each of them (D).",
                             .disabled = no_gradients(context)};
    if (segmented(context.ui(), "##gradients", kNames, chosen, width + 1, notes)) context.view.gradients = chosen == 1;
}

Matrix shown_slice(PanelContext& context, const StageId& id, std::int64_t head) {
    const Matrix values = context.matrices.stage(context.trace(), id, context.view.batch, head);
    if (!shows_gradients(context)) return values;
    Matrix gradients = context.matrices.gradient_of(values, context.trace(), *context.snapshot.gradients);
    return gradients.empty() ? values : gradients;
}

std::string shown_title(const PanelContext& context, Stage stage) {
    return (shows_gradients(context) ? "∂ loss ÷ ∂ " : "") + std::string(stage_name(stage));
}

}  // namespace attn::app
