#include "app/session/files/readable_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "app/session/document/document_json.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/recording_document.hpp"
#include "engine/doctor/dump.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_lines.hpp"
#include "engine/io/json_object.hpp"
#include "engine/io/safetensors_header.hpp"
#include "engine/io/text_file.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kStart = 16;  // bytes read to identify the kind of file
constexpr std::uint64_t kMostHeader = std::uint64_t{16} << 20;

FileError refuse(const std::filesystem::path& path, FileFault fault, std::string_view problem) {
    return {fault, escaped(path.native(), 0), "", problem};
}

std::string first_bytes(InputFile& file, std::size_t count) {
    std::string bytes(std::min<std::uint64_t>(count, file.size()), '\0');
    file.read(std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

/// A checkpoint identifies itself by its metadata, GPT-2 by the name of its embedding; everything else is a dump.
FileKind kind_of_safetensors(const std::filesystem::path& path, InputFile& file, const std::string& start) {
    std::uint64_t length = 0;
    if (start.size() < sizeof length) throw refuse(path, FileFault::Truncated, "it is too short to hold a header");
    std::memcpy(&length, start.data(), sizeof length);
    if (length > file.size() - sizeof length) throw refuse(path, FileFault::Truncated, "it ends within its header");
    if (length > kMostHeader) throw refuse(path, FileFault::Limit, "its header is longer than 16 MiB");
    file.seek(sizeof length);
    const std::string header = first_bytes(file, length);
    const SafetensorsHeader parsed =
        parse_safetensors_header(header, escaped(path.native(), 0), sizeof length, file.size() - sizeof length - length);
    if (parsed.metadata.count("attnscope") > 0) return FileKind::Run;
    for (const SafetensorsEntry& entry : parsed.entries)
        if (entry.name.ends_with("wte.weight")) return FileKind::Run;
    return FileKind::Dump;
}

}  // namespace

void expect_run(const std::filesystem::path& folder, const std::stop_token& stop) {
    const std::filesystem::path model = folder / kCheckpointName;
    std::error_code unknown;
    if (!std::filesystem::exists(model, unknown)) {
        refuse_whole_cache(folder);
        throw refuse(folder, FileFault::Schema,
                     "this folder holds neither a training run (model.safetensors) nor a published model (config.json, weights and a "
                     "tokenizer)");
    }
    InputFile input(model, {.stop = stop});
    if (kind_of_safetensors(model, input, first_bytes(input, kStart)) != FileKind::Run)
        throw refuse(folder, FileFault::Schema,
                     "this folder holds no training run: its model.safetensors is neither a checkpoint of attnscope nor a GPT-2 model, and "
                     "there is no config.json to say which published model it is");
}

namespace {

bool begins_with(const std::string& bytes, std::string_view start) { return bytes.compare(0, start.size(), start) == 0; }

JsonObject object_in(const std::filesystem::path& path) {
    const std::string text = read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}});
    return telling_lines(text, path.string(), [&] { return JsonObject(text, path.string()); });
}

void expect_format(const std::filesystem::path& path) {
    if (object_in(path).has("format")) return;
    throw refuse(path, FileFault::Schema, "it is JSON, but neither a document nor a lesson of attnscope");
}

}  // namespace

std::string and_left_out(std::string notice, const std::vector<std::string>& left_out) {
    for (const std::string& what : left_out) notice += " " + what;
    return notice;
}

bool is_lesson(const std::filesystem::path& path) { return object_in(path).has("steps"); }

namespace {

/// Whether it is the checkpoint of a run of which there is more beside it.
bool is_whole_run(const std::filesystem::path& path) {
    if (path.filename() != kCheckpointName) return false;
    std::error_code unknown;
    const auto is_there = [&](std::string_view name) { return std::filesystem::exists(path.parent_path() / name, unknown); };
    const bool has_more = is_there(kCurvesName) || is_there(kMomentsName) || is_there(kRunDocumentName);
    return has_more && is_run(path);
}

}  // namespace

std::filesystem::path folder_of_part(const std::filesystem::path& path) {
    const std::filesystem::path folder = folder_of_model_file(path);
    const bool is_model = folder != path && OpenedModel::is_in(folder);
    const bool is_of_run = path.filename() == "config.json" && is_run(folder);
    if (is_whole_run(path)) return path.parent_path().empty() ? "." : path.parent_path();
    return is_model || is_of_run ? folder : path;
}

namespace {

/// Whether there are arrays to look at, but none whose name the doctor knows. What cannot be read is left to the doctor, who says why.
bool has_no_attention(const std::filesystem::path& path) {
    try {
        ArrayFile headers;
        const recording::RecordedStep step({0, 0, path});
        for (const NamedArray& array : step.tensors())
            if (recording::count_of(array) > 1) headers.arrays.push_back(array);
        return !headers.arrays.empty() && doctor::sort_dump(headers).groups.empty();
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

ReadableFile read_any_file(const std::filesystem::path& given, const std::stop_token& stop, const ModelPlaces& places) {
    ReadableFile file;
    const std::filesystem::path path = file.path = folder_of_part(given);
    std::error_code unknown;
    if (OpenedModel::is_in(file.path)) {
        file.kind = FileKind::Model;
        file.document = document_of_model(OpenedModel::open(given));
        return file;
    }
    if (OpenedRecording::is_in(path)) {
        file.kind = FileKind::Recording;
        file.document = document_of_recording(OpenedRecording::open(path));
        return file;
    }
    if (std::filesystem::is_directory(path, unknown)) {
        expect_run(path, stop);
        file.kind = FileKind::Run;
        return file;
    }
    InputFile input(path, {.stop = stop});
    const std::string start = first_bytes(input, kStart);
    const auto as_recording = [&] {
        file.kind = FileKind::Recording;
        file.document = document_of_recording(OpenedRecording::open(path));
        return file;
    };
    if (path.extension() == ".safetensors") {
        file.kind = kind_of_safetensors(path, input, start);
        return file.kind == FileKind::Dump && has_no_attention(path) ? as_recording() : file;
    }
    if (begins_with(start, "PK\x03\x04") || begins_with(start, "PK\x05\x06")) {  // the latter: an empty archive
        if (path.extension() != ".npz") throw refuse(path, FileFault::Unsupported, "the only archives that can be read are .npz");
        file.kind = FileKind::Dump;
        return has_no_attention(path) ? as_recording() : file;
    }
    if (begins_with(start, "\x93NUMPY")) {
        if (path.extension() == ".npy") return as_recording();
        throw refuse(path, FileFault::Unsupported, "the name of an array's file must end in .npy");
    }
    if (path.extension() == ".json") {
        if (is_lesson(path)) {
            file.kind = FileKind::Lesson;
            file.lesson = find_lesson(path.string());
            return file;
        }
        expect_format(path);
        file.kind = FileKind::Document;
        ModelPlaces searched = places;
        searched.moved = &file.moved;
        file.document = load_document(path, &file.left_out, searched);
        return file;
    }
    file.text = std::make_shared<const std::string>(read_text_file(path, {.max_bytes = std::uint64_t{64} << 20, .stop = stop}).text);
    if (lines_with_text(*file.text, 1).empty()) throw refuse(path, FileFault::Schema, "it contains no text");
    return file;
}

namespace {

/// Calls `use` with each non-blank line until it returns false.
template <class Use>
void for_lines_with_text(std::string_view text, Use use) {
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
        end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        if (line.find_first_not_of(" \t\v\f\r") != std::string_view::npos && !use(line)) return;
    }
}

}  // namespace

std::size_t count_lines_with_text(std::string_view text) {
    std::size_t count = 0;
    for_lines_with_text(text, [&](std::string_view) { return ++count > 0; });
    return count;
}

std::vector<std::string> lines_with_text(std::string_view text, std::size_t most, std::size_t longest) {
    std::vector<std::string> lines;
    if (most == 0) return lines;
    for_lines_with_text(text, [&](std::string_view line) {
        if (line.size() > longest) {
            std::size_t cut = longest;
            while (cut > 0 && (static_cast<unsigned char>(line[cut]) & 0xC0U) == 0x80U) --cut;
            line = line.substr(0, cut);
        }
        lines.emplace_back(line);
        return lines.size() < most;
    });
    return lines;
}

}  // namespace attn::app
