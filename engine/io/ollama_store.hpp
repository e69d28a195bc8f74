#pragma once
/// Ollama's store: manifests/REGISTRY/NAMESPACE/MODEL/TAG are JSON files that name a model's layers, which lie in blobs/sha256-HEX; the
/// layer with the weights is a GGUF file. Nothing is ever downloaded. Layout: github.com/ollama/ollama, server/modelpath.go and
/// manifest.go.

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

struct OllamaModel {
    std::string name;            ///< as Ollama calls it: "llama3.2:1b", "ORG/NAME:TAG" or "hf.co/ORG/NAME:TAG"
    std::filesystem::path file;  ///< the GGUF file; it may be missing
};

/// The models in a store's folder, by name. Manifests that cannot be read are left out. Never throws except for lack of memory.
std::vector<OllamaModel> ollama_models(const std::filesystem::path& store);

/// The store of a file .../blobs/sha256-HEX with manifests beside `blobs`; else empty.
std::filesystem::path ollama_store_of(const std::filesystem::path& file);

/// The name of a model whose file is in a store, the first of several; "" for any other file. Never throws except for lack of memory.
std::string ollama_name(const std::filesystem::path& file);

}  // namespace attn
