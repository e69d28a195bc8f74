/// BERT (Devlin et al., 2019), RoBERTa (Liu et al., 2019) and DistilBERT (Sanh et al., 2019), as in huggingface/transformers, models/bert,
/// roberta and distilbert: encoders with post-norm, a norm of the embedding, and a masked-word head.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kBertTypes = {"bert"}, kDistilTypes = {"distilbert"};
/// XLM-RoBERTa and CamemBERT are RoBERTa with other tokenizers.
constexpr std::array<std::string_view, 3> kRobertaTypes = {"roberta", "xlm-roberta", "camembert"};
constexpr std::array<std::string_view, 1> kBertPrefixes = {"bert."}, kRobertaPrefixes = {"roberta."}, kDistilPrefixes = {"distilbert."};
/// RoBERTa's positions start after its padding id, 1.
constexpr std::int64_t kUnusedInRoberta = 2;

/// Common to all three; DistilBERT has other names for the sizes.
Config encoder_config(JsonObject& json) {
    Config config;
    config.architecture = Architecture::Encoder;
    config.vocab_size = required_size(json, "vocab_size");
    config.norm = NormPlacement::Post;
    config.final_norm = false;
    config.embedding_norm = true;
    config.tied_lm_head = true;
    require_option(json, "tie_word_embeddings", true, true, "a separate output head");
    config.lm_head = names_class(json, {"ForMaskedLM", "ForPreTraining"});
    config.head_transform = config.lm_head_bias = config.lm_head;
    return config;
}

Config read_bert_config(JsonObject& json) {
    Config config = encoder_config(json);
    require_option(json, "is_decoder", false, false, "a decoder");
    std::string positions = "absolute";
    json.read("position_embedding_type", positions);
    if (positions != "absolute")
        json.fail("position_embedding_type", fmt::format("is \"{}\"; only \"absolute\" is supported", escaped(positions)),
                  FileFault::Unsupported);
    config.d_model = required_size(json, "hidden_size");
    config.num_layers = required_size(json, "num_hidden_layers");
    config.num_heads = required_size(json, "num_attention_heads");
    config.d_ff = required_size(json, "intermediate_size");
    config.context_length = required_size(json, "max_position_embeddings");
    config.num_segments = required_size(json, "type_vocab_size");
    config.activation = read_activation_word(json, "hidden_act", Activation::GeluErf);
    config.layer_norm_eps = 1e-12;
    json.read("layer_norm_eps", config.layer_norm_eps, 1e-30, 1);
    return config;
}

Config read_roberta_config(JsonObject& json) {
    Config config = read_bert_config(json);
    if (config.activation != Activation::GeluErf)
        json.fail("hidden_act", "is not \"gelu\", which would need another activation in the layers than in the output head",
                  FileFault::Unsupported);
    std::int64_t padding = 1;
    json.read("pad_token_id", padding, 0, std::int64_t{1} << 24);
    if (padding + 1 != kUnusedInRoberta)
        json.fail("pad_token_id", fmt::format("is {}, which would need positions counted from {}", padding, padding + 1),
                  FileFault::Unsupported);
    config.context_length -= kUnusedInRoberta;
    return config;
}

Config read_distilbert_config(JsonObject& json) {
    Config config = encoder_config(json);
    config.d_model = required_size(json, "dim");
    config.num_layers = required_size(json, "n_layers");
    config.num_heads = required_size(json, "n_heads");
    config.d_ff = required_size(json, "hidden_dim");
    config.context_length = required_size(json, "max_position_embeddings");
    config.activation = read_activation_word(json, "activation", Activation::GeluErf);
    config.layer_norm_eps = 1e-12;
    return config;
}

/// Old files call gain and bias gamma and beta.
void add_old_norm(std::vector<TensorSource>& out, const std::string& parameter, const std::string& tensor) {
    out.push_back({.parameter = parameter + ".weight", .tensor = tensor + ".weight", .other_name = tensor + ".gamma"});
    out.push_back({.parameter = parameter + ".bias", .tensor = tensor + ".bias", .other_name = tensor + ".beta"});
}

std::vector<TensorSource> bert_body(const Config& config, std::int64_t first_position) {
    std::vector<TensorSource> out{
        {"token_embedding.weight", "embeddings.word_embeddings.weight"},
        {.parameter = "position_embedding.weight", .tensor = "embeddings.position_embeddings.weight", .first_row = first_position},
        {"segment_embedding.weight", "embeddings.token_type_embeddings.weight"}};
    add_old_norm(out, "embedding_norm", "embeddings.LayerNorm");
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string ours = fmt::format("layers.{}.", layer), theirs = fmt::format("encoder.layer.{}.", layer);
        add_linear(out, ours + "attention.q", theirs + "attention.self.query", true, true);
        add_linear(out, ours + "attention.k", theirs + "attention.self.key", true, true);
        add_linear(out, ours + "attention.v", theirs + "attention.self.value", true, true);
        add_linear(out, ours + "attention.out", theirs + "attention.output.dense", true, true);
        add_old_norm(out, ours + "norm_1", theirs + "attention.output.LayerNorm");
        add_linear(out, ours + "ffn.in", theirs + "intermediate.dense", true, true);
        add_linear(out, ours + "ffn.out", theirs + "output.dense", true, true);
        add_old_norm(out, ours + "norm_2", theirs + "output.LayerNorm");
    }
    return out;
}

std::vector<TensorSource> bert_tensors(const Config& config) {
    std::vector<TensorSource> out = bert_body(config, 0);
    if (!config.lm_head) return out;
    add_linear(out, "head_transform", "cls.predictions.transform.dense", true, true);
    add_old_norm(out, "head_norm", "cls.predictions.transform.LayerNorm");
    out.push_back({"lm_head.bias", "cls.predictions.bias"});
    return out;
}

std::vector<TensorSource> roberta_tensors(const Config& config) {
    std::vector<TensorSource> out = bert_body(config, kUnusedInRoberta);
    if (!config.lm_head) return out;
    add_linear(out, "head_transform", "lm_head.dense", true, true);
    add_norm(out, "head_norm", "lm_head.layer_norm", config);
    out.push_back({"lm_head.bias", "lm_head.bias"});
    return out;
}

std::vector<TensorSource> distilbert_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "embeddings.word_embeddings.weight"},
                                  {"position_embedding.weight", "embeddings.position_embeddings.weight"}};
    add_norm(out, "embedding_norm", "embeddings.LayerNorm", config);
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string ours = fmt::format("layers.{}.", layer), theirs = fmt::format("transformer.layer.{}.", layer);
        for (const char* part : {"q", "k", "v", "out"})
            add_linear(out, ours + "attention." + part, fmt::format("{}attention.{}_lin", theirs, part), true, true);
        add_norm(out, ours + "norm_1", theirs + "sa_layer_norm", config);
        add_linear(out, ours + "ffn.in", theirs + "ffn.lin1", true, true);
        add_linear(out, ours + "ffn.out", theirs + "ffn.lin2", true, true);
        add_norm(out, ours + "norm_2", theirs + "output_layer_norm", config);
    }
    if (!config.lm_head) return out;
    add_linear(out, "head_transform", "vocab_transform", true, true);
    add_norm(out, "head_norm", "vocab_layer_norm", config);
    out.push_back({"lm_head.bias", "vocab_projector.bias"});
    return out;
}

Leftover bert_leftover(std::string_view tensor, const Config&) {
    if (tensor.ends_with("position_ids")) return Leftover::Buffer;
    for (const std::string_view copy : {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "lm_head.decoder.weight",
                                        "lm_head.decoder.bias", "vocab_projector.weight"})
        if (tensor == copy) return Leftover::Copy;
    // Sentence and classification heads, and word heads that the file contains but the class does not use.
    for (const std::string_view other : {"pooler.", "cls.", "classifier.", "pre_classifier.", "qa_outputs.", "lm_head.", "vocab_"})
        if (tensor.starts_with(other)) return Leftover::Other;
    return Leftover::Unknown;
}

}  // namespace

constinit const Family kBertFamily{.name = "BERT",
                                   .model_types = kBertTypes,
                                   .prefixes = kBertPrefixes,
                                   .read_config = read_bert_config,
                                   .tensors = bert_tensors,
                                   .leftover = bert_leftover};
constinit const Family kRobertaFamily{.name = "RoBERTa",
                                      .model_types = kRobertaTypes,
                                      .prefixes = kRobertaPrefixes,
                                      .read_config = read_roberta_config,
                                      .tensors = roberta_tensors,
                                      .leftover = bert_leftover,
                                      .counts_real_tokens = true};
constinit const Family kDistilBertFamily{.name = "DistilBERT",
                                         .model_types = kDistilTypes,
                                         .prefixes = kDistilPrefixes,
                                         .read_config = read_distilbert_config,
                                         .tensors = distilbert_tensors,
                                         .leftover = bert_leftover};

}  // namespace attn
