#include "app/panels/settings/opened_model_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/panels/settings/setting_parts.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

/// Describes layers with sliding windows, such as "7 in 4 of 6 layers".
std::string window_words(const Config& config) {
    std::int64_t windowed = 0, window = 0;
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::int64_t own = config.layer_kind(layer).window;
        if (own == 0) continue;
        ++windowed;
        window = std::max(window, own);
    }
    if (windowed == 0) return "";
    if (windowed == config.num_layers) return format_count(window);
    return fmt::format("{} in {} of {} layers", format_count(window), windowed, config.num_layers);
}

}  // namespace

void draw_opened_model(PanelContext& context) {
    const Ui ui = context.ui();
    const OpenedModel& model = *context.document.model;
    const Config& config = model.config();
    value_row(ui, model.path().extension() == ".gguf" ? "file" : "folder", visible_text(model.name()), visible_text(model.path().native()));
    value_row(ui, "family", model.family());
    const std::int64_t encoder = config.layers_of(Stack::Encoder);
    const bool uneven = config.architecture == Architecture::EncoderDecoder && encoder != config.num_layers;
    value_row(ui, "layers", uneven ? fmt::format("{} + {}", encoder, config.num_layers) : format_count(config.num_layers),
              uneven ? "How many times the block is repeated in the encoder, and in the decoder."
                     : "How many times the block is repeated.");
    value_row(ui, "heads",
              config.grouped() ? fmt::format("{}, {} key/value", config.num_heads, config.kv_heads()) : format_count(config.num_heads),
              "How many attention heads run in parallel.");
    value_row(ui, "d_model", format_count(config.d_model), "How many numbers describe a token.");
    value_row(ui, "d_head", format_count(config.head_size()));
    value_row(ui, "d_ff", format_count(config.d_ff), "Width of the feed-forward layer.");
    value_row(ui, "context", format_count(config.context_length),
              config.any_length ? "The longest text the model was made for, in tokens. Longer ones are computed all the same."
                                : "The longest text, in tokens: the model has no positions beyond it.");
    if (const std::string windows = window_words(config); !windows.empty())
        value_row(ui, "window", windows,
                  "How many tokens a query sees in some layers, itself included. The Masked stage of a layer says whether it has one.");
    value_row(ui, "vocabulary", format_count(config.vocab_size), "How many different tokens the model knows.");
    if (const TextModel& text = model.text(); !text.conventions().ends.empty()) {
        std::string ends;
        for (const std::int32_t id : text.conventions().ends) ends += (ends.empty() ? "" : ", ") + shown_token(text.vocabulary(), id);
        value_row(ui, "text ends with", ends, "Writing stops at these tokens; Write on continues past them.");
    }
    const std::int64_t longest =
        context.ready() ? std::max(context.structure().tokens.length, context.structure().source_tokens.length) : 0;
    if (longest > config.context_length) {
        gap(ui, 4);
        paragraph(ui, context.theme.fonts.caption, context.theme.colors.chosen_text,
                  fmt::format("This text has {} tokens, more than the model was made for.", format_count(longest)));
    }
    if (!model.assumed().empty()) {
        gap(ui, 4);
        paragraph(ui, context.theme.fonts.caption, context.theme.colors.faint,
                  fmt::format("Not recorded in the file, so assumed: {}.", fmt::join(model.assumed(), "; ")));
    }
    for (const std::string& note : model.notes()) {
        gap(ui, 4);
        paragraph(ui, context.theme.fonts.caption, context.theme.colors.faint, note);
    }
    draw_memory_settings(context);
}

}  // namespace attn::app
