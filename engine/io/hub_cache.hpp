#pragma once
/// Hugging Face's cache: for each model a folder models--ORG--NAME, with snapshots/COMMIT containing links into blobs, and refs/main naming
/// the current snapshot. Nothing is ever downloaded. Layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache

#include <filesystem>
#include <string>

namespace attn {

/// Whether the path is a model's folder in the cache, or its subfolder "snapshots".
bool is_hub_entry(const std::filesystem::path& path);

/// For a model's folder in the cache, the snapshot named by refs/main, or without refs/main the newest one; if that contains a GGUF file
/// and no config.json, the GGUF file. Any other path is returned unchanged. Throws FileError if there is no snapshot, if refs/main names
/// one that does not exist, for several GGUF files, for a broken link in the snapshot, and for the whole cache.
std::filesystem::path model_in_cache(const std::filesystem::path& path);

/// Throws FileError if the path is the whole cache, or the folder whose "hub" it is, and names one of its models.
void refuse_whole_cache(const std::filesystem::path& path);

/// "ORG/NAME" for a path that is, or is inside, a folder models--ORG--NAME of the cache; else "".
std::string hub_name(const std::filesystem::path& path);

}  // namespace attn
