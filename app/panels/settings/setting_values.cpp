#include "app/panels/settings/setting_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/panels/kit/part_words.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/memory_budget.hpp"

namespace attn::app {
namespace {

std::string listed(const std::vector<std::string>& words) {
    return words.empty() ? std::string("none") : fmt::format("{}", fmt::join(words, ", "));
}

/// The configuration in effect; a published model has its own.
const Config& config_in_use(const PanelContext& context) {
    return context.document.model != nullptr ? context.document.model->config() : context.document.config;
}

}  // namespace

std::string sampler_value(const PanelContext& context) { return sampling_words(context.document.sampling); }

std::string shown_value(const PanelContext& context) {
    const ViewState& view = context.view;
    const int layer = std::max(view.stage.layer, 0);
    if (view.view == View::Grid) return stage_name({view.heads.stage});
    if (view.view == View::Heads) return fmt::format("{}, layer {}", stage_name({view.heads.stage}), layer);
    return fmt::format("layer {}, head {}", layer, view.head);
}

std::string lines_value(const PanelContext& context) { return fmt::format("≥ {:.3f}", context.view.lines.threshold); }

std::string find_heads_value(const PanelContext& context) {
    const auto patterns = head_patterns();
    const auto sorted =
        std::find_if(patterns.begin(), patterns.end(), [&](const PatternInfo& one) { return context.view.heads.sort_by == one.name; });
    return sorted == patterns.end() ? "by pattern" : fmt::format("by {}", sorted->short_name);
}

std::string measure_value(const PanelContext& context) {
    std::vector<std::string> words;
    if (context.view.heads.without_first_key) words.emplace_back("no first key");
    if (context.view.heads.norm_weighted) words.emplace_back("× norm");
    return words.empty() ? "as computed" : listed(words);
}

std::string masks_value(const PanelContext& context) {
    const MaskSettings& masks = context.document.forward.masks;
    std::vector<std::string> words;
    if (masks.causal) words.emplace_back("causal");
    if (masks.padding) words.emplace_back("padding");
    return listed(words);
}

std::string other_masks_value(const PanelContext& context) {
    const MaskSettings& masks = context.document.forward.masks;
    std::vector<std::string> words;
    if (masks.window > 0) words.push_back(fmt::format("window {}", masks.window));
    if (masks.prefix > 0) words.push_back(fmt::format("prefix {}", masks.prefix));
    if (masks.block > 0) words.push_back(fmt::format("block {}", masks.block));
    if (!masks.painted.empty()) words.push_back(fmt::format("{} painted", masks.painted.size()));
    return listed(words);
}

std::string softmax_value(const PanelContext& context) {
    const ForwardSettings& forward = context.document.forward;
    const std::string temperature = fmt::format("temperature {:.2f}", forward.temperature);
    return forward.dropout.attention > 0 ? fmt::format("{}, dropout {:.2f}", temperature, forward.dropout.attention) : temperature;
}

std::string edits_value(const PanelContext& context) {
    const std::size_t count = context.document.forward.edits.size();
    return count == 0 ? "none" : std::to_string(count);
}

std::string compare_value(const PanelContext& context) {
    for (const CompareSource& source : compare_sources())
        if (source.source == context.view.compare.source) return name_of_source(context, source);
    return "off";
}

std::string model_value(const PanelContext& context) {
    const Config& config = config_in_use(context);
    const std::int64_t encoder = config.layers_of(Stack::Encoder);
    if (config.architecture == Architecture::EncoderDecoder && encoder != config.num_layers)
        return fmt::format("{} + {} layers of {} head{}", encoder, config.num_layers, config.num_heads, config.num_heads == 1 ? "" : "s");
    return fmt::format("{} layer{} of {} head{}", config.num_layers, config.num_layers == 1 ? "" : "s", config.num_heads,
                       config.num_heads == 1 ? "" : "s");
}

std::string tokens_value(const PanelContext& context) {
    switch (context.document.tokenizer) {
    case TokenizerKind::Character:
        return "characters";
    case TokenizerKind::Word:
        return "words";
    case TokenizerKind::Byte:
        return "bytes";
    case TokenizerKind::Bpe:
        return "trained pieces";
    }
    return "";
}

std::string parts_value(const PanelContext& context) { return parts_words(context.document.config); }

double memory_in_use(const PanelContext& context) {
    return context.view.memory_mib > 0 ? context.view.memory_mib : default_memory_budget_mib();
}

std::string memory_value(const PanelContext& context) {
    const double mib = memory_in_use(context);
    return mib < 1024 ? fmt::format("{:.0f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

std::string mistake_value(const PanelContext& context) {
    const Mistake mistake = context.document.forward.mistake;
    return mistake == Mistake::None ? "none" : std::string(mistake_info(mistake).title);
}

}  // namespace attn::app
