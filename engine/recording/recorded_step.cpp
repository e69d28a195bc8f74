#include "engine/recording/recorded_step.hpp"

#include <charconv>

#include "engine/io/file_error.hpp"
#include "engine/io/npy.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/recording/joined_arrays.hpp"

namespace attn::recording {
namespace {

NamedArray without_values(const NamedArray& array) {
    NamedArray header;
    header.name = array.name;
    header.dtype = array.dtype;
    header.shape = array.shape;
    return header;
}

}  // namespace

std::int64_t count_of(const NamedArray& header) {
    return static_cast<std::int64_t>(*checked_bytes(header.shape, header.dtype) / dtype_size(header.dtype));
}

RecordedStep::RecordedStep(const StepFile& file) : source_(escaped(file.path.native(), 0)) {
    const std::string extension = file.path.extension().string();
    if (!file.beside.empty()) {
        open_parts(file);
    } else if (!file.bytes.empty()) {
        MemoryInput input(file.bytes, source_);
        take(read_safetensors(input));
    } else if (extension == ".npz") {
        take(read_npz(file.path));
    } else if (extension == ".npy") {
        take({.source = source_, .metadata = {}, .arrays = {read_npy(file.path)}, .skipped = {}});
    } else {
        open_safetensors(file.path);
    }
    read_metadata();
    for (std::size_t i = 0; i < tensors_.size(); ++i) places_.emplace(tensors_[i].name, i);
}

void RecordedStep::open_parts(const StepFile& file) {
    parts_.emplace_back(StepFile{file.step, file.rank, file.path});
    for (const std::filesystem::path& other : file.beside) parts_.emplace_back(StepFile{file.step, file.rank, other});
    const RecordedStep& first = parts_.front();
    metadata_ = first.metadata_;
    if (file.joints == nullptr || first.graph_ >= file.joints->size()) return;
    for (const auto& [name, joint] : (*file.joints)[first.graph_]) {
        std::vector<const NamedArray*> parts;
        for (const RecordedStep& part : parts_)
            if (const NamedArray* header = part.find(name)) parts.push_back(header);
        if (parts.size() != parts_.size()) continue;
        std::optional<NamedArray> whole = joined_header(parts, joint);
        if (!whole) continue;
        tensors_.push_back(std::move(*whole));
        joints_.push_back(joint);
    }
}

void RecordedStep::take(ArrayFile file) {
    for (const NamedArray& array : file.arrays) tensors_.push_back(without_values(array));
    metadata_.insert(file.metadata.begin(), file.metadata.end());
    whole_ = std::move(file.arrays);
}

void RecordedStep::open_safetensors(const std::filesystem::path& path) {
    input_ = std::make_unique<InputFile>(path);
    const SafetensorsHeader header = read_safetensors_header(*input_);
    const std::uint64_t data = input_->position();
    for (const SafetensorsEntry& entry : header.entries) {
        tensors_.push_back({entry.name, entry.dtype, entry.shape, {}});
        begins_.push_back(data + entry.begin);
    }
    metadata_.insert(header.metadata.begin(), header.metadata.end());
}

void RecordedStep::read_metadata() {
    if (const std::string* number = metadata("graph")) std::from_chars(number->data(), number->data() + number->size(), graph_);
    const std::string* complete = metadata("complete");
    complete_ = complete == nullptr || *complete != "no";
}

const std::string* RecordedStep::metadata(std::string_view key) const {
    const auto found = metadata_.find(key);
    return found == metadata_.end() ? nullptr : &found->second;
}

const NamedArray* RecordedStep::find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &tensors_[found->second];
}

NamedArray RecordedStep::read(std::string_view name) const {
    const NamedArray* header = find(name);
    if (header == nullptr) throw FileError(FileFault::Schema, source_, "", "has no tensor \"" + escaped(name) + "\"");
    const auto place = static_cast<std::size_t>(header - tensors_.data());
    if (!parts_.empty()) {
        std::vector<NamedArray> parts;
        for (const RecordedStep& part : parts_) parts.push_back(part.read(name));
        return joined_values(parts, joints_[place], source_);
    }
    if (input_ == nullptr) return whole_[place];
    NamedArray array = *header;
    array.bytes.resize(static_cast<std::size_t>(*checked_bytes(array.shape, array.dtype)));
    input_->seek(begins_[place]);
    input_->read(array.bytes);
    input_->expect_unchanged();
    return array;
}

}  // namespace attn::recording
