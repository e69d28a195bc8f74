#pragma once
/// A family of published models: how its config.json maps to our configuration, and its tensors to our parameters. One file per family;
/// families.cpp lists them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/plan/config.hpp"

namespace attn {

/// Outputs [first, first + count) of a linear map, which are columns of our [in,out].
struct OutputRun {
    std::int64_t first = 0, count = 0;
};

/// Where a checkpoint stores a plan's parameter.
struct TensorSource {
    std::string parameter;          ///< our name: "layers.0.attention.q.weight"
    std::string tensor;             ///< the checkpoint's name without the family's prefix: "h.0.attn.c_attn.weight"
    bool transposed = false;        ///< stored as [out,in], like nn.Linear; ours are [in,out]
    std::vector<OutputRun> runs{};  ///< the tensor's outputs that belong to the parameter, in order; empty: all
    std::int64_t outputs = 0;       ///< number of outputs of the tensor; only with `runs`
    std::int64_t first_row = 0;     ///< of a table: earlier rows are not part of the parameter
    bool as_row = false;            ///< of a bias: stored as a matrix with one row
    std::string other_name{};       ///< alternative name in some checkpoints
    bool zero_if_absent = false;    ///< of the output head's bias: files without it mean zeros
};

/// Why a checkpoint's tensor is not a parameter.
enum class Leftover : std::uint8_t {
    Unknown,    ///< purpose unknown
    Buffer,     ///< can be computed: a mask, positions
    Copy,       ///< of another tensor that it is tied to, and in whose place it is read if that is missing
    Other,      ///< belongs to a part that is not computed, such as another head
    Setting,    ///< part of the configuration: divisors of rotary frequencies
    Optimizer,  ///< in a checkpoint of ours: the optimizer's moments
};

struct Family {
    std::string_view name;                          ///< "GPT-2"
    std::span<const std::string_view> model_types;  ///< config.json's "model_type"
    std::span<const std::string_view> prefixes;     ///< found before all tensor names in some checkpoints: "transformer."
    /// Throws FileError naming an option that needs arithmetic attnscope does not have.
    Config (*read_config)(JsonObject& json) = nullptr;
    std::vector<TensorSource> (*tensors)(const Config& config) = nullptr;
    /// Purpose of a tensor that no parameter uses; `tensor` is without the prefix.
    Leftover (*leftover)(std::string_view tensor, const Config& config) = nullptr;
    /// Where the results differ from those of transformers, in a sentence; "" if they do not. Null: they never do.
    std::string (*notes)(JsonObject& json) = nullptr;
    // Only for families in whose format our own models can be written; null for others.
    bool (*names)(const Config& config) = nullptr;  ///< whether a model's parameters can be stored under the names of tensors()
    /// The config.json with which transformers loads such a model; "" if its class computes something else.
    std::string (*config_json)(const Config& config) = nullptr;
    /// Encoder-decoders: a text that models of the first type know what to do with, and what to answer; empty: they restore what they read.
    std::string_view example_source{}, example_target{};
    bool counts_real_tokens = false;  ///< a token's position counts only real tokens, wherever the padding is
    bool scales_queries = false;      ///< transformers scales queries before the product, and records them scaled
};

/// All families.
std::span<const Family* const> families();
/// The family of a config.json's "model_type"; nullptr if there is none.
const Family* find_family(std::string_view model_type);

// Each is defined in the file of its family.
extern const Family kBertFamily, kRobertaFamily, kDistilBertFamily, kT5Family, kBartFamily;
extern const Family kGpt2Family, kGptNeoFamily, kGptNeoxFamily, kLlamaFamily, kMistralFamily, kQwen2Family, kQwen3Family, kSmolLm3Family,
    kOlmo2Family, kGemmaFamily, kGemma2Family, kGemma3Family, kPhiFamily, kOldPhiFamily, kPhi3Family, kOptFamily, kBloomFamily,
    kFalconFamily;
/// Models of ours that none of the above computes.
extern const Family kOwnFamily;

}  // namespace attn
