#include "engine/train/checkpoint.hpp"

#include <Eigen/Core>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "engine/families/gpt2_weights.hpp"
#include "engine/families/stored_parameters.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_fields.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/io/safetensors_header.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/train/run_json.hpp"

namespace attn {
namespace {

using CheckpointMetadata = std::map<std::string, std::string>;

constexpr const char *kFormatKey = "attnscope", *kFormat = "attnscope-checkpoint/1";
constexpr const char *kSettings = "settings", *kVocabulary = "vocabulary", *kSteps = "steps", *kPlateau = "plateau", *kName = "name",
                     *kCourse = "course", *kChecksum = "checksum";
constexpr std::string_view kFirstMoments = "optimizer.exp_avg.", kSecondMoments = "optimizer.exp_avg_sq.", kText = "task.text";
constexpr std::uint64_t kMaxConfigJson = 1 << 20;
constexpr std::size_t kLongestRunName = 60;

/// 64-bit FNV-1a over 8 bytes at a time: any single flipped bit changes it, and it is cheap compared with writing the file.
class Checksum {
public:
    void add(std::span<const std::byte> bytes) {
        add(bytes.size());
        for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data(), sizeof(word));
            add(word);
        }
        for (const std::byte byte : bytes) add(std::to_integer<std::uint64_t>(byte));
    }
    void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
    void add(std::uint64_t word) {
        constexpr std::uint64_t kPrime = 0x100000001B3U;
        state_ = (state_ ^ word) * kPrime;
        state_ ^= state_ >> 32U;  // multiplication carries upwards only
    }
    std::string text() const { return fmt::format("{:016x}", state_); }

private:
    std::uint64_t state_ = 0xCBF29CE484222325U;
};

std::string checksum(const CheckpointMetadata& metadata, std::span<const ArrayView> arrays) {
    Checksum sum;
    for (const auto& [key, value] : metadata) {
        if (key == kChecksum) continue;
        sum.add(key);
        sum.add(value);
    }
    for (const ArrayView& array : arrays) {
        sum.add(array.name);
        sum.add(dtype_name(array.dtype));
        for (const std::int64_t size : array.shape) sum.add(static_cast<std::uint64_t>(size));
        sum.add(array.bytes);
    }
    return sum.text();
}

Json vocabulary_json(const std::string& file, const Checkpoint& checkpoint) {
    Json symbols = Json::list(), bytes = Json::list();
    for (const std::string& symbol : checkpoint.vocabulary) {
        if (checkpoint.tokenizer == TokenizerKind::Bpe) {
            symbols.push_back(letters_of_bytes(symbol));
        } else if (find_invalid_utf8(symbol)) {
            if (symbol.size() != 1)
                throw FileError(FileFault::Format, file, "vocabulary", fmt::format("\"{}\" is not a symbol", escaped(symbol)));
            bytes.push_back({symbols.size(), static_cast<unsigned char>(symbol[0])});
            symbols.push_back("");
        } else {
            symbols.push_back(symbol);
        }
    }
    return {{"kind", tokenizer_name(checkpoint.tokenizer)},
            {"special_tokens", checkpoint.special_tokens},
            {"symbols", std::move(symbols)},
            {"bytes", std::move(bytes)}};
}

void read_vocabulary(const std::string& text, const std::string& source, Checkpoint& checkpoint) {
    JsonObject object(text, source);
    if (!object.has("kind")) object.fail_missing("kind");
    read_enum(object, "kind", kTokenizerNames, checkpoint.tokenizer);
    if (!object.read("special_tokens", checkpoint.special_tokens)) object.fail_missing("special_tokens");
    if (!object.read("symbols", checkpoint.vocabulary)) object.fail_missing("symbols");
    std::vector<std::pair<std::int32_t, std::int32_t>> bytes;
    object.read("bytes", bytes, 0, static_cast<std::int32_t>(kMaxVocabulary));
    object.expect_no_more();
    for (const auto& [id, byte] : bytes) {
        if (id >= static_cast<std::int64_t>(checkpoint.vocabulary.size()) || byte < 0x80 || byte > 0xFF)
            object.fail("bytes", fmt::format("[{}, {}] is not an id and a byte from 128 to 255", id, byte));
        checkpoint.vocabulary[static_cast<std::size_t>(id)] = std::string(1, static_cast<char>(byte));
    }
    if (checkpoint.tokenizer == TokenizerKind::Bpe)
        for (std::string& symbol : checkpoint.vocabulary) {
            std::optional<std::string> spelled = bytes_of_letters(symbol);
            if (!spelled) object.fail("symbols", fmt::format("\"{}\" is not in byte-level letters", escaped(symbol)));
            symbol = std::move(*spelled);
        }
    try {
        Tokenizer::from_vocabulary(checkpoint.tokenizer, checkpoint.vocabulary, checkpoint.special_tokens);
    } catch (const ConfigError& error) {
        object.fail("symbols", error.what());
    }
}

/// Converts to half precision, as bit patterns.
std::vector<std::uint16_t> halves_of(std::span<const float> values, const std::string& file, const std::string& tensor) {
    std::vector<std::uint16_t> bits;
    bits.reserve(values.size());
    for (const float value : values) {
        const Eigen::half half(value);
        if (!Eigen::numext::isfinite(half))
            throw FileError(FileFault::Range, file, tensor, fmt::format("{} cannot be written in half precision", value));
        bits.push_back(Eigen::numext::bit_cast<std::uint16_t>(half));
    }
    return bits;
}

/// The tensors of a file as views of a buffer laid out like the parameters; those stored transposed are copied to `turned`.
void append_views(std::string_view prefix, const std::vector<StoredParameter>& stored, const float* values,
                  std::vector<std::vector<float>>& turned, std::vector<ArrayView>& views) {
    for (const StoredParameter& parameter : stored) {
        std::span<const float> data(values + parameter.place.offset(), static_cast<std::size_t>(parameter.place.shape().count()));
        if (!parameter.as_it_is()) data = turned.emplace_back(parameter.gathered(values));
        views.push_back({fmt::format("{}{}", prefix, parameter.name), DType::F32, parameter.shape(), std::as_bytes(data)});
    }
}

constexpr std::array kFloatingTypes = {DType::F32, DType::F64, DType::F16, DType::BF16};
constexpr std::span<const DType> kFloating(kFloatingTypes), kExact = kFloating.first(1);

/// The tensors of a file, taken out one by one.
class Tensors {
public:
    explicit Tensors(const ArrayFile& file) : file_(file) {
        for (const NamedArray& array : file.arrays) left_[array.name] = &array;
    }

    bool has_prefix(std::string_view prefix) const {
        const auto found = left_.lower_bound(prefix);
        return found != left_.end() && found->first.starts_with(prefix);
    }
    const NamedArray* take(std::string_view name) {
        const auto found = left_.find(name);
        if (found == left_.end()) return nullptr;
        const NamedArray* array = found->second;
        left_.erase(found);
        return array;
    }
    /// Records every tensor that is missing, has the wrong shape, or has a type not in `dtypes`.
    std::vector<const NamedArray*> take_all(std::string_view prefix, const std::vector<StoredParameter>& stored,
                                            std::span<const DType> dtypes) {
        std::vector<const NamedArray*> arrays;
        for (const StoredParameter& parameter : stored) {
            const std::string name = fmt::format("{}{}", prefix, parameter.name);
            const NamedArray* array = take(name);
            arrays.push_back(array);
            if (array == nullptr) {
                note(name, "is missing");
            } else if (array->shape != parameter.shape()) {
                note(name, fmt::format("has shape {}; expected {}", shape_text(array->shape), shape_text(parameter.shape())));
            } else if (std::find(dtypes.begin(), dtypes.end(), array->dtype) == dtypes.end()) {
                note(name, fmt::format("holds {}; expected {}", dtype_name(array->dtype),
                                       dtypes.size() == 1 ? dtype_name(dtypes.front()) : "floating-point numbers"));
            }
        }
        return arrays;
    }
    /// Throws FileError(Schema) with all recorded problems and all tensors that were not taken.
    void finish() {
        for (const auto& [name, array] : left_) note(name, "does not belong to this model");
        if (problems_ == 0) return;
        constexpr std::size_t kShown = 4;
        if (problems_ > kShown) text_ += fmt::format("; and {} more", problems_ - kShown);
        throw FileError(FileFault::Schema, file_.source, "", text_);
    }

private:
    void note(std::string_view name, std::string_view problem) {
        constexpr std::size_t kShown = 4;
        if (++problems_ <= kShown) text_ += fmt::format("{}the tensor {} {}", problems_ == 1 ? "" : "; ", escaped(name), problem);
    }

    const ArrayFile& file_;
    std::map<std::string, const NamedArray*, std::less<>> left_;
    std::size_t problems_ = 0;
    std::string text_;
};

void copy_values(const std::vector<const NamedArray*>& arrays, const std::vector<StoredParameter>& stored, std::string_view source,
                 float* out) {
    for (std::size_t i = 0; i < arrays.size(); ++i) stored[i].scatter(values_as<float>(*arrays[i], source), out);
}

std::int64_t parse_steps(const ArrayFile& file) {
    const std::string& text = file.metadata_at(kSteps);
    std::int64_t steps = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
    if (error != std::errc() || end != text.data() + text.size() || steps < 0)
        throw FileError(FileFault::Range, file.source, "metadata steps",
                        fmt::format("expected a number of steps, found \"{}\"", escaped(text)));
    return steps;
}

Json plateau_json(const Plateau& plateau) {
    Json object{{"step", *plateau.step}, {"without_better", plateau.without_better}};
    if (std::isfinite(plateau.best_loss)) object["best_loss"] = plateau.best_loss;
    return object;
}

/// Missing in files of runs that were never evaluated.
void read_plateau(const ArrayFile& file, Checkpoint& checkpoint) {
    const auto found = file.metadata.find(kPlateau);
    if (found == file.metadata.end()) return;
    JsonObject object(found->second, file.source + ", metadata plateau");
    std::int64_t step = 0;
    if (!object.read("step", step, 0, checkpoint.steps)) object.fail_missing("step");
    if (!object.read("without_better", checkpoint.plateau.without_better, 0, step + 1)) object.fail_missing("without_better");
    object.read("best_loss", checkpoint.plateau.best_loss, 0, std::numeric_limits<double>::max());
    object.expect_no_more();
    checkpoint.plateau.step = step;
}

/// Any of our keys marks the file as ours, so that one with a damaged key is not taken for a foreign model.
bool is_ours(const CheckpointMetadata& metadata) {
    return std::any_of(metadata.begin(), metadata.end(), [](const auto& entry) {
        const std::string& key = entry.first;
        return key == kFormatKey || key == kSettings || key == kVocabulary || key == kSteps || key == kPlateau || key == kChecksum;
    });
}

void read_metadata(const ArrayFile& file, Checkpoint& checkpoint) {
    const std::string& format = file.metadata_at(kFormatKey);
    if (format != kFormat)
        throw FileError(FileFault::Unsupported, file.source, "metadata attnscope",
                        fmt::format("expected {}, found \"{}\"", kFormat, escaped(format)));
    checkpoint.steps = parse_steps(file);
    checkpoint.settings = run_settings_from_json(file.metadata_at(kSettings), file.source + ", metadata settings");
    if (const auto name = file.metadata.find(kName); name != file.metadata.end())
        checkpoint.name = escaped(name->second, kLongestRunName);  // it is shown in legends
    checkpoint.course.begun = checkpoint.settings;
    if (const auto course = file.metadata.find(kCourse); course != file.metadata.end())
        checkpoint.course = run_course_from_json(JsonObject(course->second, file.source + ", metadata course"), checkpoint.steps);
    read_plateau(file, checkpoint);
    read_vocabulary(file.metadata_at(kVocabulary), file.source + ", metadata vocabulary", checkpoint);
    const std::int64_t symbols = static_cast<std::int64_t>(checkpoint.vocabulary.size()), size = checkpoint.settings.model.vocab_size;
    if (symbols != size)
        throw FileError(FileFault::Schema, file.source, "metadata vocabulary",
                        fmt::format("has {} symbols, but the model {}", symbols, size));
}

void require_checksum(const ArrayFile& file) {
    std::vector<ArrayView> views;
    views.reserve(file.arrays.size());
    for (const NamedArray& array : file.arrays) views.push_back(view_of(array));
    const std::string& stored = file.metadata_at(kChecksum);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    if (!stored.empty()) return;  // no mutated input would ever pass
#endif
    if (checksum(file.metadata, views) != stored)
        throw FileError(FileFault::Format, file.source, "", "its checksum does not match its contents: the file is damaged or was changed");
}

void read_text(const ArrayFile& file, Tensors& tensors, Checkpoint& checkpoint, bool resumable) {
    TaskSettings& task = checkpoint.settings.task;
    const NamedArray* text = tensors.take(kText);
    if (text != nullptr) {
        if (text->dtype != DType::U8 || text->shape.size() != 1 || text->bytes.size() > kMaxTextBytes)
            throw FileError(
                FileFault::Schema, file.source, kText,
                fmt::format("expected the bytes of a text, U8 [n], found {} {}", dtype_name(text->dtype), shape_text(text->shape)));
        task.text = std::make_shared<const std::string>(reinterpret_cast<const char*>(text->bytes.data()), text->bytes.size());
    } else if (resumable && !task.text_name.empty()) {
        throw FileError(FileFault::Schema, file.source, kText, fmt::format("the text {} is missing", escaped(task.text_name)));
    }
    checkpoint.course.begun.task.text = task.text;
    for (SettingsChange& change : checkpoint.course.changes) change.settings.task.text = task.text;
}

Checkpoint from_arrays(ArrayFile& file, const std::string& config_json) {
    Checkpoint checkpoint;
    Config& config = checkpoint.settings.model;
    const bool ours = is_ours(file.metadata);
    if (ours) {
        read_metadata(file, checkpoint);
    } else {
        config = adopt_gpt2(file, config_json);
        checkpoint.settings.train.forward.masks.causal = true;
    }
    try {
        const ParameterLayout layout(config);
        const std::vector<StoredParameter> stored = stored_parameters(layout, config);
        Tensors tensors(file);
        const bool resumable = ours && (tensors.has_prefix(kFirstMoments) || tensors.has_prefix(kSecondMoments));
        // Resuming must reproduce the bits, so F16 is not accepted.
        const auto weights = tensors.take_all("", stored, resumable ? kExact : kFloating);
        std::vector<const NamedArray*> first, second;
        if (resumable) {
            first = tensors.take_all(kFirstMoments, stored, kExact);
            second = tensors.take_all(kSecondMoments, stored, kExact);
        }
        if (ours) read_text(file, tensors, checkpoint, resumable);
        tensors.finish();
        if (ours) require_checksum(file);

        auto parameters = std::make_shared<Parameters<float>>(config);
        copy_values(weights, stored, file.source, parameters->data());
        checkpoint.parameters = std::move(parameters);
        if (resumable) {
            checkpoint.first_moments.resize(static_cast<std::size_t>(layout.count()));
            checkpoint.second_moments.resize(checkpoint.first_moments.size());
            copy_values(first, stored, file.source, checkpoint.first_moments.data());
            copy_values(second, stored, file.source, checkpoint.second_moments.data());
        }
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, file.source, ours ? "metadata settings" : "", error.what());
    }
    return checkpoint;
}

/// All metadata except the checksum.
CheckpointMetadata metadata_of(const std::string& file, const Checkpoint& checkpoint) {
    RunSettings settings = checkpoint.settings;
    settings.model = checkpoint.parameters->config();
    CheckpointMetadata metadata{{"format", "pt"}, {kFormatKey, kFormat}, {kSteps, std::to_string(checkpoint.steps)}};
    if (find_invalid_utf8(settings.task.text_name))
        throw FileError(FileFault::Format, file, "metadata settings", "the text's name is not UTF-8");
    metadata[kSettings] = to_json(settings).dump();
    metadata[kVocabulary] = vocabulary_json(file, checkpoint).dump();
    if (!checkpoint.name.empty()) metadata[kName] = checkpoint.name;
    return metadata;
}

/// Writes everything; the caller commits.
void write_into(AtomicFile& file, const Checkpoint& checkpoint) {
    const Parameters<float>& parameters = *checkpoint.parameters;
    const std::size_t count = static_cast<std::size_t>(parameters.count());
    if (checkpoint.resumable() && (checkpoint.first_moments.size() != count || checkpoint.second_moments.size() != count))
        throw ShapeError(
            fmt::format("{} and {} moments for {} parameters", checkpoint.first_moments.size(), checkpoint.second_moments.size(), count));
    const std::string name = escaped(file.target().native(), 0);

    const std::vector<StoredParameter> stored = stored_parameters(parameters.layout(), parameters.config());
    std::vector<std::vector<float>> turned;
    std::vector<ArrayView> views;
    append_views("", stored, parameters.data(), turned, views);
    if (checkpoint.resumable()) {
        append_views(kFirstMoments, stored, checkpoint.first_moments.data(), turned, views);
        append_views(kSecondMoments, stored, checkpoint.second_moments.data(), turned, views);
        if (const std::string* text = checkpoint.settings.task.text.get())
            views.push_back({std::string(kText), DType::U8, {static_cast<std::int64_t>(text->size())}, std::as_bytes(std::span(*text))});
    }
    CheckpointMetadata metadata = metadata_of(name, checkpoint);
    if (checkpoint.resumable() && checkpoint.course.eventful()) metadata[kCourse] = to_json(checkpoint.course).dump();
    if (checkpoint.resumable() && checkpoint.plateau.step) metadata[kPlateau] = plateau_json(checkpoint.plateau).dump();
    metadata[kChecksum] = checksum(metadata, views);
    write_safetensors(file, metadata, views);
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
    AtomicFile file(path);
    write_into(file, checkpoint);
    file.commit();
}

void write_half_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
    AtomicFile file(path);
    const std::string name = escaped(file.target().native(), 0);
    const Parameters<float>& parameters = *checkpoint.parameters;
    std::vector<std::vector<std::uint16_t>> halves;
    std::vector<ArrayView> views;
    for (const StoredParameter& parameter : stored_parameters(parameters.layout(), parameters.config())) {
        const auto& bits = halves.emplace_back(halves_of(parameter.gathered(parameters.data()), name, parameter.name));
        views.push_back({parameter.name, DType::F16, parameter.shape(), std::as_bytes(std::span(bits))});
    }
    CheckpointMetadata metadata = metadata_of(name, checkpoint);
    metadata[kChecksum] = checksum(metadata, views);
    write_safetensors(file, metadata, views);
    file.commit();
}

bool is_checkpoint(const std::filesystem::path& path) {
    InputFile file(path);
    return is_ours(read_safetensors_header(file).metadata);
}

Checkpoint read_checkpoint(ByteSource& source, const std::string& config_json) {
    try {
        ArrayFile file = read_safetensors(source);
        return from_arrays(file, config_json);
    } catch (const std::bad_alloc&) {
        throw FileError(FileFault::Memory, source.name(), "", "there is not enough memory for the model");
    }
}

Checkpoint read_checkpoint(const std::filesystem::path& path, ReadLimits limits) {
    InputFile source(path, std::move(limits));
    // Hugging Face's file; needed only for models from elsewhere.
    const std::filesystem::path config = path.parent_path() / "config.json";
    std::error_code none;
    const std::string config_json =
        std::filesystem::is_regular_file(config, none) ? read_whole_file(config, {.max_bytes = kMaxConfigJson, .stop = {}}) : "";
    Checkpoint checkpoint = read_checkpoint(source, config_json);
    source.expect_unchanged();
    return checkpoint;
}

std::filesystem::path previous_checkpoint(const std::filesystem::path& path) {
    std::filesystem::path previous = path;
    return previous.replace_extension(".previous" + path.extension().string());
}

void replace_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint, const std::function<void()>& before_renaming) {
    AtomicFile file(path);
    write_into(file, checkpoint);
    file.flush();
    std::error_code none;
    // Replaces the previous checkpoint only now that the new one is on disk.
    if (std::filesystem::exists(path, none)) AtomicFile(previous_checkpoint(path), SecondNameOf{path}).commit();
    if (before_renaming) before_renaming();
    file.commit();
}

}  // namespace attn
