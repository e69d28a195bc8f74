#include "app/session/next_words.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/session/snapshot.hpp"
#include "engine/model/logit_lens.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// Below it a softmax would be infinite: all the chance is the first one's.
constexpr double kLeastTemperature = 1e-3;

std::vector<double> chances(std::span<const float> logits, double temperature) {
    const double heat = std::max(temperature, kLeastTemperature);
    const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    std::vector<double> all;
    all.reserve(logits.size());
    for (const float logit : logits) all.push_back(std::exp((static_cast<double>(logit) - largest) / heat));
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    for (double& chance : all) chance /= sum;
    return all;
}

Stack writing_stack(const Config& config) { return config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main; }

/// One position's row of x [B,T,X].
std::span<const float> row_of(const Tensor<float>& x, std::int64_t sequence, std::int64_t position) {
    const std::int64_t width = x.shape()[2].size;
    return x.values().subspan(static_cast<std::size_t>((sequence * x.shape()[1].size + position) * width), static_cast<std::size_t>(width));
}

/// The logits after a position; of an outline, which ends with the last layer, computed from that.
std::vector<float> logits_at(const Trace<float>& trace, std::int64_t sequence, std::int64_t position) {
    const auto copied = [](std::span<const float> row) { return std::vector<float>(row.begin(), row.end()); };
    if (const RecordedStage<float>* logits = trace.find(trace.plan->logits())) return copied(row_of(logits->value, sequence, position));
    const StageId stream = trace.plan->streams(writing_stack(trace.config)).back();
    const RecordedStage<float>* last = trace.find(stream);
    if (last == nullptr) throw Error("there is no word to go on from");
    const std::span<const float> row = row_of(last->value, sequence, position);
    Trace<float> one;
    one.config = trace.config;
    one.plan = trace.plan;
    one.settings = trace.settings;
    one.parameters = trace.parameters;
    one.stages.push_back({stream, Tensor<float>({{Axis::B, 1}, {Axis::T, 1}, {Axis::C, static_cast<std::int64_t>(row.size())}})});
    std::copy(row.begin(), row.end(), one.stages.back().value.data());
    return copied(row_of(lens_logits(one, stream), 0, 0));
}

}  // namespace

NextWords next_words(const Snapshot& snapshot, std::int64_t sequence, double temperature) {
    const Trace<float>& trace = *snapshot.trace;
    const bool encoder = trace.config.architecture == Architecture::EncoderDecoder ? false : !trace.settings.masks.causal;
    if (!trace.config.lm_head || encoder) throw Error("this model predicts no next word");
    const std::int64_t row = std::clamp<std::int64_t>(sequence, 0, trace.tokens.size() - 1);
    const std::int64_t length = trace.tokens.lengths.at(static_cast<std::size_t>(row));
    if (length == 0) throw Error("there is no word to go on from");
    const std::vector<float> logits = logits_at(trace, row, length - 1);
    const std::size_t count = logits.size();
    const std::vector<double> chance = chances(logits, temperature);
    std::vector<std::int32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    const bool special = snapshot.state != nullptr && snapshot.state->setup->model == nullptr && snapshot.state->setup->special_tokens;
    if (special) order.erase(order.begin(), order.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(order.size())));
    const std::size_t shown = std::min(kMostNextWords, order.size());
    const auto likelier = [&](std::int32_t a, std::int32_t b) {
        const double x = chance[static_cast<std::size_t>(a)], y = chance[static_cast<std::size_t>(b)];
        return x > y || (x == y && a < b);
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(), likelier);
    NextWords words;
    words.rest = 1;
    for (std::size_t i = 0; i < shown; ++i) {
        const auto id = static_cast<std::size_t>(order[i]);
        words.likeliest.push_back({order[i], id < snapshot.vocabulary.size() ? snapshot.vocabulary[id] : std::to_string(id), chance[id]});
        words.rest -= chance[id];
    }
    words.others = static_cast<std::int64_t>(count - shown);
    words.rest = std::max(words.rest, 0.0);
    return words;
}

std::string with_word(const std::string& text, const std::string& word, bool spaced) {
    return text.empty() || !spaced ? text + word : text + " " + word;
}

}  // namespace attn::app
