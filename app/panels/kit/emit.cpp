#include "app/panels/kit/emit.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/widgets/imgui_compat.hpp"
#include "engine/explain/edit_list.hpp"

namespace attn::app {
std::string gesture_name(const PanelContext& context, const std::string& control) {
    return control.empty() ? "" : control + "#" + std::to_string(context.view.gesture);
}

void emit_forward(PanelContext& context, ForwardSettings forward, const std::string& control) {
    if (forward == context.document.forward) return;
    context.commands.push_back({command::SetForward{std::move(forward)}, gesture_name(context, control)});
}

void emit_config(PanelContext& context, Config config, const std::string& control) {
    if (config == context.document.config) return;
    context.commands.push_back({command::SetConfig{std::move(config)}, gesture_name(context, control)});
}

void emit_texts(PanelContext& context, std::vector<std::string> texts, bool source, const std::string& control) {
    command::SetTexts change{whole_texts(context.document), context.document.source_texts};
    std::vector<std::string>& target = source ? change.source_texts : change.texts;
    if (texts == target) return;
    target = std::move(texts);
    // In an encoder-decoder every text needs a source text.
    if (!change.source_texts.empty()) (source ? change.texts : change.source_texts).resize(target.size());
    context.commands.push_back({std::move(change), gesture_name(context, control)});
}

void emit_run(PanelContext& context, RunSettings run, const std::string& control) {
    if (run == context.document.run) return;
    context.commands.push_back({command::SetRun{std::move(run)}, gesture_name(context, control)});
}

void emit_sampling(PanelContext& context, const SamplingSettings& sampling, const std::string& control) {
    if (sampling == context.document.sampling) return;
    context.commands.push_back({command::SetSampling{sampling}, gesture_name(context, control)});
}

std::string_view error_at(const PanelContext& context, Field field) {
    return context.snapshot.problem_field == field ? std::string_view(context.snapshot.problem) : std::string_view();
}

void close_gesture(PanelContext& context, const Edited& edited) {
    if (!edited.finished) return;
    ++context.view.gesture;
    // After a drag, arrow keys control the stages again.
    if (ImGui::IsMouseReleased(0)) release_keyboard_focus();
}

}  // namespace attn::app
