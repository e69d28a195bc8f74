#include "app/session/files/file_preview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>

#include "app/session/document/document_json.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/lessons/lesson.hpp"
#include "engine/families/family.hpp"
#include "engine/families/gguf_model.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_lines.hpp"
#include "engine/io/safetensors_header.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/run_folder.hpp"
#include "engine/train/run_json.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kNamedTensors = 3, kFirstWords = 72;
constexpr std::uint64_t kStartOfText = 4096;

std::string counted(std::size_t count, std::string_view one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

/// Such as "2 layers of 4 heads, width 64".
std::string size_words(const Config& config) {
    return fmt::format("{} of {}, width {}", counted(static_cast<std::size_t>(config.num_layers), "layer"),
                       counted(static_cast<std::size_t>(config.num_heads), "head"), config.d_model);
}

std::string json_text(const std::filesystem::path& path) { return read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}); }

/// Reads only the config.json of a published model.
std::string model_words(const std::filesystem::path& folder) {
    const ModelFolder model = read_model_config(folder);
    return fmt::format("{} model: {}, vocabulary {}", model.family->name, size_words(model.config), model.config.vocab_size);
}

/// Reads the metadata and the tensor table of a GGUF file, or of all parts of a split one.
std::string gguf_words(const std::filesystem::path& path) {
    GgufFile file;
    const std::shared_ptr<const WeightFiles> weights = WeightFiles::open_gguf(path, file);
    const GgufModel model = read_gguf_model(file, *weights);
    std::map<std::string_view, std::int64_t> numbers;  // by tensor type
    for (const WeightFiles::Tensor& tensor : weights->tensors()) numbers[tensor.type_name()] += tensor.count();
    const auto most = std::max_element(numbers.begin(), numbers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return fmt::format("{} model: {}, vocabulary {}, mostly {}{}", model.family->name, size_words(model.config), model.config.vocab_size,
                       most->first, weights->file_count() > 1 ? fmt::format(", in {} files", weights->file_count()) : "");
}

std::string tensor_words(const SafetensorsHeader& header) {
    std::string names;
    for (std::size_t i = 0; i < std::min(header.entries.size(), kNamedTensors); ++i)
        names += fmt::format("{}{} {}", i == 0 ? ": " : ", ", escaped(header.entries[i].name), shape_text(header.entries[i].shape));
    return counted(header.entries.size(), "tensor") + names + (header.entries.size() > kNamedTensors ? " …" : "");
}

/// Describes one of our own training runs by its metadata, any other file by its tensors.
std::string safetensors_words(const std::filesystem::path& path) {
    InputFile input(path, {.stop = {}});
    const SafetensorsHeader header = read_safetensors_header(input);
    const auto settings = header.metadata.find("settings"), steps = header.metadata.find("steps");
    if (header.metadata.count("attnscope") == 0 || settings == header.metadata.end()) return tensor_words(header);
    const RunSettings run = run_settings_from_json(settings->second, escaped(path.native(), 0));
    return fmt::format("Training run: {}, step {}, {}", task_info(run.task.kind).title,
                       steps == header.metadata.end() ? "?" : escaped(steps->second), size_words(run.model));
}

std::string words_for(const std::filesystem::path& path);

std::string folder_words(const std::filesystem::path& path) {
    if (OpenedModel::is_in(path)) {
        const std::filesystem::path model = model_in_cache(path);
        if (!std::filesystem::is_directory(model)) return words_for(model);
        return model_words(model);
    }
    if (OpenedRecording::is_in(path))
        return fmt::format("Recording of your own code: {}", counted(OpenedRecording::open(path)->steps().size(), "step"));
    std::error_code unknown;
    if (!std::filesystem::exists(path / kCheckpointName, unknown)) return "";
    expect_run(path);
    return safetensors_words(path / kCheckpointName);
}

std::string json_words(const std::filesystem::path& path) {
    if (is_lesson(path)) {
        const std::string text = json_text(path), source = escaped(path.native(), 0);
        const Lesson lesson = telling_lines(text, source, [&] { return parse_lesson(text, source); });
        return fmt::format("Lesson: {}, {}", lesson.title, counted(lesson.steps.size(), "step"));
    }
    const JsonObject object(json_text(path), escaped(path.native(), 0));
    const Json* texts = object.whole().find("texts");
    const std::size_t count = texts != nullptr && texts->is_list() ? texts->items().size() : 0;
    std::string words = "Document";
    if (count > 0 && texts->items().front().is_string()) words += ": “" + escaped(texts->items().front().text(), kFirstWords) + "”";
    return count > 1 ? fmt::format("{} and {} more", words, counted(count - 1, "text")) : words;
}

std::string text_words(const std::filesystem::path& path) {
    InputFile input(path, {.stop = {}});
    std::string start(std::min(input.size(), kStartOfText), '\0');
    input.read(std::as_writable_bytes(std::span(start)));
    if (start.find('\0') != std::string::npos)
        throw FileError(FileFault::Unsupported, escaped(path.native(), 0), "", "this is neither text nor a file that attnscope can read");
    const std::vector<std::string> lines = lines_with_text(start, 1, kFirstWords);
    if (lines.empty()) throw FileError(FileFault::Schema, escaped(path.native(), 0), "", "it contains no text");
    return "Text: “" + escaped(lines.front(), kFirstWords) + "”";
}

std::string words_for(const std::filesystem::path& path) {
    std::error_code unknown;
    const std::filesystem::path folder = folder_of_part(path);
    if (folder != path || std::filesystem::is_directory(path, unknown)) return folder_words(folder);
    if (is_gguf_file(path)) return gguf_words(path);
    const std::string extension = path.extension().string();
    if (extension == ".safetensors") return safetensors_words(path);
    if (extension == ".npz") return "NumPy arrays, for the doctor";
    if (extension == ".json") return json_words(path);
    return text_words(path);
}

}  // namespace

FilePreview preview_of(const std::filesystem::path& path) {
    try {
        return {path, words_for(path), false};
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        std::error_code unknown;
        return {path, error.what(), true, std::filesystem::exists(path, unknown) || unknown};
    }
}

}  // namespace attn::app
