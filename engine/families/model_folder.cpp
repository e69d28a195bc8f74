#include "engine/families/model_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <map>
#include <optional>
#include <regex>
#include <span>
#include <utility>

#include "engine/families/end_tokens.hpp"
#include "engine/families/foreign_options.hpp"
#include "engine/families/gguf_model.hpp"
#include "engine/families/output_head.hpp"
#include "engine/families/shared_parts.hpp"
#include "engine/families/tensor_numbers.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/tokenizer/gguf_tokenizer.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

constexpr const char* kConfigName = "config.json";

std::string shown(const std::filesystem::path& path) { return escaped(path.native(), 0); }

/// For these options null means "off", for which we write 0, while a missing key means the default. A 0 in the file would mean a window of
/// no key, or a cap at 0.
void keep_null_options(Json& json, const std::string& source) {
    for (const char* key : {"sliding_window", "attn_logit_softcapping", "final_logit_softcapping"}) {
        const Json* value = json.find(key);
        if (value == nullptr) continue;
        if (value->is_number() && value->number() == 0)
            throw FileError(FileFault::Unsupported, source, fmt::format("/{}", key), "is 0, which no model can mean: null switches it off");
        if (value->is_null()) json[key] = 0;
    }
    if (const Json* words = json.find("text_config"); words != nullptr && words->is_object())
        keep_null_options(json["text_config"], source);
}

/// What PEFT writes beside the weights of an adapter.
constexpr const char* kAdapterName = "adapter_config.json";

[[noreturn]] void refuse_adapter(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / kAdapterName;
    Json written = Json::parse(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), shown(path), kSettingsLimits);
    written.drop_null_members();
    JsonObject json = JsonObject::of(std::move(written), shown(path));
    std::string base;
    json.read("base_model_name_or_path", base);
    throw FileError(FileFault::Unsupported, shown(folder), "",
                    fmt::format("holds an adapter, not a model; merge it into its base model{} first",
                                base.empty() ? "" : fmt::format(", {},", escaped(base))));
}

/// Weights packed by a quantizer are other tensors than those of the family. MLX writes `quantization`, and files from before
/// quantization_config have `compression_config`.
void expect_plain_weights(JsonObject& json) {
    for (const char* key : {"quantization_config", "quantization", "compression_config"}) {
        std::optional<JsonObject> packed = json.optional_object(key);
        if (!packed) continue;
        std::string method;
        packed->read("quant_method", method);
        json.fail(key,
                  fmt::format("weights quantized{} are not read; open the original model, or a GGUF file of it",
                              method.empty() ? "" : fmt::format(" with \"{}\"", escaped(method))),
                  FileFault::Unsupported);
    }
}

JsonObject read_config_json(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / kConfigName;
    if (holds_adapter(folder)) refuse_adapter(folder);
    if (std::error_code none; std::filesystem::is_regular_file(folder, none))
        throw FileError(FileFault::Unsupported, shown(folder), "", "this is neither the folder of a model nor a .gguf file");
    Json json = Json::parse(read_whole_file(path, {.max_bytes = kMaxJsonBytes, .stop = {}}), shown(path), kSettingsLimits);
    if (json.is_object()) keep_null_options(json, shown(path));
    json.drop_null_members();
    return JsonObject::of(std::move(json), shown(path));
}

const Family& family_of(JsonObject& json, const std::string& model_type) {
    if (const Family* family = find_family(model_type)) return *family;
    std::string known;
    for (const Family* family : families())
        for (const std::string_view type : family->model_types) known += fmt::format("{}{}", known.empty() ? "" : ", ", type);
    json.fail("model_type", fmt::format("models of type \"{}\" cannot be opened yet; those that can are: {}", escaped(model_type), known),
              FileFault::Unsupported);
}

/// The shape a source's tensor must have for the parameter at `place`.
std::vector<std::int64_t> stored_shape(const TensorSource& source, const ParameterPlace& place) {
    const std::int64_t outputs = source.runs.empty() ? place.columns : source.outputs;
    if (place.whole->shape.rank() == 1) return source.as_row ? std::vector<std::int64_t>{1, outputs} : std::vector{outputs};
    if (source.transposed) return {outputs, place.rows()};
    return {source.first_row + place.rows(), outputs};
}

Leftover leftover_of(const ModelFolder& folder, const ArrayView& tensor) {
    if (folder.is_file) return gguf_leftover(tensor, folder.config);
    if (tensor.name.starts_with("optimizer.")) return Leftover::Optimizer;
    return folder.family->leftover(folder.names.bare(tensor.name), folder.config);
}

/// llama.cpp uses every tensor it writes: one without a place here belongs to arithmetic that this model would lack.
[[noreturn]] void refuse_leftover(const ModelFolder& folder, const WeightFiles::Tensor& tensor) {
    throw FileError(FileFault::Unsupported, folder.weights->file_name(tensor), escaped(tensor.array.name),
                    fmt::format("is not a parameter of {}; without it the results would differ", folder.family->name));
}

bool is_of_adapter(std::string_view tensor) {
    constexpr std::array<std::string_view, 3> kParts = {".lora_A.", ".lora_B.", ".lora_magnitude_vector."};
    return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return tensor.find(part) != std::string_view::npos; });
}

/// A model that was saved with its adapter beside its own weights: without the adapter it computes something else.
[[noreturn]] void refuse_unmerged(const ModelFolder& folder, const WeightFiles::Tensor& tensor) {
    throw FileError(FileFault::Unsupported, folder.weights->file_name(tensor), escaped(tensor.array.name),
                    "belongs to an adapter; merge it into the model first");
}

/// The name that a missing tensor would have, given the prefix of the others. An output head is not part of what the prefix names.
std::string missing_name(const ModelFolder& folder, const TensorSource& source) {
    const auto is_of_head = [&](std::string_view part) { return source.parameter.starts_with(part) || source.tensor.starts_with(part); };
    return folder.names.written(source.tensor, is_of_head("lm_head.") || is_of_head("head_transform.") || is_of_head("head_norm."));
}

/// Such as: "module.", "_orig_mod."
std::string left_out_words(const ModelFolder& folder) {
    std::string words;
    for (const std::string& part : folder.names.left_out()) words += fmt::format("{}\"{}\"", words.empty() ? "" : " and ", escaped(part));
    return words;
}

/// Finds and checks the tensor of every parameter.
void match_tensors(ModelFolder& folder, std::vector<TensorSource> sources) {
    const ParameterLayout layout(folder.config);
    std::map<const WeightFiles::Tensor*, std::vector<TensorSource>> used;
    std::vector<std::string> missing;
    for (TensorSource& source : sources) {
        const WeightFiles::Tensor* tensor = find_tensor(folder, source);
        if (tensor == nullptr) {
            const std::string name = missing_name(folder, source);
            if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
            continue;
        }
        const ParameterPlace place = layout.place(source.parameter);
        if (place.whole == nullptr) throw Error(fmt::format("{} has no parameter {}", folder.family->name, source.parameter));
        const std::vector<std::int64_t> expected = stored_shape(source, place);
        const bool lost_axis =
            folder.is_file && expected.size() == 2 && expected[0] == 1 && tensor->array.shape == std::vector{expected[1]};
        if (tensor->array.shape != expected && !lost_axis)
            throw FileError(FileFault::Schema, folder.weights->file_name(*tensor), escaped(tensor->array.name),
                            fmt::format("has shape {}; {} requires {}", shape_text(tensor->array.shape),
                                        folder.is_file ? "the metadata" : kConfigName, shape_text(expected)));
        used[tensor].push_back(std::move(source));
    }
    if (!missing.empty()) {
        constexpr std::size_t kNamed = 5;
        const std::size_t named = std::min(missing.size(), kNamed);
        throw FileError(
            FileFault::Schema, shown(folder.path), "",
            fmt::format("{} of {} tensors are missing: {}{}{}", missing.size(), missing.size() + used.size(),
                        fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                        missing.size() > named ? ", ..." : "",
                        folder.names.left_out().empty() ? "" : fmt::format("; the names are read without {}", left_out_words(folder))));
    }
    for (const WeightFiles::Tensor& tensor : folder.weights->tensors()) {
        TensorUse& use = folder.tensors.emplace_back(TensorUse{&tensor, {}, Leftover::Unknown});
        if (const auto found = used.find(&tensor); found != used.end()) use.parameters = std::move(found->second);
        else use.leftover = leftover_of(folder, tensor.array);
        if (!use.parameters.empty() || use.leftover != Leftover::Unknown) continue;
        if (folder.is_file) refuse_leftover(folder, tensor);
        if (is_of_adapter(tensor.array.name)) refuse_unmerged(folder, tensor);
    }
}

bool is_readable_number(DType dtype) { return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64; }

void check_types(const ModelFolder& folder) {
    for (const TensorUse& use : folder.tensors)
        if (!use.parameters.empty() && !use.tensor->blocks && !is_readable_number(use.tensor->array.dtype))
            throw FileError(FileFault::Unsupported, folder.weights->file_name(*use.tensor), escaped(use.tensor->array.name),
                            fmt::format("holds {}; expected F32, F16, BF16 or F64", use.tensor->type_name()));
}

/// Owns the memory that a set of parameters refers to.
struct Holder {
    std::shared_ptr<const WeightFiles> files;
    std::deque<std::vector<std::byte>> rows;     ///< rows of matrices, gathered in our order
    std::deque<AlignedVector<float>> converted;  ///< [in,out]
};

/// A plan's parameter, the tensor that contains it, and how.
struct PartSource {
    ParameterPlace place;
    const WeightFiles::Tensor* tensor = nullptr;
    const TensorSource* source = nullptr;

    /// The parameter's columns in the tensor's matrix [in,out].
    std::vector<OutputRun> runs() const { return source->runs.empty() ? std::vector<OutputRun>{{0, place.columns}} : source->runs; }
};

/// The number kind if products can read the tensor as it is; nullopt for F64 and for unaligned floats.
std::optional<NumberKind> readable_kind(const WeightFiles::Tensor& tensor) {
    const ArrayView& array = tensor.array;
    if (tensor.blocks) return packed_numbers(*tensor.blocks);
    const bool aligned = reinterpret_cast<std::uintptr_t>(array.bytes.data()) % alignof(float) == 0;
    if (array.dtype == DType::F32 && aligned) return NumberKind::F32;
    if (array.dtype == DType::F16) return NumberKind::F16;
    if (array.dtype == DType::BF16) return NumberKind::BF16;
    return std::nullopt;
}

/// The tensor's whole matrix [in,out] in the file, with all its outputs.
MatrixView whole_matrix(const PartSource& part, NumberKind kind) {
    const TensorSource& source = *part.source;
    const std::int64_t outputs = source.runs.empty() ? part.place.columns : source.outputs, rows = part.place.rows();
    const std::byte* data = part.tensor->array.bytes.data();
    if (source.transposed) return {data, kind, rows, outputs, rows, true};
    return MatrixView{data, kind, source.first_row + rows, outputs, outputs, false}.rows_from(source.first_row, rows);
}

/// The part's columns in the file, as runs; adjacent runs are merged.
std::vector<MatrixView> runs_in_file(const PartSource& part, NumberKind kind) {
    const MatrixView whole = whole_matrix(part, kind);
    std::vector<MatrixView> out;
    for (const OutputRun& run : part.runs()) {
        const MatrixView columns = whole.columns_from(run.first, run.count);
        if (!out.empty() && out.back().is_followed_by(columns)) out.back().columns += run.count;
        else out.push_back(columns);
    }
    return out;
}

/// Copies the runs of a matrix stored as [out,in], so that they are adjacent.
MatrixView gather_rows(const std::vector<MatrixView>& runs, Holder& holder) {
    MatrixView all = runs.front();
    all.columns = 0;
    std::vector<std::byte>& bytes = holder.rows.emplace_back();
    for (const MatrixView& run : runs) {
        const auto* first = static_cast<const std::byte*>(run.data) + stored_bytes(run.kind, run.first);
        bytes.insert(bytes.end(), first, first + stored_bytes(run.kind, run.columns * run.stride));
        all.columns += run.columns;
    }
    all.data = bytes.data();
    all.first = 0;
    return all;
}

/// The whole part, converted to float.
MatrixView convert(const PartSource& part, const WeightFiles& files, Holder& holder) {
    std::vector<float> values;
    copy_tensor(files, *part.tensor, values);
    PartSource copied = part;
    WeightFiles::Tensor tensor{part.tensor->array, 0};
    tensor.array.bytes = std::as_bytes(std::span<const float>(values));
    copied.tensor = &tensor;
    AlignedVector<float>& numbers = holder.converted.emplace_back(static_cast<std::size_t>(part.place.rows() * part.place.columns));
    std::int64_t column = 0;
    for (const MatrixView& run : runs_in_file(copied, NumberKind::F32)) {
        copy_numbers(run, numbers.data() + column, part.place.columns);
        column += run.columns;
    }
    return MatrixView::of(numbers.data(), part.place.rows(), part.place.columns);
}

/// The part's numbers: in the file if a product can read them there, else copied or converted.
MatrixView find_numbers(const ModelFolder& folder, const PartSource& part, Holder& holder) {
    const std::optional<NumberKind> kind = readable_kind(*part.tensor);
    const bool is_row = part.place.whole->shape.rank() == 1;
    if (kind && (!is_row || kind == NumberKind::F32)) {
        const std::vector<MatrixView> runs = runs_in_file(part, *kind);
        if (runs.size() == 1) return runs.front();
        if (part.source->transposed) return gather_rows(runs, holder);
    }
    return convert(part, *folder.weights, holder);
}

/// Sorts pieces by column and merges those that are adjacent in memory.
void join_pieces(std::vector<StoredColumns>& pieces) {
    std::sort(pieces.begin(), pieces.end(), [](const StoredColumns& a, const StoredColumns& b) { return a.first < b.first; });
    std::vector<StoredColumns> joined;
    for (const StoredColumns& piece : pieces) {
        if (!joined.empty() && joined.back().view.is_followed_by(piece.view)) joined.back().view.columns += piece.view.columns;
        else joined.push_back(piece);
    }
    pieces = std::move(joined);
}

bool writes_text(const Config& config) { return config.architecture != Architecture::Encoder && config.lm_head; }

void adopt_ends(ModelFolder& folder, EndTokens ends) {
    folder.ends = std::move(ends.ids);
    folder.notes.insert(folder.notes.end(), ends.notes.begin(), ends.notes.end());
}

/// Reads config.json, up to what is not part of the config.
JsonObject read_config(ModelFolder& folder) {
    JsonObject json = read_config_json(folder.path);
    if (!json.read("model_type", folder.model_type))
        json.fail("model_type", "this field is missing; it names the family, such as \"llama\" or \"bert\"", FileFault::Schema);
    std::vector<std::string> classes;
    json.read("architectures", classes);
    if (!classes.empty()) folder.model_class = classes.front();
    folder.family = &family_of(json, folder.model_type);
    expect_plain_weights(json);
    folder.config = folder.family->read_config(json);
    folder.config.any_length = folder.config.position != PositionKind::Learned;
    if (folder.config.architecture != Architecture::Encoder) {
        constexpr const char* kLater = "attention to later positions";
        require_option(json, "is_causal", true, true, kLater);
        if (auto words = json.optional_object("text_config")) require_option(*words, "is_causal", true, true, kLater);
    }
    try {
        validate(folder.config);
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, shown(folder.path / kConfigName), "", error.what());
    }
    return json;
}

/// Reads everything but the weights; returns the sources of the parameters.
std::vector<TensorSource> read_folder(ModelFolder& folder) {
    JsonObject json = read_config(folder);
    if (folder.config.architecture == Architecture::EncoderDecoder) {
        const auto last = static_cast<std::int32_t>(folder.config.vocab_size - 1);
        std::int32_t start = 0;
        if (json.read("decoder_start_token_id", start, 0, last)) folder.decoder_start = start;
        else if (folder.family != &kOwnFamily) json.fail_missing("decoder_start_token_id");
    }
    folder.weights = WeightFiles::open_folder(folder.path);
    folder.names = TensorNames(*folder.weights, *folder.family);
    folder.names.unwrap(*folder.weights, folder.family->tensors(folder.config), shown(folder.path));
    fit_output_head(folder);
    folder.tokenizer = read_folder_tokenizer(folder.path);
    if (writes_text(folder.config))
        adopt_ends(folder, folder_end_tokens(folder.path, json, folder.tokenizer.get(), folder.config.vocab_size));
    folder.unread = json.unread();
    if (folder.family->notes != nullptr)
        if (std::string note = folder.family->notes(json); !note.empty()) folder.notes.push_back(std::move(note));
    if (const std::vector<std::string> foreign = foreign_options(json); !foreign.empty())
        folder.notes.push_back(fmt::format("config.json sets {}, which other families compute with and {} does not: it has no effect here.",
                                           fmt::join(foreign, ", "), folder.family->name));
    if (std::find(folder.unread.begin(), folder.unread.end(), "auto_map") != folder.unread.end())
        folder.notes.emplace_back("config.json names code of its own (auto_map), which is not run.");
    return folder.family->tensors(folder.config);
}

std::vector<TensorSource> read_file(ModelFolder& folder) {
    GgufFile file;
    folder.weights = WeightFiles::open_gguf(folder.path, file);
    GgufModel model = read_gguf_model(file, *folder.weights);
    folder.family = model.family;
    folder.names = TensorNames(*folder.weights, *folder.family);
    folder.model_type = model.architecture;
    folder.config = std::move(model.config);
    if (folder.config.architecture == Architecture::EncoderDecoder) folder.decoder_start = model.decoder_start;
    folder.assumed = std::move(model.assumed);
    folder.unread = std::move(model.unread);
    folder.notes = std::move(model.notes);
    if (has_gguf_tokenizer(file)) folder.tokenizer = read_gguf_tokenizer(file);
    if (writes_text(folder.config)) adopt_ends(folder, gguf_end_tokens(file, folder.config.vocab_size));
    return std::move(model.tensors);
}

/// "gptneox" of "gpt_neox" and of "GPTNeoXForCausalLM", "phi" of "phi-msft".
std::string bare_name(std::string_view name) {
    for (const std::string_view part : {"For", "LMHead", "DoubleHeads", "Model", "_text", "-msft"}) name = name.substr(0, name.find(part));
    std::string bare;
    for (const char letter : name)
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0)
            bare += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return bare;
}

/// Whether the class in "architectures" is one of another family.
bool names_another_family(const ModelFolder& folder) {
    const std::string name = bare_name(folder.model_class);
    const auto known = [&](const Family* family) {
        return std::any_of(family->model_types.begin(), family->model_types.end(),
                           [&](std::string_view type) { return bare_name(type) == name; });
    };
    const auto all = families();
    return !known(folder.family) && std::any_of(all.begin(), all.end(), known);
}

void add_notes(ModelFolder& folder) {
    if (!folder.names.left_out().empty())
        folder.notes.push_back(
            fmt::format("The names of the tensors are read without {}, which a wrapper of the model put there.", left_out_words(folder)));
    if (folder.config.scaled_alibi)
        folder.notes.emplace_back("transformers rounds the ALiBi biases of this model to bfloat16; here they are exact.");
    if (names_another_family(folder))
        folder.notes.push_back(fmt::format("\"architectures\" names {}, but the model is read as \"model_type\" says: {}.",
                                           escaped(folder.model_class, 60), folder.model_type));
    if (!folder.config.lm_head)
        folder.notes.push_back(
            fmt::format("The {} has no output head to {} with.", folder.is_file ? "file" : "folder",
                        folder.config.architecture == Architecture::Encoder ? "fill in hidden words" : "predict tokens"));
    if (folder.tokenizer == nullptr) {
        const bool of_run = std::any_of(folder.tensors.begin(), folder.tensors.end(),
                                        [](const TensorUse& use) { return use.leftover == Leftover::Optimizer; });
        folder.notes.push_back(of_run ? "The folder is that of a training run: attnscope opens it with the vocabulary of the run."
                                      : fmt::format("The {} has no readable tokenizer: texts are ids of tokens, such as \"1 0 2\".",
                                                    folder.is_file ? "file" : "folder"));
        return;
    }
    folder.notes.insert(folder.notes.end(), folder.tokenizer->notes().begin(), folder.tokenizer->notes().end());
    if (folder.tokenizer->size() > folder.config.vocab_size)
        folder.notes.push_back(fmt::format("The tokenizer has {} ids, but the model only {}: texts with ids beyond that are refused.",
                                           folder.tokenizer->size(), folder.config.vocab_size));
}

/// Whether a folder's config.json is that of a model, and not any file of this name: it says so, or there are weights beside it.
bool belongs_to_model(const std::filesystem::path& folder) {
    std::error_code none;
    for (const char* weights : {"model.safetensors", "model.safetensors.index.json"})
        if (std::filesystem::exists(folder / weights, none)) return true;
    try {
        return read_config_json(folder).has("model_type");
    } catch (const FileError&) {
        return false;
    }
}

}  // namespace

bool holds_adapter(const std::filesystem::path& folder) {
    std::error_code none;
    return std::filesystem::is_regular_file(folder / kAdapterName, none) && !std::filesystem::exists(folder / kConfigName, none);
}

bool has_config_json(const std::filesystem::path& folder) {
    std::error_code none;
    return std::filesystem::is_regular_file(folder / kConfigName, none);
}

std::filesystem::path folder_of_model_file(const std::filesystem::path& path) {
    static const std::regex kFiles(R"(config\.json|tokenizer\.json|model\.safetensors|model\.safetensors\.index\.json|)"
                                   R"(model-\d+-of-\d+\.safetensors)");
    const std::string name = path.filename().string();
    if (!std::regex_match(name, kFiles)) return path;
    std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    return has_config_json(folder) && (name != kConfigName || belongs_to_model(folder)) ? folder : path;
}

bool is_gguf_file(const std::filesystem::path& path) {
    std::error_code none;
    if (path.extension() == ".gguf") return !std::filesystem::is_directory(path, none);
    // Ollama names its files by their hash, without an extension.
    if (!std::filesystem::is_regular_file(path, none)) return false;
    try {
        InputFile file(path);
        std::array<char, 4> start{};
        if (file.size() < start.size()) return false;
        file.read(std::as_writable_bytes(std::span(start)));
        return std::string_view(start.data(), start.size()) == "GGUF";
    } catch (const FileError&) {
        return false;
    }
}

ModelFolder read_model_config(const std::filesystem::path& path) {
    ModelFolder folder;
    folder.path = path;
    read_config(folder);
    return folder;
}

ModelFolder open_model_folder(const std::filesystem::path& place) {
    const std::filesystem::path path = model_in_cache(folder_of_model_file(place));
    ModelFolder folder;
    folder.path = path;
    folder.is_file = is_gguf_file(path);
    match_tensors(folder, folder.is_file ? read_file(folder) : read_folder(folder));
    check_types(folder);
    expect_copies(folder);
    add_notes(folder);
    return folder;
}

void expect_scales(const ModelFolder& folder) {
    for (const TensorUse& use : folder.tensors)
        if (use.tensor->blocks && !use.parameters.empty()) expect_scales(*folder.weights, *use.tensor);
}

template <class Scalar>
std::shared_ptr<const Parameters<Scalar>> load_parameters(const ModelFolder& folder) {
    const ParameterLayout layout(folder.config);
    std::map<const ParameterInfo*, std::vector<PartSource>> parts;
    for (const TensorUse& use : folder.tensors)
        for (const TensorSource& source : use.parameters) {
            const ParameterPlace place = layout.place(source.parameter);
            parts[place.whole].push_back({place, use.tensor, &source});
        }
    auto holder = std::make_shared<Holder>(Holder{folder.weights, {}, {}});
    std::vector<std::vector<StoredColumns>> entries;
    while_intact(*folder.weights, [&] {
        expect_scales(folder);
        for (const ParameterInfo& entry : layout.entries()) {
            std::vector<StoredColumns>& pieces = entries.emplace_back();
            for (const PartSource& part : parts.at(&entry))
                pieces.push_back({part.place.first_column, find_numbers(folder, part, *holder)});
            join_pieces(pieces);
        }
    });
    return std::make_shared<const Parameters<Scalar>>(folder.config, std::move(entries), holder);
}

template std::shared_ptr<const Parameters<float>> load_parameters(const ModelFolder&);
template std::shared_ptr<const Parameters<double>> load_parameters(const ModelFolder&);

}  // namespace attn
