#include "engine/model/cached_pass.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/model/model_pass.hpp"
#include "engine/model/rest_of_text.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Reduces x [1,T,C] to its last row.
template <class Scalar>
void keep_last_row(Tensor<Scalar>& x) {
    const std::int64_t rows = x.shape()[1].size, width = x.shape()[2].size;
    std::copy_n(x.data() + (rows - 1) * width, width, x.data());
    x.resize({{Axis::B, 1}, {Axis::T, 1}, {Axis::C, width}});
}

const Config& require_prefix_stays(const Config& config, const ForwardSettings& settings) {
    require_settings(settings);
    if (!prefix_stays(config, settings))
        throw ConfigError("keys and values can be cached only for a decoder-only model with only the causal mask and without mistakes, "
                          "edits and dropout");
    if (!config.lm_head) throw ConfigError("a model without an output head predicts no tokens");
    return config;
}

}  // namespace

template <class Scalar>
CachedPass<Scalar>::CachedPass(const Parameters<Scalar>& parameters, const ForwardSettings& settings, std::stop_token stop,
                               TextCache<Scalar> known)
    : weights_(parameters), plan_(require_prefix_stays(weights_.config(), settings)), settings_(settings), stop_(std::move(stop)),
      program_(plan_, weights_, Form::Fused, Keep::OneLayer),
      cache_(known.keys_and_values ? std::move(*known.keys_and_values) : empty_cache()), logits_(program_.place(plan_.logits())),
      head_(logits_), text_(std::move(known.text)) {
    const auto begins = [&](std::size_t place) {
        return program_.node(place).plan->op != Op::Norm && !plan_.is_stream(program_.node(place).plan->id);
    };
    while (begins(program_.node(head_).inputs[0])) head_ = program_.node(head_).inputs[0];
}

template <class Scalar>
KeyValueCache<Scalar> CachedPass<Scalar>::empty_cache() const {
    return {weights_.config().num_layers, weights_.config().kv_heads(), weights_.config().head_size()};
}

template <class Scalar>
TextCache<Scalar> CachedPass<Scalar>::release() {
    return {std::move(text_), std::move(cache_)};
}

template <class Scalar>
void CachedPass<Scalar>::shrink(std::int64_t length) {
    if (length < 0 || length > this->length())
        throw Error("a text of " + std::to_string(this->length()) + " tokens cannot be cut to " + std::to_string(length));
    cache_.shrink(length);
    text_.resize(static_cast<std::size_t>(length));
}

template <class Scalar>
std::span<const Scalar> CachedPass<Scalar>::extend(std::span<const std::int32_t> ids) {
    const Config& config = weights_.config();
    const std::int64_t before = length(), added = static_cast<std::int64_t>(ids.size()), after = before + added;
    if (ids.empty()) throw Error("expected at least one token to continue the text with");
    if (after > config.longest_text())
        throw ConfigError("the text has " + std::to_string(after) + " positions, more than the context length " +
                          std::to_string(config.longest_text()));
    require_ids(ids, config.vocab_size, "token id");
    if (!same_frequencies(plan_, before, after)) {
        std::vector<std::int32_t> whole = std::move(text_);
        whole.insert(whole.end(), ids.begin(), ids.end());
        shrink(0);
        return extend(whole);
    }
    RestOfText<Scalar> rest(program_, settings_, before, ids, stop_, &cache_);
    rest.forward(0, head_);
    keep_last_row(program_.value(program_.node(head_).inputs[0]));
    rest.forward(head_, logits_ + 1);
    text_.insert(text_.end(), ids.begin(), ids.end());
    cache_.advance(added);
    return program_.value(logits_).values();
}

template <class Scalar>
std::span<const Scalar> CachedPass<Scalar>::logits_after(std::span<const std::int32_t> text) {
    const auto shared = std::mismatch(text_.begin(), text_.end(), text.begin(), text.end()).first - text_.begin();
    // The last token is always recomputed, because its logits were not kept.
    const std::int64_t kept = std::min<std::int64_t>(shared, static_cast<std::int64_t>(text.size()) - 1);
    shrink(same_frequencies(plan_, length(), static_cast<std::int64_t>(text.size())) ? std::max<std::int64_t>(kept, 0) : 0);
    return extend(text.subspan(static_cast<std::size_t>(length())));
}

template class CachedPass<float>;
template class CachedPass<double>;

}  // namespace attn
