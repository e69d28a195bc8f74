#pragma once
/// The contents of a GGUF file other than the weights: metadata, and the table of tensors.
/// Format: https://github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3, little-endian.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/tensor/number_kind.hpp"

namespace attn {

/// How a tensor's numbers are stored.
struct GgufType {
    std::string_view name;  ///< "Q4_K"
    BlockSize block;
};
/// nullptr for an unknown type.
const GgufType* gguf_type(std::uint32_t id);

struct GgufTensor {
    std::string name;
    std::uint32_t type = 0;            ///< see gguf_type()
    std::vector<std::int64_t> shape;   ///< row-major, innermost last: [out,in]
    std::uint64_t begin = 0, end = 0;  ///< byte range in the file
};

class GgufFile {
public:
    /// Reads header, metadata and tensor table, but no tensor data. Throws FileError: every count and offset is checked against the file's
    /// size before use, and impossible names, types and byte ranges are refused.
    static GgufFile read(const std::filesystem::path& path);
    static GgufFile read(ByteSource& source);

    const std::string& source() const { return source_; }
    std::uint32_t version() const { return version_; }
    /// nullptr if there is no such key. Arrays become lists, byte arrays strings.
    const Json* find(std::string_view key) const;
    /// The string under `key`; throws FileError if it is missing or not a string.
    const std::string& text(std::string_view key) const;
    /// The list under `key`; throws FileError if it is missing or not a list.
    const Json::List& list(std::string_view key) const;
    const Json::Members& metadata() const { return metadata_; }
    const std::vector<GgufTensor>& tensors() const { return tensors_; }

private:
    friend class GgufReader;
    std::string source_;
    std::uint32_t version_ = 0;
    Json::Members metadata_;
    std::vector<GgufTensor> tensors_;
};

}  // namespace attn
