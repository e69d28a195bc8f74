#pragma once
/// The weights of a checkpoint: one or more .safetensors or GGUF files, memory-mapped.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/io/gguf.hpp"
#include "engine/io/mapped_file.hpp"
#include "engine/tensor/blocks.hpp"

namespace attn {

class WeightFiles {
public:
    /// A tensor and the file that contains it. Its bytes may be unaligned.
    struct Tensor {
        ArrayView array;
        std::size_t file = 0;
        /// The block kind if it is block-quantized: every row consists of whole blocks, and `array` has a valid shape but no meaningful
        /// dtype.
        std::optional<BlockKind> blocks{};

        std::int64_t count() const;          ///< number of elements
        std::string_view type_name() const;  ///< "F32", "Q4_K"
    };

    /// A single .safetensors file. Throws FileError; every length is checked against the file's size.
    static std::shared_ptr<const WeightFiles> open_file(const std::filesystem::path& path);
    /// A folder's model.safetensors, or the files named by its model.safetensors.index.json. Throws FileError: Schema if it has neither,
    /// and if a tensor is not in the file that the index names.
    static std::shared_ptr<const WeightFiles> open_folder(const std::filesystem::path& folder);

    /// A GGUF file, or all parts NAME-00001-of-0000N.gguf of a split one, of which any may be given. Puts the first part's header into
    /// `file`. Throws FileError like GgufFile::read(), Unsupported naming a tensor of an unsupported type, Schema for parts that do not
    /// belong together, Io for a missing part.
    static std::shared_ptr<const WeightFiles> open_gguf(const std::filesystem::path& path, GgufFile& file);

    const std::vector<Tensor>& tensors() const { return tensors_; }
    /// nullptr if there is no such tensor.
    const Tensor* find(std::string_view name) const;
    std::size_t file_count() const { return files_.size(); }
    const std::string& file_name(const Tensor& tensor) const { return files_[tensor.file]->name(); }
    std::uint64_t bytes() const;
    /// The files as they were opened.
    std::vector<FileMark> marks() const;
    /// Throws FileError(Io) if a file lost bytes or changed since it was opened, which invalidates everything computed from it.
    void require_intact() const;

private:
    WeightFiles() = default;
    void add_file(const std::filesystem::path& path);
    GgufFile add_gguf(const std::filesystem::path& path);
    /// Builds the index by name; throws FileError(Duplicate) if two parts of a GGUF model have the same tensor.
    void index_tensors();

    std::vector<std::unique_ptr<const MappedFile>> files_;
    std::vector<Tensor> tensors_;
    std::unordered_map<std::string_view, std::size_t> places_;  ///< by name; keys refer to the tensors' names
};

}  // namespace attn
