#include "engine/recording/known_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/recording/follower.hpp"
#include "engine/recording/seen_cells.hpp"
#include "engine/recording/stage_pair.hpp"

namespace attn::recording {
namespace {

/// What an attention of ours consists of, and by which operation.
struct KnownStage {
    std::string_view name, op;
    Stage role;
};
constexpr std::array kKnownStages = {
    KnownStage{"q", "linear", Stage::Q},
    KnownStage{"k", "linear", Stage::K},
    KnownStage{"q_normed", "norm", Stage::QNormed},
    KnownStage{"k_normed", "norm", Stage::KNormed},
    KnownStage{"q_rotated", "rotate", Stage::QRotated},
    KnownStage{"k_rotated", "rotate", Stage::KRotated},
    KnownStage{"v", "linear", Stage::V},
    KnownStage{"scores", "product", Stage::Scores},
    KnownStage{"scaled", "scale", Stage::Scaled},
    KnownStage{"capped", "cap", Stage::Capped},
    KnownStage{"masked", "mask", Stage::Masked},
    // A mask of 0 and −∞ that is added, or ALiBi, which a mask may follow or be in.
    KnownStage{"masked", "bias", Stage::Masked},
    KnownStage{"masked.1", "mask", Stage::Masked},
    KnownStage{"masked.1", "bias", Stage::Masked},
    KnownStage{"weights", "softmax", Stage::Weights},
    KnownStage{"dropped", "dropout", Stage::Dropped},
    KnownStage{"context", "product", Stage::Context},
    KnownStage{"concat", "concat", Stage::Concat},
    KnownStage{"attention_out", "linear", Stage::AttentionOut},
};

const KnownStage* known(const RecordedStage& stage) {
    const auto found = std::find_if(kKnownStages.begin(), kKnownStages.end(),
                                    [&](const KnownStage& each) { return each.name == stage.name && each.op == stage.op; });
    return found == kKnownStages.end() ? nullptr : &*found;
}

/// Of each text, the keys up to the last one that any query sees; empty if they are all keys, or if it is not known which text has which.
std::vector<std::int64_t> lengths_in(const Numbers& masked, std::int64_t texts) {
    if (masked.shape[0] != texts) return {};
    const std::int64_t keys = masked.shape[3], cells = masked.count() / std::max<std::int64_t>(1, texts);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(texts), 0);
    for (std::int64_t i = 0; i < masked.count(); ++i) {
        std::int64_t& length = lengths[static_cast<std::size_t>(i / cells)];
        if (!(masked.values[static_cast<std::size_t>(i)] < kHidden)) length = std::max(length, i % keys + 1);
    }
    const bool whole = std::all_of(lengths.begin(), lengths.end(), [keys](std::int64_t length) { return length == keys; });
    const bool empty = std::find(lengths.begin(), lengths.end(), 0) != lengths.end();
    return whole || empty ? std::vector<std::int64_t>() : lengths;
}

std::optional<Numbers> recorded_or_computed(Follower follower, const RecordedStage& stage) {
    try {
        std::optional<Numbers> numbers = follower.recorded(stage);
        return numbers ? std::move(numbers) : follower.computed(stage);
    } catch (const NotComputed&) {
        return {};
    }
}

std::string input_of(const RecordedAttention& attention, const char* name) {
    const RecordedStage& stage = *attention.find(name);
    if (stage.inputs.size() != 1) refuse(StagePair{{}, &attention, &stage}, "is made of something that was not recorded");
    return stage.inputs[0];
}

}  // namespace

void expect_known(const RecordedAttention& attention) {
    if (attention.calls > 1) refuse(attention, fmt::format("ran {} times in this step: record a single pass", attention.calls));
    if (!attention.cross && attention.size('T') != attention.size('S')) refuse(attention, "has keys of earlier passes");
    if (attention.size('E') != 0 && attention.size('E') != attention.size('D'))
        refuse(attention, "has values that are wider than its keys");
    for (const RecordedStage& stage : attention.stages) {
        const StagePair at{{}, &attention, &stage};
        if (known(stage) == nullptr)
            refuse(at, fmt::format("is {}, which an attention of ours does not have there",
                                   escaped(stage.op == "given" && !stage.called.empty() ? stage.called : stage.op)));
        if (stage.op == "dropout" && stage.rate != 0) refuse(at, "drops weights at random: record after model.eval()");
        if (stage.op == "softmax" && (stage.over != 'S' || stage.extra != 0)) refuse(at, "is no softmax over the keys alone");
    }
    for (const char* name : {"q", "k", "v", "weights", "context", "concat"}) {
        const bool nothing_to_join = std::string_view(name) == "concat" && attention.size('H') == 1;
        if (attention.find(name) == nullptr && !nothing_to_join) refuse(attention, fmt::format("has no stage {}", name));
    }
    for (const auto& [q, k] : {std::pair("q_rotated", "k_rotated"), std::pair("q_normed", "k_normed")})
        if ((attention.find(q) == nullptr) != (attention.find(k) == nullptr))
            refuse(attention, fmt::format("has {} without {}", attention.find(q) == nullptr ? k : q, attention.find(q) == nullptr ? q : k));
    if (attention.find("q")->have == Have::Follows && attention.find("q")->kernel.empty())
        refuse(attention, "was computed by a single operation that shows nothing but its result: record with gradients enabled");
    if (!attention.scale || !std::isfinite(*attention.scale)) refuse(attention, "scales its scores by more than one number");
}

Stage role_of(const RecordedStage& stage) { return known(stage)->role; }

std::string source_of(const RecordedAttention& attention) { return input_of(attention, "q"); }

std::string memory_of(const RecordedAttention& attention) {
    const std::string memory = attention.cross ? input_of(attention, "k") : source_of(attention);
    for (const char* name : {"k", "v"})
        if (input_of(attention, name) != memory)
            refuse(StagePair{{}, &attention, attention.find(name)},
                   attention.cross ? "is made of something else than the keys" : "is made of something else than the queries");
    return memory;
}

bool is_biased(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step, const FindParameter& parameter) {
    const RecordedStage* biased = attention.find("masked");
    if (biased == nullptr) return false;
    const StagePair at{{}, &attention, biased};
    const Follower follower(graph, attention, step, parameter);
    const std::optional<Numbers> after = recorded_or_computed(follower, *biased);
    const RecordedStage* before = biased->inputs.size() != 1 ? nullptr : attention.find(biased->inputs[0]);
    const std::optional<Numbers> scores = before == nullptr ? std::nullopt : recorded_or_computed(follower, *before);
    if (!after || !scores || after->shape != scores->shape) refuse(at, "was not recorded: what is added to the scores is not known");
    for (std::size_t i = 0; i < after->values.size(); ++i) {
        // Scores that were not recorded are not rounded as the code's are.
        const double rounding = 2 * scores->slack[i] + 2 * after->eps * std::abs(after->values[i]);
        if (after->values[i] >= kHidden && !(std::abs(after->values[i] - scores->values[i]) <= rounding)) return true;
    }
    return false;
}

MaskForm mask_of(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step, const FindParameter& parameter) {
    const RecordedStage *second = attention.find("masked.1"), *masked = second != nullptr ? second : attention.find("masked");
    if (masked == nullptr) return {};
    const StagePair at{{}, &attention, masked};
    const std::optional<Numbers> numbers = recorded_or_computed({graph, attention, step, parameter}, *masked);
    if (!numbers || numbers->axes != "BHTS") refuse(at, "was not recorded: what the mask hides is not known");
    const std::int64_t queries = numbers->shape[2], keys = numbers->shape[3];
    if (keys < 2) refuse(at, "hides or shows a single key: record at least two positions");
    const auto is_hidden = [&](std::int64_t i) { return numbers->values[static_cast<std::size_t>(i)] < kHidden; };
    MaskForm form;
    form.lengths = lengths_in(*numbers, attention.size('B'));
    const std::int64_t cells = numbers->count() / std::max<std::int64_t>(1, numbers->shape[0]);
    const auto is_padding = [&](std::int64_t i) {
        return !form.lengths.empty() && i % keys >= form.lengths[static_cast<std::size_t>(i / cells)];
    };
    std::int64_t nearest = queries;  // key before the query that is hidden
    for (std::int64_t i = 0; i < numbers->count(); ++i) {
        const std::int64_t back = i / keys % queries - i % keys;
        if (is_padding(i)) continue;
        if (back < 0) form.causal = form.causal || is_hidden(i);
        else if (is_hidden(i)) nearest = std::min(nearest, back);
    }
    if (nearest < queries) form.window = nearest;
    for (std::int64_t i = 0; i < numbers->count(); ++i) {
        const std::int64_t back = i / keys % queries - i % keys;
        const bool outside = form.window > 0 && std::abs(back) >= form.window;
        if (is_hidden(i) != (outside || (form.causal && back < 0) || is_padding(i)))
            refuse(at, "hides other keys than those after the query, outside of a window or behind the end of a text: no model of ours has "
                       "such a mask");
    }
    return form;
}

}  // namespace attn::recording
