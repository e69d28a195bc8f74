#include "app/panels/kit/look.hpp"

#include <utility>

#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/texts.hpp"

namespace attn::app {

namespace {

void turn_comparison_to(Comparison& compare, const Look& look) {
    compare.choose(look.compare);
    compare.lay_out(look.compare_as);
    compare.layer = look.compare_layer;
    compare.head = look.compare_head;
    compare.batch = look.compare_sequence;
}

}  // namespace

Look look_of(const ViewState& view) {
    Look look;
    look.view = view.view;
    look.stage = view.stage;
    look.head = view.head;
    look.sequence = view.batch;
    for (const Axis axis : {Axis::T, Axis::S, Axis::C, Axis::D, Axis::F, Axis::V})
        if (const auto index = view.locked.on(axis)) look.cell.emplace_back(axis, *index);
    look.gradients = view.gradients;
    look.rollout = view.totals.rollout;
    look.up_to = view.totals.up_to;
    look.measure = view.knock_out.measure;
    look.against = view.knock_out.against;
    look.replaced = view.knock_out.parts;
    look.replaced_from = view.knock_out.from;
    look.compare = view.compare.source;
    look.compare_as = view.compare.layout;
    look.compare_layer = view.compare.layer;
    look.compare_head = view.compare.head;
    look.compare_sequence = view.compare.batch;
    return look;
}

void turn_to(ViewState& view, const Look& look) {
    view.view = look.view;
    view.stage = look.stage;
    // The Step view shows a single stage, so it does not affect which stage the views of all heads show.
    if (look.view != View::Step && is_attention_map(look.stage.stage)) view.heads.stage = look.stage.stage;
    view.head = look.head;
    view.batch = look.sequence;
    view.next_batch.reset();
    view.locked.clear();
    for (const auto& [axis, index] : look.cell) view.locked.set(axis, index);
    view.knock_out.opened.reset();
    view.gradients = look.gradients;
    view.totals.rollout = look.rollout;
    view.totals.up_to = look.up_to;
    view.knock_out.measure = look.measure;
    view.knock_out.against = look.against;
    view.knock_out.against_was.reset();
    view.knock_out.parts = look.replaced;
    view.knock_out.from = look.replaced_from;
    turn_comparison_to(view.compare, look);
    view.playing = view.paint.on = view.train.replaying = false;
    view.text_row.edit.editing = false;
    view.zooms.clear();
}

void open_example(PanelContext& context, const Preset& preset, std::size_t sentence) {
    context.commands.push_back({command::OpenPreset{preset.name, sentence}, ""});
    look_afresh(context.view, opening_look(preset, sentence));
}

void look_afresh(ViewState& view, const Look& look) {
    const ViewState fresh;
    view.heads.stage = fresh.heads.stage;
    view.knock_out = {};
    view.told_ranges = {};
    turn_to(view, look);
    view.opening = look;
    view.hovered.clear();
    view.hover_shown.clear();
    view.heads.sort_by.clear();
    view.text_row.source = false;
    view.compare.end();
    turn_comparison_to(view.compare, look);
    view.lines.only.reset();
    view.lines.hidden.clear();
    view.totals.last_terms.reset();
    view.lens = {};
    view.train.query.reset();
}

void keep_up_with_opening(PanelContext& context) {
    ViewState& view = context.view;
    if (!context.ready()) return;
    if (view.opening && context.up_to_date) {
        // Until now the view was restricted to stages of the previous model.
        const Look look = *std::exchange(view.opening, std::nullopt);
        view.stage = look.stage;
        view.head = look.head;
        view.batch = look.sequence;
        keep_view_valid(view, context.structure());
        view.locked.clear();
        for (const auto& [axis, index] : look.cell) view.locked.set(axis, index);
        if (look.cell.empty()) select_opening_cell(view, context.document, context.snapshot);
    }
    if (view.next_batch && context.up_to_date) {
        const std::int64_t next = *view.next_batch;
        if (next < batch_size(context.structure())) show_text(context, static_cast<std::size_t>(next));
        else if (next >= std::ssize(context.document.texts)) view.next_batch.reset();  // it was refused
    }
    // An encoder's stages belong to the source text, so show that above them. One may turn to the other text, until the picture is a text
    // itself.
    if (view.text_row.edit.editing) return;
    const StageId before = std::exchange(view.text_row.stage, view.stage);
    const bool arrives_at_text = view.stage != before && view.stage.stage == Stage::Tokens;
    if (view.stage.stack != before.stack || arrives_at_text) view.text_row.source = view.stage.stack == Stack::Encoder;
}

}  // namespace attn::app
