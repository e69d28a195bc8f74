#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/recording/finding_evidence.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/seen_cells.hpp"

namespace attn::recording {
namespace {

/// To hide a key, as much as this has to be subtracted.
constexpr double kTooLittle = 30;

/// A mask that is added and hides nothing is a bias to the graph.
void look_at_sign(const Evidence& evidence) {
    for (const RecordedStage& stage : evidence.attention.stages) {
        if (stage.op == "mask" && stage.fill >= kNoScore)
            evidence.add(Gravity::Wrong, "mask_sign", &stage,
                         fmt::format("The mask puts {:.4g} where it must put a large negative number.", stage.fill));
        if ((stage.op != "mask" && stage.op != "bias") || stage.mask.empty()) continue;
        const NamedArray* mask = evidence.step.find(stage.mask);
        if (mask == nullptr || mask->dtype == DType::Bool || count_of(*mask) > kMostNumbers) continue;
        const std::vector<double> cells = values_as<double>(evidence.step.read(stage.mask), evidence.step.source());
        const double most = cells.empty() ? 0 : *std::max_element(cells.begin(), cells.end());
        if (most >= kNoScore)
            evidence.add(Gravity::Wrong, "mask_sign", &stage, fmt::format("The mask adds {:.4g} where it must subtract.", most));
        const std::string axes = evidence.mask_axes(stage);
        if (stage.op != "bias" || axes.size() != mask->shape.size()) continue;
        const Numbers numbers = numbers_of(evidence.step.read(stage.mask), axes, evidence.step.source());
        const std::optional<double> added = numbers.size('T') > 1 && axes.ends_with("TS") ? triangle_of(numbers) : mark_of_keys(numbers);
        if (added && std::abs(*added) < kTooLittle)
            evidence.add(
                Gravity::Wrong, "mask_missing", &stage,
                fmt::format("The mask adds {:.4g} to the scores, where it must put a large negative number: it hides nothing.", *added));
    }
}

/// Cells that a mask changed to its number, in rows of which it left others, and of which other masks left some.
std::vector<std::size_t> masked_cells(const Numbers& before, const Numbers& after, const Numbers& scores, double fill) {
    std::vector<std::size_t> cells;
    const auto keys = static_cast<std::size_t>(after.size('S'));
    for (std::size_t row = 0; row + keys <= after.values.size(); row += keys) {
        const std::size_t first = cells.size();
        for (std::size_t i = row; i < row + keys; ++i)
            if (after.values[i] == fill && before.values[i] != fill) cells.push_back(i);
        const auto begin = scores.values.begin() + static_cast<std::ptrdiff_t>(row);
        const bool all_hidden = fill < -kNoScore && *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(keys)) < -kNoScore;
        if (cells.size() - first == keys || all_hidden) cells.resize(first);
    }
    return cells;
}

/// A mask has to put a number that leaves no weight.
void look_at_weak_mask(const Evidence& evidence) {
    constexpr double kNoticed = 1e-3;
    const RecordedAttention& attention = evidence.attention;
    const RecordedStage *stage = evidence.with_op("mask"), *softmax = evidence.with_op("softmax");
    if (stage == nullptr || softmax == nullptr || stage > softmax || softmax->over != 'S' || stage->inputs.empty()) return;
    const double fill = stage->how == "mul" ? 0 : stage->fill;
    if (!std::isfinite(fill) || fill < kHidden || fill >= kNoScore) return;
    const std::optional<Numbers> before = evidence.numbers(attention.find(stage->inputs.front())), after = evidence.numbers(stage);
    const std::optional<Numbers> weights = evidence.numbers(attention.find("weights"));  // a mask may come again
    const std::optional<Numbers> scores = evidence.numbers(softmax->inputs.empty() ? nullptr : attention.find(softmax->inputs.front()));
    if (!before || !after || !weights || !scores || after->axes != "BHTS") return;
    if (before->shape != after->shape || weights->shape != after->shape || scores->shape != after->shape) return;
    double most = 0;
    for (const std::size_t cell : masked_cells(*before, *after, *scores, static_cast<double>(static_cast<float>(fill))))
        most = std::max(most, weights->values[cell]);
    if (most > kNoticed)
        evidence.add(Gravity::Wrong, "mask_missing", stage,
                     fmt::format("The mask puts {:.4g} where it must put a large negative number: keys that it hides have weights of up to "
                                 "{:.2f}.",
                                 fill, most));
}

void look_at_mask(const Evidence& evidence) {
    const RecordedStage* stage = evidence.with_op("mask");
    if (stage == nullptr) return;
    const std::optional<Numbers> numbers = evidence.numbers(evidence.attention.find("masked"));
    if (!numbers) return;
    const Seen seen = pattern_of(*numbers);
    if (evidence.attention.cross) {  // queries and keys of two texts have orders of their own
        if (seen == Seen::NothingAhead && !evidence.attention.of_library)
            evidence.add(
                Gravity::Unusual, "other", stage,
                "The mask of a cross-attention is causal: a query sees only as much of the other text as there is before it in its own.");
        return;
    }
    switch (seen) {
    case Seen::OneAhead:
        return evidence.add(Gravity::Wrong, "causal_leaks_one", stage, "Every position sees the next one: the causal mask is off by one.");
    case Seen::NotItself:
        return evidence.add(Gravity::Wrong, "causal_masks_self", stage,
                            "No position sees itself, and the first sees nothing: the causal mask is off by one.");
    case Seen::OnlyAhead:
        for (const Fact& fact : evidence.graph.facts)
            if (fact.what == "targets" && fact.are == "previous inputs") return;  // a model that reads backwards
        return evidence.add(Gravity::Wrong, "inverted_mask", stage,
                            "Every position sees only itself and what follows: the mask is the wrong way round.");
    case Seen::FromTheFirstKey: {
        const RecordedStage* k = evidence.attention.find("k");
        const std::optional<Numbers> keys = evidence.numbers(k);
        const bool new_keys_last = evidence.attention.has_fact("new_keys_last");
        if (evidence.attention.has_fact("queries_cut")) return;  // the first of several pieces
        if (numbers->size('T') < 2 && !new_keys_last) return;
        if (k == nullptr || (k->op != "linear" && !new_keys_last)) return;    // a cache, of which the rest may be left from before
        if (keys && later_keys_are_equal(*keys, numbers->size('T'))) return;  // a cache of which the rest has not been written
        return evidence.add(
            Gravity::Wrong, "causal_offset", stage,
            fmt::format("There are {} keys for {} queries, but the mask starts at the first key.", numbers->size('S'), numbers->size('T')));
    }
    case Seen::NothingAhead:
    case Seen::Other:
        return;
    }
}

/// What each position of each text was looked up in tables, of words, segments and others: [B,T,C]. Nothing if nothing was.
std::optional<Numbers> looked_up(const Evidence& evidence) {
    std::optional<Numbers> all;
    for (const RecordedStage& each : evidence.graph.around) {
        const NamedArray* header = each.op == "embedding" && each.axes == "BTC" ? evidence.step.find(each.name) : nullptr;
        if (header == nullptr || header->shape.size() != 3 || count_of(*header) > kMostNumbers || count_of(*header) == 0) continue;
        Numbers more = numbers_of(evidence.step.read(header->name), each.axes, evidence.step.source());
        if (!all) {
            all = std::move(more);
            continue;
        }
        if (more.shape[0] != all->shape[0] || more.shape[1] != all->shape[1]) return {};
        const std::int64_t width = all->shape[2], wider = width + more.shape[2];
        Numbers both{"BTC", {all->shape[0], all->shape[1], wider}, {}, {}, 0};
        for (std::int64_t row = 0; row < all->shape[0] * all->shape[1]; ++row) {
            const auto copy = [&](const Numbers& from) {
                const auto begin = from.values.begin() + row * from.shape[2];
                both.values.insert(both.values.end(), begin, begin + from.shape[2]);
            };
            copy(*all);
            copy(more);
        }
        all = std::move(both);
    }
    return all;
}

/// A mask over keys alone that shows what is padding, and hides the words.
void look_at_padding(const Evidence& evidence) {
    const RecordedStage* stage = evidence.with_op("mask");
    if (stage == nullptr || evidence.attention.cross) return;
    const std::optional<Numbers> masked = evidence.numbers(evidence.attention.find("masked"));
    const std::optional<Numbers> words = masked ? looked_up(evidence) : std::nullopt;
    if (words && sees_copies_only(*masked, *words))
        evidence.add(Gravity::Wrong, "inverted_mask", stage,
                     "The mask hides all words, and shows only copies of one word, which is the padding: it is the wrong way round.");
}

/// A mask that has no axis of keys hides whole rows: what is padding is still attended to.
void look_at_padded_queries(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    if (attention.cross || attention.size('T') != attention.size('S')) return;
    const RecordedStage* found = nullptr;
    for (const RecordedStage& stage : attention.stages) {
        if (stage.op != "mask") continue;
        const std::string axes = evidence.mask_axes(stage);
        if (axes.empty() || axes.find('S') != std::string::npos) return;
        if (axes.find('B') != std::string::npos && axes.find('T') != std::string::npos) found = &stage;
    }
    const std::optional<Numbers> masked = found == nullptr ? std::nullopt : evidence.numbers(found);
    if (masked && row_without_keys(*masked))
        evidence.add(Gravity::Wrong, "padding_on_queries", found,
                     "The mask hides whole queries, and no key: what is padding is still attended to by the others.");
}

/// A mask of the texts' keys that has no axis for the heads falls on these, if there are as many.
void look_at_mask_of_heads(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    if (attention.size('B') != attention.size('H') || attention.size('H') < 2 || attention.of_library) return;
    for (const RecordedStage& stage : attention.stages) {
        if (stage.op != "mask" || stage.mask.empty()) continue;
        const std::string axes = evidence.mask_axes(stage);
        const NamedArray* mask = evidence.step.find(stage.mask);
        if (mask == nullptr || mask->shape.size() != axes.size() || count_of(*mask) > kMostNumbers || count_of(*mask) == 0) continue;
        if (axes.find('B') != std::string::npos || axes.find('S') == std::string::npos || axes.find('H') == std::string::npos) continue;
        const Numbers numbers = numbers_of(evidence.step.read(stage.mask), axes, evidence.step.source());
        if (numbers.size('T') > 1 || !differs_between_heads(numbers)) continue;
        evidence.add(
            Gravity::Wrong, "other", &stage,
            fmt::format("The mask has a row for each of {0} heads, and the same for all texts. If it has one for each of {0} texts, it "
                        "lacks an axis: it has to be B, 1, 1, S.",
                        attention.size('H')));
    }
}

/// Numbers that a mask or a factor makes NaN, as 0 times −∞ is.
void look_at_nan(const Evidence& evidence) {
    const std::optional<Numbers> weights = evidence.numbers(evidence.attention.find("weights"));
    if (weights && std::none_of(weights->values.begin(), weights->values.end(), [](double weight) { return std::isnan(weight); })) return;
    for (const RecordedStage& stage : evidence.attention.stages) {
        if ((stage.op != "mask" && stage.op != "bias" && stage.op != "scale" && stage.op != "cap") || stage.inputs.empty()) continue;
        const std::optional<Numbers> before = evidence.numbers(evidence.attention.find(stage.inputs.front())),
                                     after = evidence.numbers(&stage);
        if (!before || !after || before->shape != after->shape) continue;
        for (std::size_t i = 0; i < after->values.size(); ++i)
            if (std::isnan(after->values[i]) && !std::isnan(before->values[i]))
                return evidence.add(Gravity::Wrong, "non_finite", &stage,
                                    fmt::format("{} makes numbers NaN, as 0 times −∞ does: put −∞ with masked_fill instead.", stage.name));
    }
}

/// What is added to the scores is told by the scores before and after, with the sign that it has there.
void look_at_bias(const Evidence& evidence) {
    const RecordedStage* bias = evidence.with_op("bias");
    if (bias == nullptr || bias->inputs.empty()) return;
    for (const RecordedStage& stage : evidence.attention.stages)
        if ((stage.op == "given" && stage.axes == "BHTS") || (stage.op == "scale" && &stage > bias)) return;
    std::optional<Numbers> after = evidence.numbers(bias);
    const std::optional<Numbers> before = evidence.numbers(evidence.attention.find(bias->inputs.front()));
    if (!after || !before || after->axes != before->axes || after->shape != before->shape) return;
    for (std::size_t i = 0; i < after->values.size(); ++i) {
        after->slack[i] = after->eps * (std::abs(after->values[i]) + std::abs(before->values[i]));
        after->values[i] -= before->values[i];
    }
    if (favours_far_keys(*after))
        evidence.add(Gravity::Wrong, "alibi_sign", bias, "The bias grows with the distance: it favours the keys that are farthest away.");
}

/// What becomes of a query without a key depends on the mask's number and on the library.
void look_at_empty_rows(const Evidence& evidence) {
    const RecordedStage *stage = evidence.with_op("mask"), *softmax = evidence.with_op("softmax");
    const std::optional<Numbers> masked = evidence.numbers(evidence.attention.find("masked"));
    const std::optional<MapRow> row = masked ? row_without_keys(*masked) : std::nullopt;
    const std::optional<Numbers> weights = row && softmax != nullptr ? evidence.numbers(softmax) : std::nullopt;
    if (!weights || weights->axes != masked->axes || weights->shape != masked->shape) return;
    const std::int64_t map = row->text * masked->size('H') + row->head;
    const auto first = static_cast<std::size_t>((map * masked->size('T') + row->query) * masked->size('S'));
    const double weight = weights->values[first];
    evidence.add(Gravity::WorthKnowing, "", stage,
                 fmt::format("Query {} of text {} sees no key, and its weights are {}.", row->query, row->text,
                             std::isnan(weight) ? "NaN"
                             : weight == 0      ? "0"
                                                : "spread over all keys"));
}

/// A cap behind the mask gives hidden keys a finite score again.
void look_at_cap(const Evidence& evidence) {
    const auto place = [&](const RecordedStage* stage) { return stage - evidence.attention.stages.data(); };
    const RecordedStage *cap = evidence.with_op("cap"), *mask = evidence.with_op("mask"), *scale = evidence.with_op("scale");
    if (cap == nullptr) return;
    if (scale != nullptr && place(cap) < place(scale))
        evidence.add(Gravity::Unusual, "softcap_before_scale", cap, "The scores are capped before they are scaled; Gemma 2 scales first.");
    if (mask == nullptr || place(cap) < place(mask)) return;
    const std::optional<Numbers> masked = evidence.numbers(mask), weights = evidence.numbers(evidence.attention.find("weights"));
    if (!masked || !weights || masked->shape != weights->shape) return;
    for (std::size_t i = 0; i < masked->values.size(); ++i)
        if (masked->values[i] < kHidden && weights->values[i] > 0)
            return evidence.add(Gravity::Wrong, "softcap_after_mask", cap,
                                "The cap comes after the mask: keys that it hides have a weight again.");
}

}  // namespace

void look_after_softmax(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    bool after = false, dropped = false;
    for (const RecordedStage& stage : attention.stages) {
        if (stage.op == "mask" && dropped) {
            // What is made of the weights themselves, or divided by a new sum afterwards, is no mistake: then heads lose different cells,
            // or something comes between the mask and the context.
            const std::string axes = evidence.mask_axes(stage);
            const RecordedStage* context = attention.find("context");
            const bool is_last = context != nullptr && !context->inputs.empty() && context->inputs.front() == stage.name;
            if (!is_last || axes.empty() || axes.find('H') != std::string::npos) return;
            const RecordedStage* input = stage.inputs.empty() ? nullptr : attention.find(stage.inputs.front());
            const std::optional<Numbers> before = evidence.numbers(input), left = evidence.numbers(&stage);
            if (before && left && lost_part_of_a_row(*before, *left))
                evidence.add(Gravity::Wrong, "mask_after_softmax", &stage,
                             "The mask comes after the softmax and its dropout: what it takes away is missing in the sums of the rows.");
            return;
        }
        if (stage.op == "mask" && after) {
            const std::optional<Numbers> weights = evidence.numbers(attention.find("weights"));
            const std::optional<std::pair<double, double>> sums = weights ? sums_of_rows(*weights) : std::nullopt;
            if (!sums || sums->first > 1 - 1e-3) return;
            return evidence.add(Gravity::Wrong, "mask_after_softmax", &stage,
                                fmt::format("The mask comes after the softmax: rows sum to {:.2f} to {:.2f}.", sums->first, sums->second));
        }
        after = after || stage.op == "softmax";
        dropped = dropped || (after && stage.op == "dropout");
    }
}

void look_at_masks(const Evidence& evidence) {
    look_at_nan(evidence);
    look_at_sign(evidence);
    look_at_weak_mask(evidence);
    look_at_mask_of_heads(evidence);
    look_at_mask(evidence);
    look_at_padding(evidence);
    look_at_padded_queries(evidence);
    look_at_empty_rows(evidence);
    look_at_bias(evidence);
    look_at_cap(evidence);
}

}  // namespace attn::recording
