#include "app/panels/compare/head_captions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/kit/head_search.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

const HeadScore* find_score(std::span<const HeadScore> scores, std::int64_t head) {
    return head >= 0 && head < std::ssize(scores) ? &scores[static_cast<std::size_t>(head)] : nullptr;
}

/// From the part of the model that is computed anyway: in a view of all layers, the one with the shown maps.
std::span<const HeadScore> shown_scores(const PanelContext& context, const StageId& weights) {
    const StageId held = context.view.view == View::Grid ? of_same_attention(weights, context.view.heads.stage) : weights;
    return context.numbers().head_scores(context.shown(), weights, held);
}

}  // namespace

const HeadScore* head_score(const PanelContext& context, const StageId& weights, std::int64_t head) {
    if (!side_in_place(context).empty())
        if (const ComparedSide a = reference_side(context, weights, head); !a.empty())
            return find_score(context.numbers().head_scores(a.of, a.stage, a.stage), a.head);
    return find_score(shown_scores(context, weights), head);
}

std::vector<HeadScore> scores_of_heads(const PanelContext& context, const StageId& weights) {
    const std::int64_t heads = context.structure().config.num_heads;
    std::vector<HeadScore> all;
    if (side_in_place(context).empty()) {
        const std::span<const HeadScore> known = shown_scores(context, weights);
        all.assign(known.begin(), known.end());
    } else
        for (std::int64_t head = 0; head < heads; ++head) {
            const HeadScore* score = head_score(context, weights, head);
            all.push_back(score == nullptr ? HeadScore{.id = weights, .head = head} : *score);
        }
    for (std::int64_t head = std::ssize(all); head < heads; ++head) all.push_back({.id = weights, .head = head});
    return all;
}

HeadCaption head_caption(const PanelContext& context, const StageId& weights, std::int64_t head) {
    const Palette& colors = context.theme.colors;
    const HeadScore* score = head_score(context, weights, head);
    if (score == nullptr || score->rows == 0) return {};
    struct Candidate {
        const char *name, *brief;
        double value;
        Color color;
    };
    const auto caption = [](const char* name, const char* brief, double value, Color color) {
        const std::string figure = " " + format_number(value, {.decimals = 2});
        return HeadCaption{name + figure, color, brief + figure};
    };
    if (weights.attention == kCrossAttention) return caption("alignment", "align", score->alignment, colors.muted);
    const std::array<Candidate, 4> candidates = {{{"after repeat", "rep", pattern_share(*score, "after a repeat"), colors.chosen_text},
                                                  {"previous", "prev", score->previous_token, colors.axis(Axis::T)},
                                                  {"sink", "sink", score->first_token, colors.axis(Axis::S)},
                                                  {"same", "same", score->same_token, colors.axis(Axis::H)}}};
    const auto best =
        std::max_element(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.value < b.value; });
    if (best->value > 0.5) return caption(best->name, best->brief, best->value, best->color);
    // Of rescaled weights it is not the entropy.
    const bool rescaled = (context.view.heads.without_first_key || context.view.heads.norm_weighted) &&
                          (context.view.view == View::Heads || context.view.view == View::Grid) && !measure_words(context, weights).empty();
    return rescaled ? HeadCaption() : caption("spread", "spr", score->entropy, colors.muted);
}

HeadCaption pattern_caption(const PanelContext& context, const StageId& weights, std::int64_t head, std::string_view pattern) {
    const HeadScore* score = head_score(context, weights, head);
    const auto patterns = head_patterns();
    const auto info = std::find_if(patterns.begin(), patterns.end(), [&](const PatternInfo& one) { return pattern == one.name; });
    if (score == nullptr || score->rows == 0 || info == patterns.end()) return {};
    const Palette& colors = context.theme.colors;
    if (!has_pattern(*score, pattern)) return {fmt::format("{} –", info->short_name), colors.faint};
    const double share = pattern_share(*score, pattern);
    return {fmt::format("{} {}", info->short_name, format_number(share, {.decimals = 2})),
            share > kShowsPattern ? colors.text : colors.muted};
}

std::string caption_that_fits(const HeadCaption& caption, const ImFont* font, float room) {
    // Heads side by side are shortened alike: a 1 may be narrower than other digits.
    const auto fits = [&](std::string text) {
        for (char& letter : text)
            if (letter >= '0' && letter <= '9') letter = '0';
        return text_width(font, text) <= room;
    };
    for (const std::string& text : {caption.text, caption.brief})
        if (!text.empty() && fits(text)) return text;
    std::string figure = caption.text.substr(caption.text.rfind(' ') + 1);
    return fits(figure) ? figure : "";
}

}  // namespace attn::app
