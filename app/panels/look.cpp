#include "app/panels/look.hpp"

namespace attn::app {

void turn_to(ViewState& view, const Look& look) {
    view.view = look.view;
    view.stage = look.stage;
    if (is_attention_map(look.stage.stage)) view.heads_stage = look.stage.stage;
    view.head = look.head;
    view.batch = look.sequence;
    view.locked.clear();
    for (const auto& [axis, index] : look.cell) view.locked.set(axis, index);
    view.gradients = look.gradients;
    view.compare.choose(look.unmasked ? Compare::Unmasked : Compare::Off);
    view.compare.layout = CompareLayout::All;
    view.playing = view.painting = view.train.replaying = false;
    view.text.editing = false;
    view.zooms.clear();
}

void open_example(PanelContext& context, const Preset& preset, std::size_t sentence) {
    context.commands.push_back({command::OpenPreset{preset.name, sentence}, ""});
    if (const std::optional<Look>& look = preset.sentences[sentence].look) turn_to(context.view, *look);
}

}  // namespace attn::app
