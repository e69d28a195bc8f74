#include "engine/generate/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/model/cached_pass.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"

namespace attn {
namespace {

void require_can_write(const Config& config) {
    if (config.architecture == Architecture::Encoder) throw ConfigError("an encoder cannot continue a text: it fills in hidden words");
    if (!config.lm_head) throw ConfigError("a model without an output head predicts no tokens");
}

void require_ids(const char* what, std::span<const std::int32_t> ids, const Config& config) {
    if (ids.empty()) throw Error(fmt::format("a {} needs at least one token", what));
    for (const std::int32_t id : ids)
        if (id < 0 || id >= config.vocab_size)
            throw Error(fmt::format("the {}'s id {} is outside the vocabulary of {}", what, id, config.vocab_size));
}

std::size_t draw(std::span<const double> distribution, double uniform) {
    double reached = 0;
    std::size_t last = 0;
    for (std::size_t id = 0; id < distribution.size(); ++id) {
        if (distribution[id] == 0) continue;
        last = id;
        if ((reached += distribution[id]) > uniform) return id;
    }
    return last;  // the sum was below 1 due to rounding
}

TokenBatch batch_of(std::span<const std::int32_t> ids) {
    const auto length = static_cast<std::int64_t>(ids.size());
    return {length, {ids.begin(), ids.end()}, {length}};
}

/// The logits after a text: from the kept state if possible, else from a pass over the whole text.
class NextLogits {
public:
    NextLogits(const Parameters<float>& parameters, std::span<const std::int32_t> source, const ForwardSettings& settings,
               std::stop_token stop, KeptText* kept)
        : config_(parameters.config()), settings_(settings), tap_(false, stop), kept_(kept), source_(batch_of(source)) {
        const bool same = kept != nullptr && kept->parameters == &parameters && kept->settings == settings;
        TextCache<float> cache = same ? std::move(kept->cache) : TextCache<float>();
        if (kept != nullptr) *kept = {&parameters, settings, {}};
        if (prefix_stays(config_, settings))
            cached_ = std::make_unique<CachedPass<float>>(parameters, settings, std::move(stop), std::move(cache));
        else full_ = std::make_unique<ModelPass<float>>(parameters, Keep::OneLayer);
    }
    ~NextLogits() {
        if (kept_ != nullptr && cached_ != nullptr) kept_->cache = cached_->release();
    }
    NextLogits(const NextLogits&) = delete;
    NextLogits& operator=(const NextLogits&) = delete;

    std::span<const float> after(std::span<const std::int32_t> text) {
        if (cached_ != nullptr) return cached_->logits_after(text);
        full_->forward(batch_of(text), source_, settings_, tap_);
        return std::span<const float>(full_->logits().values()).last(static_cast<std::size_t>(config_.vocab_size));
    }

private:
    const Config& config_;
    const ForwardSettings& settings_;
    Tap<float> tap_;
    KeptText* const kept_;
    std::unique_ptr<CachedPass<float>> cached_;
    std::unique_ptr<ModelPass<float>> full_;
    TokenBatch source_;
};

}  // namespace

std::vector<std::int32_t> generate(const Parameters<float>& parameters, const Prompt& prompt, const ForwardSettings& settings,
                                   const SamplingSettings& sampling, const std::function<void(const DrawnToken&)>& each,
                                   std::stop_token stop, KeptText* kept) {
    const Config& config = parameters.config();
    require_can_write(config);
    require_sampling(sampling);
    require_ids("prompt", prompt.text, config);
    if (config.architecture == Architecture::EncoderDecoder) require_ids("source", prompt.source, config);

    ForwardSettings forward = settings;
    forward.dropout = {};
    NextLogits logits(parameters, prompt.source, forward, stop, kept);
    const CounterRandom random(sampling.seed, 0);
    std::vector<std::int32_t> text(prompt.text.begin(), prompt.text.end());
    for (std::int64_t written = 0; written < sampling.tokens; ++written) {
        if (stop.stop_requested()) throw Cancelled();
        const auto length = static_cast<std::size_t>(std::min(config.longest_text(), static_cast<std::int64_t>(text.size())));
        const std::span<const float> next = logits.after(std::span(text).last(length));
        const double uniform = random.uniform(prompt.drawn + static_cast<std::uint64_t>(written));
        const std::vector<double> chances = sampling_distribution(next, sampling);
        const auto id = static_cast<std::int32_t>(draw(chances, uniform));
        text.push_back(id);
        if (each) each({id, next, chances});
        if (std::find(prompt.ends.begin(), prompt.ends.end(), id) != prompt.ends.end()) break;
    }
    return {text.begin() + static_cast<std::ptrdiff_t>(prompt.text.size()), text.end()};
}

std::vector<std::int32_t> fill_in(const Parameters<float>& parameters, const TokenBatch& text, std::int32_t blank,
                                  const ForwardSettings& settings, const SamplingSettings& sampling,
                                  const std::function<void(const DrawnToken&)>& each, std::stop_token stop) {
    const Config& config = parameters.config();
    if (config.architecture != Architecture::Encoder) throw ConfigError("this model continues a text: only an encoder fills in words");
    if (!config.lm_head) throw ConfigError("a model without an output head predicts no tokens");
    require_sampling(sampling);
    require_ids("text", text.ids, config);
    if (std::find(text.ids.begin(), text.ids.end(), blank) == text.ids.end()) throw Error("there is nothing to fill in");
    ForwardSettings forward = settings;
    forward.dropout = {};
    ModelPass<float> pass(parameters, Keep::OneLayer);
    Tap<float> tap(false, std::move(stop));
    pass.forward(text, {}, forward, tap);
    const std::span<const float> logits = pass.logits().values();
    const CounterRandom random(sampling.seed, 0);
    const auto vocabulary = static_cast<std::size_t>(config.vocab_size);
    std::vector<std::int32_t> filled = text.ids;
    for (std::size_t at = 0; at < filled.size(); ++at) {
        if (text.ids[at] != blank) continue;
        const std::span<const float> row = logits.subspan(at * vocabulary, vocabulary);
        const std::vector<double> chances = sampling_distribution(row, sampling);
        filled[at] = static_cast<std::int32_t>(draw(chances, random.uniform(at)));
        if (each) each({filled[at], row, chances});
    }
    return filled;
}

}  // namespace attn
