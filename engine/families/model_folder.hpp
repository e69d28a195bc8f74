#pragma once
/// Opens a published model: a folder in Hugging Face's format, with config.json, .safetensors weights and a tokenizer, or a GGUF file,
/// which contains all of these.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/families/family.hpp"
#include "engine/families/tensor_names.hpp"
#include "engine/io/weight_files.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// A tensor of the checkpoint and how it is used.
struct TensorUse {
    const WeightFiles::Tensor* tensor = nullptr;
    std::vector<TensorSource> parameters;  ///< empty: not used
    Leftover leftover = Leftover::Unknown;
};

struct ModelFolder {
    std::filesystem::path path;
    bool is_file = false;  ///< a GGUF file, not a folder
    const Family* family = nullptr;
    std::string model_type;   ///< as config.json or the GGUF file calls it
    std::string model_class;  ///< the first of config.json's "architectures"; may be empty
    Config config;
    std::shared_ptr<const WeightFiles> weights;
    TensorNames names;                                ///< of the weights
    std::vector<TensorUse> tensors;                   ///< every tensor of the checkpoint, in its order
    std::shared_ptr<const ModelTokenizer> tokenizer;  ///< null if there is none
    std::optional<std::int32_t> decoder_start;        ///< published encoder-decoders: the token that every decoder text begins with
    std::vector<std::int32_t> ends;                   ///< generation stops at any of these tokens; see end_tokens.hpp
    std::vector<std::string> assumed;                 ///< see GgufModel: settings the file omits
    std::vector<std::string> notes;                   ///< harmless oddities, one sentence each
    std::vector<std::string> unread;                  ///< settings that the family does not have, or that change no number
};

/// Whether the folder has a config.json. Published models have one, whatever else is wrong with them, but so do some of our training runs.
bool has_config_json(const std::filesystem::path& folder);

/// The model's folder if the path names one of its files, such as config.json or model.safetensors; otherwise the path itself.
std::filesystem::path folder_of_model_file(const std::filesystem::path& path);

/// Whether the folder has an adapter (such as LoRA) for a model instead of one; open_model_folder() refuses it.
bool holds_adapter(const std::filesystem::path& folder);

/// Whether the path names a GGUF file.
bool is_gguf_file(const std::filesystem::path& path);

/// What the folder's config.json says: type, class, family and config. The rest stays empty. Throws what open_model_folder() throws for it.
ModelFolder read_model_config(const std::filesystem::path& folder);

/// Opens a folder (or one that a file of it stands for), a GGUF file, or what model_in_cache() finds, without reading the weights. Throws
/// FileError: Unsupported for a family or option that is not supported, saying what it would need; Schema for a tensor that is missing or
/// whose shape contradicts config.json; and what the file readers throw.
ModelFolder open_model_folder(const std::filesystem::path& folder);

/// Reads every block that the model uses. Throws FileError(Range) naming the first tensor and block whose scale is infinite or NaN.
void expect_scales(const ModelFolder& folder);

/// The parameters, memory-mapped: left in the file's precision and orientation. Copied are only columns that are not adjacent in the file,
/// in stored form; converted to float are vectors in another precision, F64, and unaligned floats. Throws FileError(Io) if a file changed
/// since it was opened, and what expect_scales() throws. Results computed with the parameters are valid only if weights->require_intact()
/// succeeds afterwards.
template <class Scalar>
std::shared_ptr<const Parameters<Scalar>> load_parameters(const ModelFolder& folder);

}  // namespace attn
