#include "engine/check/torch_parameters.hpp"

#include <map>

#include "engine/families/stored_parameters.hpp"
#include "engine/tensor/error.hpp"

namespace attn::check {
namespace {

Shape vector_shape(std::int64_t size) { return {{Axis::N, size}}; }
Shape matrix_shape(std::int64_t rows, std::int64_t columns) { return {{Axis::N, rows}, {Axis::N, columns}}; }

/// Collects the links of a model.
class Links {
public:
    explicit Links(const Config& config) : config_(config) {}
    std::vector<ParameterLink> take() { return std::move(links_); }

    void as_is(const std::string& tensor, Shape shape, const std::string& parameter) { links_.push_back({tensor, shape, parameter}); }

    void norm(const std::string& from, const std::string& to) {
        as_is(from + ".weight", vector_shape(config_.d_model), to + ".weight");
        if (config_.qkv_bias) as_is(from + ".bias", vector_shape(config_.d_model), to + ".bias");
    }

    /// nn.Linear
    void linear(const std::string& from, const std::string& to, std::int64_t in, std::int64_t out, bool bias) {
        links_.push_back({from + ".weight", matrix_shape(out, in), to + ".weight", true});
        if (bias) as_is(from + ".bias", vector_shape(out), to + ".bias");
    }

    void attention(const std::string& from, const std::string& to, bool cross) {
        const std::int64_t width = config_.d_model;
        const auto packed = [&](const std::string& name, std::int64_t first_row) {
            links_.push_back({from + "in_proj_weight", matrix_shape(3 * width, width), to + name + ".weight", true, first_row});
            if (config_.qkv_bias) links_.push_back({from + "in_proj_bias", vector_shape(3 * width), to + name + ".bias", false, first_row});
        };
        if (cross) {
            packed(".q", 0);
            packed(".kv", width);
        } else {
            packed(".qkv", 0);
        }
        linear(from + "out_proj", to + ".out", width, width, config_.output_bias);
    }

    void feed_forward(const std::string& from, const std::string& to) {
        linear(from + "linear1", to + "ffn.in", config_.d_model, config_.d_ff, config_.qkv_bias);
        linear(from + "linear2", to + "ffn.out", config_.d_ff, config_.d_model, config_.qkv_bias);
    }

    void encoder_layer(const std::string& from, const std::string& to) {
        attention(from + "self_attn.", to + "attention", false);
        norm(from + "norm1", to + "norm_1");
        feed_forward(from, to);
        norm(from + "norm2", to + "norm_2");
    }

    void decoder_layer(const std::string& from, const std::string& to) {
        attention(from + "self_attn.", to + "attention", false);
        norm(from + "norm1", to + "norm_1");
        attention(from + "multihead_attn.", to + "cross_attention", true);
        norm(from + "norm2", to + "cross_norm");
        feed_forward(from, to);
        norm(from + "norm3", to + "norm_2");
    }

private:
    const Config& config_;
    std::vector<ParameterLink> links_;
};

std::string layer_name(const std::string& stack, std::int64_t layer) { return stack + std::to_string(layer) + "."; }

/// Calls visit(index in the parameter, index in the file's tensor) for every number of the link.
template <class Visit>
void for_each_number(const ParameterLink& link, const ParameterInfo& info, const Visit& visit) {
    const std::int64_t rows = info.shape[0].size, columns = info.shape.rank() > 1 ? info.shape[1].size : 1;
    const std::int64_t tensor_columns = link.tensor_shape.rank() > 1 ? link.tensor_shape[1].size : 1;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            visit(r * columns + c, link.transposed ? (link.first_row + c) * tensor_columns + r : (link.first_row + r) * tensor_columns + c);
}

const ParameterInfo& info_of(const ParameterLayout& layout, const ParameterLink& link) {
    const ParameterInfo* info = layout.find(link.parameter);
    if (info == nullptr) throw Error("the model has no parameter " + link.parameter);
    return *info;
}

}  // namespace

std::vector<ParameterLink> encoder_layer_links(const Config& config, const std::string& from, const std::string& to) {
    Links links(config);
    links.encoder_layer(from, to);
    return links.take();
}

std::vector<ParameterLink> decoder_layer_links(const Config& config, const std::string& from, const std::string& to) {
    Links links(config);
    links.decoder_layer(from, to);
    return links.take();
}

std::vector<ParameterLink> transformer_encoder_links(const Config& config, const std::string& to) {
    Links links(config);
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer)
        links.encoder_layer(layer_name("encoder.layers.", layer), layer_name(to + "layers.", layer));
    links.norm("encoder.norm", to + "final_norm");
    return links.take();
}

std::vector<ParameterLink> transformer_decoder_links(const Config& config) {
    Links links(config);
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer)
        links.decoder_layer(layer_name("decoder.layers.", layer), layer_name("decoder.layers.", layer));
    links.norm("decoder.norm", "decoder.final_norm");
    return links.take();
}

std::vector<ParameterLink> gpt2_links(const Config& config) {
    constexpr std::string_view kPrefix = "transformer.";
    const ParameterLayout layout(config);
    std::vector<ParameterLink> links;
    for (const StoredParameter& parameter : stored_parameters(layout, config)) {
        const std::vector<std::int64_t> sizes = parameter.shape();
        const Shape shape = sizes.size() == 1 ? vector_shape(sizes[0]) : matrix_shape(sizes[0], sizes[1]);
        const std::string& name = parameter.name;
        links.push_back(
            {name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name, shape, parameter.place.whole->name, parameter.transposed});
    }
    return links;
}

std::vector<ParameterLink> attention_links(const Config& config, const std::string& from, const std::string& to, bool cross) {
    Links links(config);
    links.attention(from, to, cross);
    return links.take();
}

template <class Scalar>
Parameters<Scalar> load_parameters(const CaseFile& file, const Config& config, const std::vector<ParameterLink>& links) {
    for (const ParameterLink& link : links) file.require("param." + link.tensor, link.tensor_shape);
    Parameters<Scalar> parameters(config);
    for (const ParameterLink& link : links) {
        const std::vector<Scalar> source = file.numbers<Scalar>("param." + link.tensor, link.tensor_shape);
        Scalar* target = parameters.find(link.parameter);
        for_each_number(link, info_of(parameters.layout(), link),
                        [&](std::int64_t ours, std::int64_t theirs) { target[ours] = source[static_cast<std::size_t>(theirs)]; });
    }
    return parameters;
}

template <class Scalar>
void compare_parameters(CaseFile& file, const std::vector<ParameterLink>& links, const std::string& prefix, const ParameterLayout& layout,
                        const Scalar* values, const double* reach) {
    struct Laid {
        Tensor<Scalar> values;
        std::vector<double> reach;
    };
    std::map<std::string, Laid> tensors;
    for (const ParameterLink& link : links) {
        Laid& laid = tensors.try_emplace(link.tensor, Laid{Tensor<Scalar>(link.tensor_shape), {}}).first->second;
        if (reach != nullptr) laid.reach.resize(static_cast<std::size_t>(link.tensor_shape.count()));
        const ParameterInfo& info = info_of(layout, link);
        for_each_number(link, info, [&](std::int64_t ours, std::int64_t theirs) {
            laid.values.data()[theirs] = values[info.offset + ours];
            if (reach != nullptr) laid.reach[static_cast<std::size_t>(theirs)] = reach[info.offset + ours];
        });
    }
    for (const auto& [name, laid] : tensors) file.compare(prefix + name, laid.values.shape(), laid.values.values(), laid.reach);
}

template Parameters<float> load_parameters(const CaseFile&, const Config&, const std::vector<ParameterLink>&);
template Parameters<double> load_parameters(const CaseFile&, const Config&, const std::vector<ParameterLink>&);
template void compare_parameters(CaseFile&, const std::vector<ParameterLink>&, const std::string&, const ParameterLayout&, const float*,
                                 const double*);
template void compare_parameters(CaseFile&, const std::vector<ParameterLink>&, const std::string&, const ParameterLayout&, const double*,
                                 const double*);

}  // namespace attn::check
