#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "app/panels/compare/head_captions.hpp"
#include "app/panels/edit/paint_mask.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/settings/setting_parts.hpp"
#include "app/panels/settings/setting_values.hpp"
#include "app/panels/settings/tokenizer_settings.hpp"
#include "app/session/document/memory_budget.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/slider.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

constexpr double kLeastMemoryMiB = 16;

/// A row of pills numbered from `first` (layers and heads from 0 as in code, texts from 1), or a drop-down list if they do not fit.
bool index_row(const PanelContext& context, const char* label, std::int64_t count, std::int64_t& chosen, std::string_view tooltip,
               std::int64_t first = 0, std::string_view disabled = "") {
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < count; ++i) texts.push_back(std::to_string(first + i));
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    int index = static_cast<int>(chosen);
    if (!segmented_row(context.ui(), label, names, index, 46, {.tooltip = tooltip, .disabled = disabled})) return false;
    chosen = index;
    return true;
}

void draw_layer_and_head(PanelContext& context) {
    const Structure& structure = context.structure();
    ViewState& view = context.view;
    std::int64_t layer = std::max(view.stage.layer, 0);
    if (index_row(context, "layer", structure.config.layers_of(view.stage.stack), layer, "Up and Down change the layer."))
        go_to_layer(view, structure, static_cast<int>(layer));
    const bool of_heads = view.view != View::Step || (context.has_stage(view.stage) && has_heads(structure.shape_of(view.stage)));
    index_row(context, "head", head_count(structure), view.head, "[ and ] change the head.", 0,
              of_heads ? "" : "This stage has no heads: all of them are joined, or it comes before them.");
}

void draw_stage_of_heads(PanelContext& context) {
    std::vector<Stage> stages;
    std::vector<std::string> names;
    for (const PlanNode& node : context.structure().plan->nodes()) {
        const Stage stage = node.id.stage;
        if (!is_attention_map(stage) || std::find(stages.begin(), stages.end(), stage) != stages.end()) continue;
        stages.push_back(stage);
        names.push_back(stage_name({stage}));
    }
    int chosen = static_cast<int>(std::find(stages.begin(), stages.end(), context.view.heads.stage) - stages.begin());
    const std::vector<std::string_view> shown(names.begin(), names.end());
    if (drop_down(context.ui(), "##heads_stage", shown, chosen, -1, {.tooltip = "Which map is shown for every head."}))
        context.view.heads.stage = stages[static_cast<std::size_t>(chosen)];
}

/// The scores of the computed layers; for a large model the others are not computed just for this. None before the first trace.
std::vector<HeadScore> computed_scores(const PanelContext& context) {
    std::vector<HeadScore> all_scores;
    if (!context.ready()) return all_scores;
    const bool all = context.snapshot.is_whole() || context.view.view == View::Grid;
    for (const PlanNode& node : context.structure().plan->nodes()) {
        if (node.id.stage != Stage::Weights || (!all && node.id.layer != context.view.stage.layer)) continue;
        const std::vector<HeadScore> scores = scores_of_heads(context, node.id);
        all_scores.insert(all_scores.end(), scores.begin(), scores.end());
    }
    return all_scores;
}

}  // namespace

void draw_shown(PanelContext& context) {
    if (!context.ready()) return;
    ViewState& view = context.view;
    if (view.view == View::Heads || view.view == View::Grid) draw_stage_of_heads(context);
    if (view.view == View::Totals) {
        const std::int64_t layers = context.structure().config.layers_of(view.stage.stack);
        std::int64_t last = std::min(view.totals.up_to.value_or(layers - 1), layers - 1);
        if (index_row(context, "up to", layers, last, "The last layer included.")) view.totals.up_to = last;
    } else if (view.view != View::Grid && !view.panes.strip) {
        draw_layer_and_head(context);
    }
}

void draw_measure(PanelContext& context) {
    const Ui ui = context.ui();
    const std::string_view unused = context.view.compare.on()  ? "A comparison shows the weights as computed."
                                    : shows_gradients(context) ? "Gradients are shown instead of weights."
                                                               : "";
    toggle_row(ui, "Leave out the first key", context.view.heads.without_first_key, "and rescale the rest, in the picture only",
               {.tooltip = "Heads with nothing to do put their weight on the first key, called a sink, which hides what else they attend "
                           "to. The maps leave this weight out and rescale the others to sum to 1. Nothing else changes.",
                .disabled = unused});
    toggle_row(ui, "Times value norm", context.view.heads.norm_weighted, "weight × ‖v W_O‖, in the picture only",
               {.tooltip = "A large weight on a value near zero has no effect. The maps multiply every weight by the norm of what its "
                           "value adds to the residual stream through W_O (Kobayashi et al., 2020). Nothing else changes.",
                .disabled = unused});
}

void draw_masks(PanelContext& context) {
    const Ui ui = context.ui();
    ForwardSettings forward = context.document.forward;
    MaskSettings& masks = forward.masks;
    const bool both = context.ready() && context.structure().config.architecture == Architecture::EncoderDecoder;
    const std::string_view sees = !masks.causal ? "reads both ways"
                                  : both        ? "in the decoder: itself and the past"
                                                : "sees itself and the past";
    if (toggle_row(ui, "Causal", masks.causal, sees, {.tooltip = "Key positions after the query are hidden from it."}))
        emit_forward(context, forward, "");
    const bool alone = context.document.texts.size() == 1;
    if (toggle_row(ui, "Padding", masks.padding, alone ? "acts on shorter texts of a batch" : "no token attends to padding",
                   {.tooltip = "Shorter texts are filled up with pad tokens; this hides them as keys."}))
        emit_forward(context, forward, "");
    if (alone && link(ui, "add a second text", "Shorter texts are filled up with pad tokens: then there is padding to mask."))
        add_text(context, 0, true);
    // In the same place, so that nothing below moves.
    if (const std::size_t shown = shown_index(context), count = context.document.texts.size(); count > 1)
        if (link(ui, fmt::format("text {} of {}: show the next##next_text", shown + 1, count).c_str(), "Shows another text of the batch."))
            context.view.next_batch = static_cast<std::int64_t>((shown + 1) % count);  // the row above is drawn already
}

void draw_other_masks(PanelContext& context) {
    const Ui ui = context.ui();
    ForwardSettings forward = context.document.forward;
    MaskSettings& masks = forward.masks;
    const int longest = context.ready() ? static_cast<int>(std::max<std::int64_t>(context.structure().tokens.length, 2)) : 16;
    const auto mask_slider = [&](const char* label, int MaskSettings::*member, int max, std::string_view tooltip, bool active) {
        int value = masks.*member;
        const Edited edited =
            slider_row(ui, label, value,
                       {.min = 0,
                        .max = static_cast<double>(max),
                        .step = 1,
                        .decimals = 0,
                        .shown = value == 0 ? "off" : "",
                        .notes = {.tooltip = tooltip,
                                  .disabled = active ? "" : "A prefix is visible to every query; without the causal mask everything is."}});
        if (edited) {
            masks.*member = value;
            emit_forward(context, forward, label);
        }
        close_gesture(context, edited);
    };
    mask_slider("window", &MaskSettings::window, longest, "Sliding window: a query attends to keys less than this many positions away.",
                true);
    mask_slider("prefix", &MaskSettings::prefix, longest, "Every query attends to keys before this position, even with the causal mask.",
                masks.causal);
    mask_slider("block", &MaskSettings::block, longest, "Block mask: positions attend only within blocks of this size.", true);
    if (button(ui, context.view.paint.on ? "stop" : "paint…",
               {.width = 90,
                .active = context.view.paint.on,
                .notes = {.tooltip = "Drag over cells of an attention map to forbid them, or over painted ones to allow them again."}}))
        toggle_painting(context);
    ImGui::SameLine(0, context.px(8));
    const std::string clear = fmt::format("clear {}", masks.painted.size());
    if (button(ui, clear.c_str(),
               {.width = 90,
                .notes = {.tooltip = "Remove every painted cell.", .disabled = masks.painted.empty() ? "No cell is painted." : ""}})) {
        masks.painted.clear();
        emit_forward(context, forward, "");
    }
}

void draw_softmax(PanelContext& context) {
    const Ui ui = context.ui();
    ForwardSettings forward = context.document.forward;
    float temperature = static_cast<float>(forward.temperature);
    const Edited heated = slider_row(ui, "softmax temperature", temperature,
                                     {.min = 0.1,
                                      .max = 10,
                                      .log = true,
                                      .decimals = temperature < 1 ? 3 : 2,
                                      .notes = {.tooltip = "Masked scores are divided by it: below 1 sharper, above 1 flatter.",
                                                .error = error_at(context, Field::Temperature)}});
    if (heated) {
        forward.temperature = static_cast<double>(temperature);
        emit_forward(context, forward, "temperature");
    }
    close_gesture(context, heated);
    float rate = static_cast<float>(forward.dropout.attention);
    const Edited dropped =
        slider_row(ui, "dropout", rate,
                   {.min = 0,
                    .max = 1,
                    .step = 0.05,
                    .decimals = 2,
                    .notes = {.tooltip = "Share of weights set to 0 after the softmax; the others are divided by 1 − rate.",
                              .error = error_at(context, Field::AttentionDropout)}});
    if (dropped) {
        forward.dropout.attention = static_cast<double>(rate);
        emit_forward(context, forward, "dropout");
    }
    close_gesture(context, dropped);
    int seed = static_cast<int>(forward.dropout.seed);
    const Edited seeded =
        slider_row(ui, "dropout seed", seed,
                   {.min = 0,
                    .max = 99,
                    .step = 1,
                    .decimals = 0,
                    .notes = {.tooltip = "Another seed drops different weights.", .disabled = rate > 0 ? "" : "Dropout is off."}});
    if (seeded) {
        forward.dropout.seed = static_cast<std::uint64_t>(seed);
        emit_forward(context, forward, "dropout seed");
    }
    close_gesture(context, seeded);
}

void draw_lines_settings(PanelContext& context) {
    const Ui ui = context.ui();
    LinesView& lines = context.view.lines;
    slider_row(ui, "min weight", lines.threshold,
               {.min = 0.001, .max = 0.5, .log = true, .decimals = 3, .notes = {.tooltip = "Smaller weights are not drawn."}});
    toggle_row(ui, "All layers", lines.all_layers, "a small picture of each", {.tooltip = "One picture per layer; click one to open it."});
}

void draw_tokenizer(PanelContext& context) {
    static constexpr std::span kUntrained = std::span(kTokenizerNames).first(static_cast<std::size_t>(TokenizerKind::Bpe));
    int chosen = static_cast<int>(context.document.tokenizer);
    if (segmented(context.ui(), "##tokenizer", kUntrained, chosen, 0, {.tooltip = "What a text is split into."}))
        context.commands.push_back({command::SetTokenizer{static_cast<TokenizerKind>(chosen)}, ""});
    if (context.ready())
        value_row(context.ui(), "vocabulary", format_count(static_cast<std::int64_t>(context.snapshot.vocabulary.size())),
                  "How many different tokens the model knows, special ones included.");
}

void draw_memory_settings(PanelContext& context) {
    if (context.view.lesson.open()) return;
    const Ui ui = context.ui();
    const double usual = default_memory_budget_mib();
    const std::string shown = memory_value(context);
    double& chosen = context.view.memory_mib;
    double mib = memory_in_use(context);
    const Edited edited = slider_row(ui, "memory", mib,
                                     {.min = kLeastMemoryMiB,
                                      .max = std::max(4 * usual, 2 * kLeastMemoryMiB),
                                      .log = true,
                                      .decimals = 0,
                                      .shown = shown,
                                      .notes = {.tooltip = "Memory for computed numbers, in MiB; the model's file is not counted."}});
    if (edited) chosen = mib;
    bool apply = edited.finished;
    paragraph(ui, context.theme.fonts.label, context.theme.colors.faint,
              "When not everything fits, the residual stream, keys and values are kept, and the rest is recomputed when you look at it.");
    if (chosen > 0 && link(ui, "A quarter of this machine's", "Back to the default.")) {
        chosen = 0;
        apply = true;
    }
    if (apply) context.commands.push_back({command::SetMemoryBudget{memory_in_use(context)}, ""});
}

void draw_find_heads(PanelContext& context) {
    const Ui ui = context.ui();
    const bool crosses = context.ready() && context.structure().config.architecture == Architecture::EncoderDecoder;
    const std::vector<HeadScore> scores = computed_scores(context);
    for (const PatternInfo& pattern : head_patterns()) {
        if (!crosses && std::string_view(pattern.name) == "alignment") continue;
        const auto strong = std::count_if(scores.begin(), scores.end(),
                                          [&](const HeadScore& score) { return pattern_share(score, pattern.name) > kShowsPattern; });
        std::string shown = pattern.short_name;
        if (pattern.name == context.view.heads.sort_by) shown += " · sorted";
        if (value_row(ui, shown, std::to_string(strong), pattern.tooltip))
            context.view.heads.sort_by = context.view.heads.sort_by == pattern.name ? "" : pattern.name;
    }
    paragraph(ui, context.theme.fonts.label, context.theme.colors.faint,
              context.view.heads.sort_by.empty()
                  ? "Counts heads with more than half their weight there. Click a pattern to sort the heads by it."
                  : "Click the pattern again for layer order.");
}

}  // namespace attn::app
