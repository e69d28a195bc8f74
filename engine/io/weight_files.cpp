#include "engine/io/weight_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/io/input_file.hpp"
#include "engine/io/json_object.hpp"
#include "engine/io/safetensors_header.hpp"

namespace attn {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kPickled = "pytorch_model.bin";
constexpr std::size_t kMaxFiles = 512;

bool holds(const std::filesystem::path& folder, const char* name) { return has_entry(folder / name); }

[[noreturn]] void refuse_files(const std::string& source, const std::string& count) {
    throw FileError(FileFault::Limit, source, "", fmt::format("names {} files; at most {} are read", count, kMaxFiles));
}

/// Refuses an index with far too many files before anything is built from it, which would take many times its size.
void expect_few_files(std::string_view text, const std::string& source) {
    constexpr std::size_t kOtherValues = 64;  // metadata
    std::set<std::string_view> values;
    bool is_value = false;
    for (std::size_t i = 0; i < text.size() && values.size() <= kMaxFiles + kOtherValues; ++i) {
        if (text[i] == ':') is_value = true;
        if (text[i] == ',' || text[i] == '{') is_value = false;
        if (text[i] != '"') continue;
        const std::size_t begin = i + 1;
        for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
        if (is_value) values.insert(text.substr(begin, std::min(i, text.size()) - begin));
    }
    if (values.size() > kMaxFiles + kOtherValues) refuse_files(source, fmt::format("more than {}", kMaxFiles));
}

/// The index's map from tensors to files.
std::map<std::string, std::string> read_index(const std::filesystem::path& path) {
    const std::string source = escaped(path.native(), 0);
    const std::string text = read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}});
    expect_few_files(text, source);
    JsonObject index = JsonObject::of(Json::parse(text, source, kSettingsLimits), source);
    JsonObject map = index.object("weight_map");
    std::map<std::string, std::string> files;
    for (const auto& [tensor, file] : map.whole().members()) {
        if (!file.is_string()) map.fail(tensor, "expected a file name", FileFault::Format);
        const std::string& name = file.text();
        // Shards must be in the index's folder: any other path could refer to an arbitrary file the user can read.
        if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
            map.fail(tensor, fmt::format("\"{}\" is not the name of a file in the same folder", escaped(name)), FileFault::Schema);
        files[tensor] = name;
    }
    if (files.empty()) index.fail("weight_map", "is empty", FileFault::Schema);
    return files;
}

}  // namespace

void WeightFiles::add_file(const std::filesystem::path& path) {
    auto file = std::make_unique<const MappedFile>(path);
    MemoryInput input(file->bytes(), file->name());
    const SafetensorsHeader header = read_safetensors_header(input);
    file->require_intact();
    const std::span<const std::byte> data = file->bytes().subspan(static_cast<std::size_t>(input.position()));
    for (const SafetensorsEntry& entry : header.entries)
        tensors_.push_back({{entry.name, entry.dtype, entry.shape,
                             data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin))},
                            files_.size()});
    files_.push_back(std::move(file));
}

void WeightFiles::index_tensors() {
    for (std::size_t i = 0; i < tensors_.size(); ++i)
        if (!places_.emplace(tensors_[i].array.name, i).second)
            throw FileError(FileFault::Duplicate, file_name(tensors_[i]), escaped(tensors_[i].array.name),
                            fmt::format("is also in {}", file_name(*find(tensors_[i].array.name))));
}

std::int64_t WeightFiles::Tensor::count() const {
    std::int64_t count = 1;
    for (const std::int64_t size : array.shape) count *= size;
    return count;
}

std::string_view WeightFiles::Tensor::type_name() const { return blocks ? block_format(*blocks).name : dtype_name(array.dtype); }

std::shared_ptr<const WeightFiles> WeightFiles::open_file(const std::filesystem::path& path) {
    const std::shared_ptr<WeightFiles> weights(new WeightFiles);
    weights->add_file(path);
    weights->index_tensors();
    return weights;
}

std::shared_ptr<const WeightFiles> WeightFiles::open_folder(const std::filesystem::path& folder) {
    if (holds(folder, kSingle)) return open_file(folder / kSingle);  // transformers, too, prefers it to shards
    if (!holds(folder, kIndex)) {
        const bool pickled = holds(folder, kPickled) || holds(folder, "pytorch_model.bin.index.json");
        throw FileError(FileFault::Schema, escaped(folder.native(), 0), "",
                        fmt::format("has no readable weights: expected {} or {}{}", kSingle, kIndex,
                                    pickled ? fmt::format("; {} holds programs and is not read", kPickled) : ""));
    }
    const std::map<std::string, std::string> index = read_index(folder / kIndex);
    std::map<std::string, std::size_t> files;
    for (const auto& [tensor, file] : index) files.try_emplace(file, 0);
    const std::string source = escaped((folder / kIndex).native(), 0);
    if (files.size() > kMaxFiles) refuse_files(source, std::to_string(files.size()));

    const std::shared_ptr<WeightFiles> weights(new WeightFiles);
    for (auto& [file, place] : files) {
        place = weights->files_.size();
        weights->add_file(folder / file);
    }
    // If several files have a tensor, the index decides; a tensor that it does not name is not part of the model.
    std::erase_if(weights->tensors_, [&](const Tensor& tensor) {
        const auto entry = index.find(tensor.array.name);
        return entry == index.end() || files.at(entry->second) != tensor.file;
    });
    weights->index_tensors();
    for (const auto& [tensor, file] : index)
        if (weights->find(tensor) == nullptr)
            throw FileError(FileFault::Schema, source, escaped(tensor), fmt::format("is not in {}", escaped(file)));
    return weights;
}

const WeightFiles::Tensor* WeightFiles::find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &tensors_[found->second];
}

std::vector<FileMark> WeightFiles::marks() const {
    std::vector<FileMark> marks;
    for (const auto& file : files_) marks.push_back(file->mark());
    return marks;
}

std::uint64_t WeightFiles::bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& file : files_) bytes += file->bytes().size();
    return bytes;
}

void WeightFiles::require_intact() const {
    for (const auto& file : files_) file->require_intact();
}

}  // namespace attn
