#pragma once
/// What a GGUF file says of itself: metadata, and where its tensors are.
/// Format: https://github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3, little-endian.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"

namespace attn {

/// How a tensor's numbers are packed.
struct GgufType {
    std::string_view name;        ///< "Q4_K"
    std::int64_t numbers, bytes;  ///< of one block
};
/// nullptr for a type that is not known.
const GgufType* gguf_type(std::uint32_t id);

struct GgufTensor {
    std::string name;
    std::uint32_t type = 0;            ///< see gguf_type()
    std::vector<std::int64_t> shape;   ///< row-major, the innermost last, as [out,in]
    std::uint64_t begin = 0, end = 0;  ///< bytes of the file
};

class GgufFile {
public:
    /// Reads header, metadata and the table of tensors, no tensor. Throws FileError: every count and offset is checked against the
    /// file's size before it is used, and names, types and places of tensors that cannot be are refused.
    static GgufFile read(const std::filesystem::path& path);
    static GgufFile read(ByteSource& source);

    const std::string& source() const { return source_; }
    std::uint32_t version() const { return version_; }
    /// nullptr when there is no such key. Arrays are lists, those of single bytes texts of these bytes.
    const Json* find(std::string_view key) const;
    /// The text under `key`; throws FileError when it is missing or no text.
    const std::string& text(std::string_view key) const;
    /// The list under `key`; throws FileError when it is missing or no list.
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
