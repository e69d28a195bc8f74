#pragma once
/// The weights of a checkpoint, in one .safetensors or GGUF file or in several, mapped and not copied.

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
    /// A tensor and the file that it stands in. Its bytes need not be aligned to its elements.
    struct Tensor {
        ArrayView array;
        std::size_t file = 0;
        /// How the numbers are packed; every row fills its blocks. Then the array's type means nothing, but its shape is theirs.
        std::optional<BlockKind> blocks{};

        std::int64_t count() const;          ///< of numbers
        std::string_view type_name() const;  ///< "F32", "Q4_K"
    };

    /// One .safetensors file. Throws FileError; every length is checked against the file's size.
    static std::shared_ptr<const WeightFiles> open_file(const std::filesystem::path& path);
    /// A folder's model.safetensors, or the files that its model.safetensors.index.json names. Throws FileError, Schema when it has
    /// neither, and for a tensor that is not where the index says.
    static std::shared_ptr<const WeightFiles> open_folder(const std::filesystem::path& folder);

    /// A GGUF file, or all NAME-00001-of-0000N.gguf that belong to it: any of them stands for the model. What the first one says of itself
    /// is put in `file`. Throws FileError as GgufFile::read() does, Unsupported naming a tensor that is packed in a way that cannot be
    /// read, Schema for files that do not belong together, Io for one that is missing.
    static std::shared_ptr<const WeightFiles> open_gguf(const std::filesystem::path& path, GgufFile& file);

    const std::vector<Tensor>& tensors() const { return tensors_; }
    /// nullptr when there is no such tensor.
    const Tensor* find(std::string_view name) const;
    std::size_t file_count() const { return files_.size(); }
    const std::string& file_name(const Tensor& tensor) const { return files_[tensor.file]->name(); }
    std::uint64_t bytes() const;
    /// Throws FileError(Io) when a file lost bytes or was changed since it was opened: what was computed with them is worth nothing.
    void require_intact() const;

private:
    WeightFiles() = default;
    void add_file(const std::filesystem::path& path);
    GgufFile add_gguf(const std::filesystem::path& path);
    /// Makes tensors findable; throws FileError(Duplicate) where two files of a GGUF model hold the same.
    void index_tensors();

    std::vector<std::unique_ptr<const MappedFile>> files_;
    std::vector<Tensor> tensors_;
    std::unordered_map<std::string_view, std::size_t> places_;  ///< by name; the names are the tensors'
};

}  // namespace attn
