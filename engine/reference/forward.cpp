#include "engine/reference/forward.hpp"

#include <cmath>
#include <string>

#include "engine/reference/edits.hpp"
#include "engine/reference/maths.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/random.hpp"

namespace attn::reference {
namespace {

using Matrix = Tensor<double>;

void check_batch(const TokenBatch& tokens, std::int64_t vocabulary) {
    const std::int64_t batch = tokens.size();
    if (static_cast<std::int64_t>(tokens.ids.size()) != batch * tokens.length)
        throw ShapeError("a batch of " + std::to_string(batch) + " sequences of " + std::to_string(tokens.length) + " positions holds " +
                         std::to_string(tokens.ids.size()) + " ids");
    for (const std::int32_t id : tokens.ids)
        if (id < 0 || id >= vocabulary)
            throw Error("token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocabulary));
}

/// PE(t, 2i) = sin(t / 10000^(2i/C)), PE(t, 2i+1) = cos(the same) (Vaswani et al. 2017).
double sinusoid(std::int64_t t, std::int64_t c, std::int64_t width) {
    const std::int64_t even = c - c % 2;
    const double angle = static_cast<double>(t) / std::pow(10000.0, static_cast<double>(even) / static_cast<double>(width));
    return c % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

Matrix sum(const Matrix& a, const Matrix& b) {
    Matrix out(a.shape());
    for (std::int64_t i = 0; i < a.size(); ++i) out.data()[i] = a.data()[i] + b.data()[i];
    return out;
}

/// The convention about which random numbers decide: one stream per sublayer, the same as in engine/ops/dropout.
std::uint64_t dropout_stream(const StageId& site) {
    return (static_cast<std::uint64_t>(site.stack) << 56) ^ (static_cast<std::uint64_t>(site.layer + 1) << 8) ^
           stage_key(site.stage);
}

/// Number i of the site's stream decides about cell i: dropped below the rate, else divided by 1 - rate.
Matrix dropped_out(const Matrix& x, double rate, std::uint64_t seed, const StageId& site) {
    if (rate == 0) return x;
    const CounterRandom random(seed, dropout_stream(site));
    Matrix out(x.shape());
    for (std::int64_t i = 0; i < x.size(); ++i)
        out.data()[i] = random.uniform(static_cast<std::uint64_t>(i)) < rate ? 0 : x.data()[i] / (1 - rate);
    return out;
}

class Model {
public:
    Model(const Parameters<double>& parameters, const ForwardSettings& settings, std::stop_token stop, Rounding rounding)
        : parameters_(parameters), config_(parameters.config()), settings_(settings), stop_(std::move(stop)), rounding_(rounding) {}

    std::vector<ReferenceStage> run(const TokenBatch& tokens, const TokenBatch& source) {
        if (config_.architecture == Architecture::EncoderDecoder) {
            // An encoder reads its whole source: the patterns (causal, window, ...) shape the decoder's self-attention only.
            const Mistake mistake = settings_.mistake;
            const auto own = share(padding_permissions(settings_.masks, source.lengths, source.length, source.length, mistake));
            memory_permissions_ = share(padding_permissions(settings_.masks, source.lengths, tokens.length, source.length, mistake));
            stack_ = Stack::Encoder;
            memory_ = stack(source, own);
            stack_ = Stack::Decoder;
        }
        const Matrix x = stack(tokens, share(self_permissions(settings_.masks, tokens.lengths, tokens.length, settings_.mistake)));
        if (config_.lm_head) head(x);
        return std::move(stages_);
    }

private:
    using SharedPermissions = std::shared_ptr<const Permissions>;
    static SharedPermissions share(Permissions permissions) { return std::make_shared<const Permissions>(std::move(permissions)); }

    /// Notes the stage and hands its value on.
    const Matrix& record(Stage stage, int layer, Matrix value, const SharedPermissions& permissions = nullptr) {
        if (stop_.stop_requested()) throw Cancelled();
        if (!settings_.edits.empty()) value = edited(settings_.edits, {stage, layer, stack_}, std::move(value), permissions.get());
        if (rounding_ == Rounding::EveryStageToFloat)
            for (double& number : value.values()) number = static_cast<double>(static_cast<float>(number));
        stages_.push_back({{stage, layer, stack_}, std::move(value), permissions});
        return stages_.back().value;
    }

    Matrix drop(const Matrix& x, Stage site, int layer, double rate) const {
        return dropped_out(x, rate, settings_.dropout.seed, {site, layer, stack_});
    }

    std::string prefix() const { return stack_ == Stack::Encoder ? "encoder." : stack_ == Stack::Decoder ? "decoder." : ""; }
    std::string layer_prefix(int layer) const { return prefix() + "layers." + std::to_string(layer) + "."; }

    const double* parameter(const std::string& name) const {
        const double* found = parameters_.find(name);
        if (found == nullptr) throw Error("the model has no parameter " + name);
        return found;
    }
    LinearMap linear_map(const std::string& name, std::int64_t out, bool bias) const {
        return {parameter(name + ".weight"), bias ? parameter(name + ".bias") : nullptr, out};
    }
    /// `count` columns of a packed map starting at `first`, out of `packed` columns.
    LinearMap columns(const std::string& name, std::int64_t first, std::int64_t packed) const {
        LinearMap map = linear_map(name, packed, config_.qkv_bias);
        map.weight += first;
        if (map.bias != nullptr) map.bias += first;
        return map;
    }

    Matrix stack(const TokenBatch& tokens, const SharedPermissions& permissions) {
        check_batch(tokens, config_.vocab_size);
        Matrix x = embed(tokens);
        for (int layer = 0; layer < static_cast<int>(config_.num_layers); ++layer) {
            x = attention_sublayer(x, x, layer, false, permissions);
            if (stack_ == Stack::Decoder) x = attention_sublayer(x, memory_, layer, true, memory_permissions_);
            if (config_.feed_forward) x = feed_forward_sublayer(x, layer);
        }
        if (config_.final_norm) x = record(Stage::FinalNorm, -1, norm(x, prefix() + "final_norm"));
        return x;
    }

    Matrix embed(const TokenBatch& tokens) {
        const std::int64_t batch = tokens.size(), length = tokens.length, width = config_.d_model;
        const double* table = parameter("token_embedding.weight");
        Matrix ids({{Axis::B, batch}, {Axis::T, length}});
        Matrix looked_up({{Axis::B, batch}, {Axis::T, length}, {Axis::C, width}});
        for (std::int64_t b = 0; b < batch; ++b)
            for (std::int64_t t = 0; t < length; ++t) {
                const std::int32_t id = tokens.ids[static_cast<std::size_t>(b * length + t)];
                ids(b, t) = id;
                for (std::int64_t c = 0; c < width; ++c) looked_up(b, t, c) = table[id * width + c];
            }
        record(Stage::Tokens, -1, ids);
        Matrix x = record(Stage::TokenEmbedding, -1, looked_up);
        if (config_.position != PositionKind::None) {
            const Matrix& added = record(Stage::PositionEmbedding, -1, positions(x.shape()));
            if (settings_.mistake != Mistake::NoPositions) x = sum(x, added);
        }
        return record(Stage::Embedding, -1, drop(x, Stage::Embedding, -1, settings_.dropout.embedding));
    }

    Matrix positions(const Shape& shape) const {
        Matrix out(shape);
        const bool learned = config_.position == PositionKind::Learned;
        const double* table = learned ? parameter("position_embedding.weight") : nullptr;
        for (std::int64_t b = 0; b < shape[0].size; ++b)
            for (std::int64_t t = 0; t < shape[1].size; ++t)
                for (std::int64_t c = 0; c < shape[2].size; ++c)
                    out(b, t, c) = learned ? table[t * shape[2].size + c] : sinusoid(t, c, shape[2].size);
        return out;
    }

    Matrix norm(const Matrix& x, const std::string& name) const {
        if (settings_.mistake == Mistake::MissingNorm) return x;
        return layer_norm(x, parameter(name + ".weight"), parameter(name + ".bias"), config_.layer_norm_eps);
    }

    /// x + attention(x) with the norm before or after; `others` is x itself, or the memory of cross-attention.
    Matrix attention_sublayer(const Matrix& x, const Matrix& others, int layer, bool cross, const SharedPermissions& permissions) {
        const auto at = [cross](Stage stage) { return cross ? to_cross(stage) : stage; };
        const std::string norm_name = layer_prefix(layer) + (cross ? "cross_norm" : "norm_1");
        Matrix input = x;
        if (config_.norm == NormPlacement::Pre) input = record(at(Stage::Norm1), layer, norm(x, norm_name));
        Matrix out = attention(input, cross ? others : input, layer, cross, permissions);
        out = into_stream(x, out, at(Stage::AttentionOut), at(Stage::Residual1), layer);
        if (config_.norm == NormPlacement::Post) out = record(at(Stage::Norm1), layer, norm(out, norm_name));
        return out;
    }

    /// x + dropout(result). Without a residual connection the result alone, and nothing drops out.
    Matrix into_stream(const Matrix& x, const Matrix& result, Stage site, Stage shown, int layer) {
        if (!config_.residual) return result;
        const Matrix added = drop(result, site, layer, settings_.dropout.residual);
        return record(shown, layer, settings_.mistake == Mistake::NoResidual ? added : sum(x, added));
    }

    /// What the scores are divided by.
    double score_divisor() const {
        const double size = static_cast<double>(config_.head_size());
        if (settings_.mistake == Mistake::NoScale) return 1;
        if (settings_.mistake == Mistake::ScaleByModelWidth) return std::sqrt(static_cast<double>(config_.d_model));
        return settings_.mistake == Mistake::ScaledTwice ? size : std::sqrt(size);
    }

    Matrix heads_of(const Matrix& x, const LinearMap& map, Axis position) const {
        const std::int64_t heads = config_.num_heads, head_size = config_.head_size();
        if (settings_.mistake != Mistake::HeadsSplitWithoutTranspose) return project_heads(x, map, heads, head_size, position);
        return heads_in_order(linear(x, map, {Axis::N, heads * head_size}), heads, position);
    }

    double attention_dropout() const {
        const double rate = settings_.dropout.attention;
        return settings_.mistake == Mistake::DropoutLeftOn && rate == 0 ? kDropoutLeftOn : rate;
    }

    Matrix attention(const Matrix& queries, const Matrix& keys, int layer, bool cross, const SharedPermissions& permissions) {
        const auto at = [cross](Stage stage) { return cross ? to_cross(stage) : stage; };
        const std::int64_t width = config_.num_heads * config_.head_size();
        const std::string name = layer_prefix(layer) + (cross ? "cross_attention" : "attention");
        const LinearMap w_q = cross ? columns(name + ".q", 0, width) : columns(name + ".qkv", 0, 3 * width);
        const LinearMap w_k = cross ? columns(name + ".kv", 0, 2 * width) : columns(name + ".qkv", width, 3 * width);
        const LinearMap w_v = cross ? columns(name + ".kv", width, 2 * width) : columns(name + ".qkv", 2 * width, 3 * width);
        const Matrix q = record(at(Stage::Q), layer, heads_of(queries, w_q, Axis::T));
        const Matrix k = record(at(Stage::K), layer, heads_of(keys, w_k, Axis::S));
        const Matrix v = record(at(Stage::V), layer, heads_of(keys, w_v, Axis::S));
        const Matrix context = attend(q, k, v, layer, at, permissions);
        const bool in_order = settings_.mistake == Mistake::HeadsJoinedWithoutTranspose;
        Matrix concat = record(at(Stage::Concat), layer, in_order ? concat_in_order(context) : concat_heads(context));
        if (!config_.output_projection) return concat;
        const LinearMap w_o = linear_map(name + ".out", config_.d_model, config_.output_bias);
        return record(at(Stage::AttentionOut), layer, linear(concat, w_o, {Axis::C, config_.d_model}));
    }

    /// From scores to context.
    template <class At>
    Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, int layer, const At& at, const SharedPermissions& permissions) {
        const bool swapped = settings_.mistake == Mistake::KeysValuesSwapped, late = settings_.mistake == Mistake::MaskAfterSoftmax;
        Matrix map = record(at(Stage::Scores), layer, attention_scores(q, swapped ? v : k));
        for (double& score : map.values()) score /= score_divisor();
        map = record(at(Stage::Scaled), layer, map);
        const SharedPermissions early = late ? share(everything_allowed(permissions->queries, permissions->keys)) : permissions;
        map = record(at(Stage::Masked), layer, apply_mask(map, *early), early);
        map = settings_.mistake == Mistake::SoftmaxOverQueries ? weights_over_queries(map, *early, settings_.temperature)
                                                               : attention_weights(map, *early, settings_.temperature);
        if (late) forget_forbidden(map, *permissions);
        map = record(at(Stage::Weights), layer, map, permissions);
        map = record(at(Stage::Dropped), layer, drop(map, at(Stage::Dropped), layer, attention_dropout()), permissions);
        return record(at(Stage::Context), layer, weighted_values(map, swapped ? k : v, *permissions));
    }

    Matrix feed_forward_sublayer(const Matrix& x, int layer) {
        const std::string name = layer_prefix(layer);
        Matrix y = x;
        if (config_.norm == NormPlacement::Pre) y = record(Stage::Norm2, layer, norm(x, name + "norm_2"));
        y = record(Stage::FfnHidden, layer, linear(y, linear_map(name + "ffn.in", config_.d_ff, true), {Axis::F, config_.d_ff}));
        for (double& value : y.values()) value = activate(config_.activation, value);
        y = record(Stage::FfnActivation, layer, y);
        y = record(Stage::FfnOut, layer, linear(y, linear_map(name + "ffn.out", config_.d_model, true), {Axis::C, config_.d_model}));
        y = into_stream(x, y, Stage::FfnOut, Stage::Residual2, layer);
        if (config_.norm == NormPlacement::Post) y = record(Stage::Norm2, layer, norm(y, name + "norm_2"));
        return y;
    }

    void head(const Matrix& x) {
        const Dim vocabulary{Axis::V, config_.vocab_size};
        const Matrix& logits = record(Stage::Logits, -1,
                                      config_.tied_lm_head ? linear_transposed(x, parameter("token_embedding.weight"), vocabulary)
                                                           : linear(x, linear_map("lm_head", config_.vocab_size, false), vocabulary));
        record(Stage::Probabilities, -1, softmax(logits));
    }

    const Parameters<double>& parameters_;
    const Config& config_;
    const ForwardSettings& settings_;
    std::stop_token stop_;
    Rounding rounding_;
    Stack stack_ = Stack::Main;
    Matrix memory_;
    SharedPermissions memory_permissions_;
    std::vector<ReferenceStage> stages_;
};

}  // namespace

std::vector<ReferenceStage> forward(const Parameters<double>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                                    const ForwardSettings& settings, std::stop_token stop, Rounding rounding) {
    return Model(parameters, settings, std::move(stop), rounding).run(tokens, source);
}

}  // namespace attn::reference
