#pragma once
/// Hugging Face's cache: a folder models--ORG--NAME for each model, with snapshots/COMMIT of links into blobs, and refs/main, which names
/// the snapshot that counts. Nothing is ever fetched. Layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache

#include <filesystem>
#include <string>

namespace attn {

/// Whether this is a model's folder of the cache, or the folder "snapshots" in it.
bool is_hub_entry(const std::filesystem::path& path);

/// Of a model's folder in the cache the snapshot that refs/main names, or without refs/main the newest; of one whose snapshot holds a GGUF
/// file and no config.json, that file. Any other path as it is. Throws FileError for an entry without a snapshot, a refs/main that names
/// none that is there, several GGUF files, and a file of the snapshot whose link leads nowhere.
std::filesystem::path model_in_cache(const std::filesystem::path& path);

/// "ORG/NAME" of a path in the cache that lies in (or is) a folder models--ORG--NAME; "" of any other.
std::string hub_name(const std::filesystem::path& path);

}  // namespace attn
