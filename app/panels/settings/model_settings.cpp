#include "app/panels/settings/model_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/part_words.hpp"
#include "app/panels/settings/setting_parts.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/slider.hpp"

namespace attn::app {
namespace {

template <std::size_t N>
using Names = std::array<std::string_view, N>;

/// The valid numbers of key/value heads.
std::vector<std::int64_t> divisors_of(std::int64_t heads) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t i = 1; i <= heads; ++i)
        if (heads % i == 0) divisors.push_back(i);
    return divisors;
}

}  // namespace

void keep_groups(Config& config) {
    if (config.num_kv_heads == 0 || config.num_heads % config.num_kv_heads == 0) return;
    for (const std::int64_t divisor : divisors_of(config.num_heads))
        if (divisor <= config.num_kv_heads || divisor == 1) config.num_kv_heads = divisor;
}

namespace {

/// Which model's configuration is edited: that of the document, or that of the next training run.
enum class Edits : std::uint8_t { Document, Run };

const Config& edited_config(const PanelContext& context, Edits of) {
    return of == Edits::Run ? context.document.run.model : context.document.config;
}

void emit(PanelContext& context, Edits of, const Config& config, const char* gesture) {
    if (of == Edits::Document) return emit_config(context, config, gesture);
    RunSettings run = context.document.run;
    run.model = config;
    emit_run(context, std::move(run), gesture);
}

/// The error of a setting of the document; those of a run are reported when it begins.
std::string_view error_of(const PanelContext& context, Edits of, Field field) {
    return of == Edits::Document ? error_at(context, field) : std::string_view();
}

/// A slider for an integer of the configuration.
void config_slider(PanelContext& context, const char* label, std::int64_t Config::*member, int min, int max, const ControlNotes& notes) {
    int value = static_cast<int>(context.document.config.*member);
    const Edited edited =
        slider_row(context.ui(), label, value,
                   {.min = static_cast<double>(min), .max = static_cast<double>(max), .step = 1, .decimals = 0, .notes = notes});
    if (edited) {
        Config config = context.document.config;
        config.*member = value;
        // A custom head size is reset to the default as soon as d_model or heads are changed by hand.
        config.d_head = 0;
        if (member == &Config::d_model && context.document.config.d_ff == 4 * context.document.config.d_model)
            config.d_ff = 4 * config.d_model;
        keep_groups(config);
        emit_config(context, config, label);
    }
    close_gesture(context, edited);
}

void config_toggle(PanelContext& context, Edits of, const char* label, bool Config::*member, std::string_view caption,
                   std::string_view tooltip) {
    Config config = edited_config(context, of);
    bool on = config.*member;
    if (!toggle_row(context.ui(), label, on, caption, {.tooltip = tooltip})) return;
    config.*member = on;
    emit(context, of, config, "");
}

template <class Value, std::size_t N>
void config_choice(PanelContext& context, Edits of, const char* label, Value Config::*member, const Names<N>& names,
                   std::string_view tooltip) {
    Config config = edited_config(context, of);
    int chosen = static_cast<int>(config.*member);
    text_line(context.ui(), context.theme.fonts.label, context.theme.colors.text, label);
    const bool changed = segmented(context.ui(), label, names, chosen, 0, {.tooltip = tooltip});
    gap(context.ui(), 6);
    if (!changed) return;
    config.*member = static_cast<Value>(chosen);
    emit(context, of, config, "");
}

void draw_key_heads(PanelContext& context, Edits of) {
    const Config& config = edited_config(context, of);
    const std::vector<std::int64_t> divisors = divisors_of(config.num_heads);
    std::vector<std::string> texts;
    for (const std::int64_t divisor : divisors) texts.push_back(std::to_string(divisor));
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    int chosen = static_cast<int>(std::find(divisors.begin(), divisors.end(), config.kv_heads()) - divisors.begin());
    if (!segmented_row(context.ui(), "K/V heads", names, chosen, 76,
                       {.tooltip = "Key/value heads. If there are fewer than heads, several query heads share each (grouped-query "
                                   "attention); if there is 1, all share it (multi-query).",
                        .error = error_of(context, of, Field::KeyHeads)}))
        return;
    Config changed = config;
    changed.num_kv_heads = divisors[static_cast<std::size_t>(chosen)];
    if (!changed.grouped()) changed.num_kv_heads = 0;  // as many as heads, even if their number changes
    emit(context, of, changed, "");
}

void draw_rotary_base(PanelContext& context, Edits of) {
    float base = static_cast<float>(edited_config(context, of).rotary_base);
    const Edited edited = slider_row(
        context.ui(), "rotary base", base,
        {.min = 10,
         .max = 1'000'000,
         .log = true,
         .decimals = 0,
         .notes = {.tooltip = "The larger it is, the more slowly the later pairs of dimensions rotate, which suits longer texts.",
                   .error = error_of(context, of, Field::RotaryBase)}});
    if (edited) {
        Config config = edited_config(context, of);
        config.rotary_base = static_cast<double>(base);
        emit(context, of, config, "rotary base");
    }
    close_gesture(context, edited);
}

void draw_feed_forward(PanelContext& context, Edits of) {
    static constexpr Names<2> kKinds = {"plain", "gated"};
    config_toggle(context, of, "Feed-forward", &Config::feed_forward, "", "The second sublayer of a block.");
    if (!edited_config(context, of).feed_forward) return;
    config_choice(context, of, "feed-forward layer", &Config::ffn_gated, kKinds,
                  "Gated: the hidden units are multiplied by the activation of a second linear map, the gate. With SiLU this is SwiGLU.");
    config_choice(context, of, "activation", &Config::activation, kActivationNames,
                  "ReLU; GELU by the error function, by its tanh formula, or capped at 10; SiLU, which is x times its sigmoid; "
                  "QuickGELU, which is x "
                  "times the sigmoid of 1.702 x.");
    config_toggle(context, of, "Feed-forward bias", &Config::ffn_bias, "", "A constant added to every hidden unit and to the result.");
}

void draw_seed(PanelContext& context) {
    int seed = static_cast<int>(context.document.config.seed);
    const Edited edited =
        slider_row(context.ui(), "seed", seed,
                   {.min = 0, .max = 99, .step = 1, .decimals = 0, .notes = {.tooltip = "Another seed draws different parameters."}});
    if (edited) {
        Config config = context.document.config;
        config.seed = static_cast<std::uint64_t>(seed);
        emit_config(context, config, "seed");
    }
    close_gesture(context, edited);
}

}  // namespace

void draw_model_settings(PanelContext& context) {
    const Ui ui = context.ui();
    const Config& config = context.document.config;
    config_slider(context, "layers", &Config::num_layers, 1, 12,
                  {.tooltip = "How many times the block is repeated.", .error = error_at(context, Field::Layers)});
    config_slider(context, "heads", &Config::num_heads, 1, 16,
                  {.tooltip = "How many attention heads run in parallel. They share d_model.", .error = error_at(context, Field::Heads)});
    draw_key_heads(context, Edits::Document);
    config_slider(context, "d_model", &Config::d_model, 1, 256,
                  {.tooltip = "How many numbers represent a token.", .error = error_at(context, Field::DModel)});
    const bool own_size = config.d_head > 0;
    const bool divides = own_size || (config.num_heads > 0 && config.d_model % config.num_heads == 0);
    value_row(ui, "d_head",
              own_size  ? std::to_string(config.d_head)
              : divides ? fmt::format("{} ÷ {} = {}", config.d_model, config.num_heads, config.head_size())
                        : fmt::format("{} ÷ {} leaves {}", config.d_model, config.num_heads, config.d_model % config.num_heads),
              "Numbers per head: d_model divided by the heads, without a remainder.");
    draw_memory_settings(context);
}

namespace {

/// What a model consists of, except its sizes, its output head and its seed.
void draw_parts(PanelContext& context, Edits of) {
    static constexpr Names<3> kPlaces = {"none", "pre", "post"};
    static constexpr Names<2> kNorms = {"LayerNorm", "RMSNorm"};
    static constexpr Names<4> kPositions = {"none", "learned", "sine", "rotary"};
    const Config& config = edited_config(context, of);
    config_choice(context, of, "positions", &Config::position, kPositions,
                  "What tells the model where a token is: a vector added to the embedding, or queries and keys rotated by their position.");
    if (config.position == PositionKind::Rotary) draw_rotary_base(context, of);
    config_choice(context, of, "norm", &Config::norm, kPlaces, "A norm before each sublayer, after its residual, or not at all.");
    if (config.norm != NormPlacement::None || config.final_norm)
        config_choice(context, of, "kind of norm", &Config::norm_kind, kNorms,
                      "LayerNorm brings a row to mean 0 and variance 1. RMSNorm only divides it by its root mean square and has no bias.");
    config_toggle(context, of, "Final norm", &Config::final_norm, "", "A norm after the last layer.");
    config_toggle(context, of, "W_O", &Config::output_projection, "mixes the heads", "The output projection after the heads are joined.");
    config_toggle(context, of, "Residual", &Config::residual, "adds the input back", "x + sublayer(x) instead of sublayer(x).");
    config_toggle(context, of, "Q, K, V bias", &Config::qkv_bias, "", "A constant added to every query, key and value.");
    draw_feed_forward(context, of);
}

void draw_tied_head(PanelContext& context, Edits of) {
    config_toggle(context, of, "Tied head", &Config::tied_lm_head, "uses the embedding table",
                  "The head is the token embedding, transposed.");
}

}  // namespace

void draw_part_settings(PanelContext& context) {
    draw_parts(context, Edits::Document);
    config_toggle(context, Edits::Document, "Output head", &Config::lm_head, "logits and probabilities",
                  "Compares the final vectors with every token of the vocabulary.");
    draw_tied_head(context, Edits::Document);
    draw_seed(context);
}

void draw_run_parts(PanelContext& context) {
    draw_key_heads(context, Edits::Run);
    draw_parts(context, Edits::Run);
    draw_tied_head(context, Edits::Run);
}

}  // namespace attn::app
