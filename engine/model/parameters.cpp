#include "engine/model/parameters.hpp"

namespace attn {
namespace {

/// Appends the parameters in the order that the header documents.
class LayoutBuilder {
public:
    LayoutBuilder(const Config& config, std::vector<ParameterInfo>& entries) : config_(config), entries_(entries) {}

    std::int64_t build() {
        const std::int64_t c = config_.d_model;
        add("token_embedding.weight", {{Axis::V, config_.vocab_size}, {Axis::C, c}});
        if (config_.position == PositionKind::Learned) add("position_embedding.weight", {{Axis::N, config_.context_length}, {Axis::C, c}});
        if (config_.architecture == Architecture::EncoderDecoder) {
            stack("encoder.", false);
            stack("decoder.", true);
        } else {
            stack("", false);
        }
        if (config_.lm_head && !config_.tied_lm_head) add("lm_head.weight", {{Axis::C, c}, {Axis::V, config_.vocab_size}});
        return count_;
    }

private:
    void add(const std::string& name, const Shape& shape) {
        entries_.push_back({name, shape, count_, shape.rank() == 2});
        count_ += shape.count();
    }
    void norm(const std::string& name) {
        add(name + ".weight", {{Axis::C, config_.d_model}});
        add(name + ".bias", {{Axis::C, config_.d_model}});
    }
    void linear(const std::string& name, Dim in, Dim out, bool bias) {
        add(name + ".weight", {in, out});
        if (bias) add(name + ".bias", {out});
    }
    void stack(const std::string& prefix, bool cross) {
        for (std::int64_t i = 0; i < config_.num_layers; ++i) layer(prefix + "layers." + std::to_string(i) + ".", cross);
        if (config_.final_norm) norm(prefix + "final_norm");
    }
    void layer(const std::string& prefix, bool cross) {
        const Dim c{Axis::C, config_.d_model}, f{Axis::F, config_.d_ff};
        const std::int64_t width = config_.attention_width();
        const bool norms = config_.norm != NormPlacement::None;
        if (norms) norm(prefix + "norm_1");
        linear(prefix + "attention.qkv", c, {Axis::N, 3 * width}, config_.qkv_bias);
        if (config_.output_projection) linear(prefix + "attention.out", {Axis::N, width}, c, config_.output_bias);
        if (cross) {
            if (norms) norm(prefix + "cross_norm");
            linear(prefix + "cross_attention.q", c, {Axis::N, width}, config_.qkv_bias);
            linear(prefix + "cross_attention.kv", c, {Axis::N, 2 * width}, config_.qkv_bias);
            if (config_.output_projection) linear(prefix + "cross_attention.out", {Axis::N, width}, c, config_.output_bias);
        }
        if (!config_.feed_forward) return;
        if (norms) norm(prefix + "norm_2");
        linear(prefix + "ffn.in", c, f, true);
        linear(prefix + "ffn.out", f, c, true);
    }

    const Config& config_;
    std::vector<ParameterInfo>& entries_;
    std::int64_t count_ = 0;
};

}  // namespace

ParameterLayout::ParameterLayout(const Config& config) {
    validate(config);
    count_ = LayoutBuilder(config, entries_).build();
}

const ParameterInfo* ParameterLayout::find(std::string_view name) const {
    for (const ParameterInfo& entry : entries_)
        if (entry.name == name) return &entry;
    return nullptr;
}

template <class Scalar>
Parameters<Scalar>::Parameters(const Config& config)
    : config_(config), layout_(std::make_shared<ParameterLayout>(config)), values_(static_cast<std::size_t>(layout_->count())) {}

template <class Scalar>
const Scalar* Parameters<Scalar>::find(std::string_view name) const {
    const ParameterInfo* info = layout_->find(name);
    return info == nullptr ? nullptr : data() + info->offset;
}

template <class Scalar>
Scalar* Parameters<Scalar>::find(std::string_view name) {
    const ParameterInfo* info = layout_->find(name);
    return info == nullptr ? nullptr : data() + info->offset;
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace attn
