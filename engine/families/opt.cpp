/// OPT (Zhang et al., 2022), as in huggingface/transformers, models/opt: a position table whose first two rows are unused; one of its sizes
/// has post-norm and word embeddings narrower than d_model.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kOptTypes = {"opt"};
constexpr std::array<std::string_view, 2> kOptPrefixes = {"model.decoder.", "decoder."};

Config read_opt_config(JsonObject& json) {
    Config config = read_decoder_sizes(json);
    if (!json.has("tie_word_embeddings")) config.tied_lm_head = true;
    config.d_ff = required_size(json, "ffn_dim");
    config.activation = read_activation_word(json, "activation_function", Activation::Relu);
    config.qkv_bias = config.output_bias = config.ffn_bias = true;
    json.read("enable_bias", config.qkv_bias);
    config.output_bias = config.ffn_bias = config.qkv_bias;
    require_option(json, "layer_norm_elementwise_affine", true, true, "norms without gain and bias");
    bool before = true, removed = false;
    json.read("do_layer_norm_before", before);
    json.read("_remove_final_layer_norm", removed);
    config.norm = before ? NormPlacement::Pre : NormPlacement::Post;
    config.final_norm = before && !removed;
    if (json.has("word_embed_proj_dim")) config.d_embedding = required_size(json, "word_embed_proj_dim");
    if (config.d_embedding == config.d_model) config.d_embedding = 0;
    if (config.d_embedding != 0 && !config.tied_lm_head)
        json.fail("tie_word_embeddings", "is false, which would need a separate output head as narrow as the word vectors",
                  FileFault::Unsupported);
    return config;
}

std::vector<TensorSource> opt_tensors(const Config& config) {
    constexpr std::int64_t kUnusedPositions = 2;
    std::vector<TensorSource> out{
        {"token_embedding.weight", "embed_tokens.weight"},
        {.parameter = "position_embedding.weight", .tensor = "embed_positions.weight", .first_row = kUnusedPositions}};
    if (config.d_embedding != 0) {
        out.push_back({"embedding_in.weight", "project_in.weight", true});
        out.push_back({"head_in.weight", "project_out.weight", true});
    }
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer);
        add_norm(out, name + "norm_1", name + "self_attn_layer_norm", config);
        add_self_attn(out, name, "out_proj", config);
        add_norm(out, name + "norm_2", name + "final_layer_norm", config);
        add_linear(out, name + "ffn.in", name + "fc1", true, config.ffn_bias);
        add_linear(out, name + "ffn.out", name + "fc2", true, config.ffn_bias);
    }
    if (config.final_norm) add_norm(out, "final_norm", "final_layer_norm", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

}  // namespace

constinit const Family kOptFamily{.name = "OPT",
                                  .model_types = kOptTypes,
                                  .prefixes = kOptPrefixes,
                                  .read_config = read_opt_config,
                                  .tensors = opt_tensors,
                                  .leftover = usual_leftover,
                                  .counts_real_tokens = true,
                                  .scales_queries = true};

}  // namespace attn
