#pragma once
/// A published model with a tokenizer, and the same model with numbers rounded to a few bits.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace attn::test {

inline std::filesystem::path fine_model() { return std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2"; }

/// Copies it to a folder with four fractional bits per number.
inline std::filesystem::path coarser_model(const std::filesystem::path& folder) {
    for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"})
        std::filesystem::copy_file(fine_model() / name, folder / name, std::filesystem::copy_options::overwrite_existing);
    std::ifstream file(fine_model() / "model.safetensors", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (std::size_t at = sizeof header + header; at + sizeof(std::uint32_t) <= bytes.size(); at += sizeof(std::uint32_t)) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, bytes.data() + at, sizeof bits);
        bits &= 0xFFF80000U;
        std::memcpy(bytes.data() + at, &bits, sizeof bits);
    }
    std::ofstream(folder / "model.safetensors", std::ios::binary) << bytes;
    return folder;
}

}  // namespace attn::test
