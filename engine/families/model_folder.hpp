#pragma once
/// A published model: a folder as Hugging Face's transformers writes it, with config.json, weights in .safetensors files and a tokenizer,
/// or a GGUF file, which holds all of that.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/families/family.hpp"
#include "engine/io/weight_files.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

/// A tensor of the checkpoint and what it is for.
struct TensorUse {
    const WeightFiles::Tensor* tensor = nullptr;
    std::vector<TensorSource> parameters;  ///< none: it is left over
    Leftover leftover = Leftover::Unknown;
};

struct ModelFolder {
    std::filesystem::path path;  ///< may be a file
    const Family* family = nullptr;
    std::string model_type;   ///< config.json's word for it, or a GGUF file's
    std::string model_class;  ///< the first of its "architectures"; may be empty
    Config config;
    std::shared_ptr<const WeightFiles> weights;
    std::vector<TensorUse> tensors;                   ///< every tensor of the checkpoint, in its order
    std::shared_ptr<const ModelTokenizer> tokenizer;  ///< null where the folder has none
    std::int32_t decoder_start = 0;                   ///< of an encoder-decoder: the token that every text of the decoder begins with
    std::vector<std::int32_t> ends;                   ///< writing ends with any of these tokens; see end_tokens.hpp
    std::vector<std::string> assumed;                 ///< see GgufModel: what a file leaves out
    std::vector<std::string> notes;                   ///< what is odd but does no harm, one sentence each
};

/// Whether the folder has a config.json with a "model_type": a model of transformers and not a training run of ours.
bool is_model_folder(const std::filesystem::path& folder);

/// Whether the path names a GGUF file.
bool is_gguf_file(const std::filesystem::path& path);

/// Opens a folder, a GGUF file or what model_in_cache() finds, without reading its weights. Throws FileError: Unsupported for a family or
/// an option that there is not, saying what it would need, Schema for a tensor that is missing or has another shape than config.json says,
/// and what the readers of the files throw.
ModelFolder open_model_folder(const std::filesystem::path& folder);

/// The parameters where the file has them, mapped: in its precision, and transposed where it has them so. Copied are columns that lie
/// apart there, as stored; and converted are rows in another precision than float, F64, and floats that begin at an odd byte.
/// Throws FileError(Io) when a file was changed since it was opened. What was computed with them counts only if
/// weights->require_intact() passes afterwards.
template <class Scalar>
std::shared_ptr<const Parameters<Scalar>> load_parameters(const ModelFolder& folder);

}  // namespace attn
