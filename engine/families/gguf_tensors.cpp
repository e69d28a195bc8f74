/// Where a GGUF file stores our parameters. Its tensor names (ggml-org/llama.cpp, gguf-py/gguf/constants.py) are the same for all
/// architectures, and so are ours, so one table covers all. Every map is stored as [out,in].

#include <fmt/format.h>

#include <array>
#include <utility>

#include "engine/families/gguf_model.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

/// Parts of a layer, except projections, which may be fused.
constexpr std::array<NamePair, 12> kGgufLayerParts = {{{"norm_1", "attn_norm"},
                                                       {"norm_2", "ffn_norm"},
                                                       {"attention.q_norm", "attn_q_norm"},
                                                       {"attention.k_norm", "attn_k_norm"},
                                                       {"attention_norm", "post_attention_norm"},
                                                       {"cross_norm", "cross_attn_norm"},
                                                       {"cross_attention.q", "cross_attn_q"},
                                                       {"cross_attention.out", "cross_attn_o"},
                                                       {"ffn.gate", "ffn_gate"},
                                                       {"ffn.in", "ffn_up"},
                                                       {"ffn.out", "ffn_down"},
                                                       {"ffn_norm", "post_ffw_norm"}}};
constexpr std::array<NamePair, 6> kGgufModelParts = {{{"token_embedding", "token_embd"},
                                                      {"position_embedding", "position_embd"},
                                                      {"segment_embedding", "token_types"},
                                                      {"embedding_norm", "token_embd_norm"},
                                                      {"final_norm", "output_norm"},
                                                      {"lm_head", "output"}}};

std::string_view gguf_part(std::span<const NamePair> names, std::string_view ours) {
    for (const auto& [our_name, their_name] : names)
        if (our_name == ours) return their_name;
    throw Error(fmt::format("GGUF files have no name for the parameter {}", ours));
}

class GgufTensorList {
public:
    GgufTensorList(const Config& config, const GgufLayout& layout, const WeightFiles& weights)
        : config_(config), layout_(layout), weights_(weights) {}

    std::vector<TensorSource> all() {
        const ParameterLayout parameters(config_);
        for (const ParameterInfo& entry : parameters.entries()) add(entry);
        return std::move(out_);
    }

private:
    void add(const ParameterInfo& entry) {
        std::string_view name = entry.name;
        const std::size_t dot = name.rfind('.');
        const std::string ending(name.substr(dot));
        name = name.substr(0, dot);
        std::string stack;
        for (const auto& [ours, theirs] : {NamePair{"encoder.", "enc."}, NamePair{"decoder.", "dec."}})
            if (name.starts_with(ours)) {
                stack = theirs;
                name.remove_prefix(ours.size());
            }
        constexpr std::string_view kLayers = "layers.";
        if (!name.starts_with(kLayers)) return add_whole(entry, stack, name, ending);
        const std::size_t end = name.find('.', kLayers.size());
        const std::string layer = fmt::format("{}blk.{}.", stack, name.substr(kLayers.size(), end - kLayers.size()));
        add_part(entry, layer, name.substr(end + 1), ending);
    }

    void add_whole(const ParameterInfo& entry, const std::string& stack, std::string_view part, const std::string& ending) {
        // Stored in the first layer, but shared by all layers of a stack.
        if (part == "position_bias") return out_.push_back({entry.name, stack + "blk.0.attn_rel_b" + ending});
        out_.push_back(
            {entry.name, fmt::format("{}{}{}", stack, gguf_part(kGgufModelParts, part), ending), part == "lm_head" && is_map(entry)});
    }

    void add_part(const ParameterInfo& entry, const std::string& layer, std::string_view part, const std::string& ending) {
        if (part == "attention.qkv") return add_projections(entry, layer, ending);
        if (part == "cross_attention.kv") {
            for (const char* letter : {"k", "v"})
                out_.push_back(
                    {sibling(entry, "kv", letter, ending), fmt::format("{}cross_attn_{}{}", layer, letter, ending), is_map(entry)});
            return;
        }
        if (part == "attention.out")
            return out_.push_back({entry.name, fmt::format("{}{}{}", layer, layout_.output, ending), is_map(entry)});
        if (part == "norm_1" || part == "norm_2") return out_.push_back({entry.name, layer + std::string(norm_name(part)) + ending});
        if (fuses_gate(layer) && (part == "ffn.gate" || part == "ffn.in")) {
            const std::int64_t wide = config_.d_ff;
            return out_.push_back(
                {entry.name, layer + "ffn_up" + ending, is_map(entry), {{part == "ffn.gate" ? 0 : wide, wide}}, 2 * wide});
        }
        out_.push_back({entry.name, fmt::format("{}{}{}", layer, gguf_part(kGgufLayerParts, part), ending), is_map(entry)});
    }

    std::string_view norm_name(std::string_view part) const {
        const bool first = part == "norm_1";
        if (config_.norm == NormPlacement::Post) return first ? "attn_output_norm" : "layer_output_norm";
        if (layout_.swapped_norms) return first ? "attn_norm_2" : "attn_norm";
        return gguf_part(kGgufLayerParts, part);
    }

    bool fuses_gate(const std::string& layer) const {
        const WeightFiles::Tensor* up = weights_.find(layer + "ffn_up.weight");
        return config_.ffn_gated && up != nullptr && !up->array.shape.empty() && up->array.shape.front() == 2 * config_.d_ff;
    }

    void add_projections(const ParameterInfo& entry, const std::string& layer, const std::string& ending) {
        const std::int64_t q = config_.attention_width(), k = config_.kv_width();
        const bool fused = weights_.find(layer + "attn_qkv.weight") != nullptr;
        std::int64_t first = 0;
        for (const char* letter : {"q", "k", "v"}) {
            const std::int64_t width = *letter == 'q' ? q : k;
            TensorSource source{sibling(entry, "qkv", letter, ending), fmt::format("{}attn_{}{}", layer, fused ? "qkv" : letter, ending),
                                is_map(entry)};
            if (fused) source.runs = {{first, width}}, source.outputs = q + 2 * k;
            else if (layout_.neighbours && *letter != 'v') source.runs = halves_of_neighbours(width), source.outputs = width;
            first += width;
            out_.push_back(std::move(source));
        }
    }

    /// GGUF stores the two outputs that are rotated together next to each other; ours are half a head apart.
    std::vector<OutputRun> halves_of_neighbours(std::int64_t width) const {
        const std::int64_t size = config_.head_size();
        std::vector<OutputRun> runs;
        for (std::int64_t head = 0; head < width; head += size)
            for (std::int64_t half = 0; half < 2; ++half)
                for (std::int64_t i = 0; i < size / 2; ++i) runs.push_back({head + 2 * i + half, 1});
        return runs;
    }

    /// "attention.qkv.weight" -> "attention.q.weight"
    static std::string sibling(const ParameterInfo& entry, std::string_view packed, const char* letter, const std::string& ending) {
        return entry.name.substr(0, entry.name.size() - ending.size() - packed.size()) + letter + ending;
    }
    static bool is_map(const ParameterInfo& entry) { return entry.shape.rank() == 2; }

    const Config& config_;
    const GgufLayout& layout_;
    const WeightFiles& weights_;
    std::vector<TensorSource> out_;
};

}  // namespace

std::vector<TensorSource> gguf_tensors(const Config& config, const GgufLayout& layout, const WeightFiles& weights) {
    return GgufTensorList(config, layout, weights).all();
}

Leftover gguf_leftover(const ArrayView& tensor, const Config& config) {
    const std::string_view name = tensor.name;
    if (tensor.bytes.empty()) return Leftover::Other;
    if (name == "rope_freqs.weight" || name.starts_with("rope_factors_"))
        return config.rotary_stretch.kind == RotaryScaling::LongRope ? Leftover::Setting : Leftover::Unknown;
    if (name.ends_with(".attn_rot_embd")) return Leftover::Buffer;
    // An unused table for cross-attention, and BERT's classification heads.
    if (name.ends_with("cross_attn_rel_b.weight") || name == "cls" || name.starts_with("cls.")) return Leftover::Other;
    // The part for pictures, which Ollama keeps in the same file and llama.cpp in one of its own. Texts do not pass through it.
    if (name.starts_with("v.") || name.starts_with("mm.")) return Leftover::Other;
    return Leftover::Unknown;
}

}  // namespace attn
