#include "engine/families/output_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

/// A tied tensor under another of its names. Some files have only the one that the output head has, or an encoder-decoder only that of its
/// decoder.
const WeightFiles::Tensor* find_copy(const ModelFolder& folder, const TensorSource& source) {
    const bool words = source.parameter == "token_embedding.weight";
    if (folder.is_file || (!words && source.parameter != "lm_head.bias")) return nullptr;
    const WeightFiles::Tensor* head = nullptr;
    for (const WeightFiles::Tensor& tensor : folder.weights->tensors()) {
        const std::string name = folder.names.bare(tensor.array.name);
        if (!name.ends_with(words ? ".weight" : ".bias") || folder.family->leftover(name, folder.config) != Leftover::Copy) continue;
        // The output head may turn out to be one of its own, so it comes last.
        if (name != "lm_head.weight" && name != "embed_out.weight") return &tensor;
        head = &tensor;
    }
    return head;
}

}  // namespace

const WeightFiles::Tensor* find_tensor(const ModelFolder& folder, const TensorSource& source) {
    if (const WeightFiles::Tensor* found = folder.names.find(source.tensor)) return found;
    if (!source.other_name.empty())
        if (const WeightFiles::Tensor* found = folder.names.find(source.other_name)) return found;
    return find_copy(folder, source);
}

namespace {

/// Whether two tensors are equal, judged by some of their rows: separately trained tensors differ everywhere.
bool are_alike(const ArrayView& a, const ArrayView& b) {
    constexpr std::int64_t kRows = 16;
    if (a.shape != b.shape || a.bytes.size() != b.bytes.size()) return false;
    const std::int64_t rows = std::max<std::int64_t>(a.shape.empty() ? 1 : a.shape[0], 1), looked_at = std::min(rows, kRows);
    const std::size_t row = a.bytes.size() / static_cast<std::size_t>(rows);
    for (std::int64_t i = 0; i < looked_at; ++i) {
        const std::size_t first = static_cast<std::size_t>(i * rows / looked_at) * row;
        if (!std::ranges::equal(a.bytes.subspan(first, row), b.bytes.subspan(first, row))) return false;
    }
    return true;
}

const TensorSource* source_of(const std::vector<TensorSource>& sources, std::string_view parameter) {
    const auto found = std::find_if(sources.begin(), sources.end(), [&](const TensorSource& one) { return one.parameter == parameter; });
    return found == sources.end() ? nullptr : &*found;
}

/// A file may have an output head of its own although config.json ties it to the embedding: transformers 5 writes T5 1.1 so, and uses the
/// head in the file for any such model.
void untie_own_head(ModelFolder& folder) {
    if (!folder.config.tied_lm_head || !folder.config.lm_head || folder.config.d_embedding != 0) return;
    Config untied = folder.config;
    untied.tied_lm_head = false;
    const std::vector<TensorSource> sources = folder.family->tensors(untied);
    const TensorSource *const head = source_of(sources, "lm_head.weight"), *const words = source_of(sources, "token_embedding.weight");
    if (head == nullptr || words == nullptr) return;
    const WeightFiles::Tensor *const own = find_tensor(folder, *head), *const table = find_tensor(folder, *words);
    if (own == nullptr || table == nullptr || own == table || are_alike(own->array, table->array)) return;
    folder.config = untied;
    folder.notes.push_back(fmt::format("{} is not a copy of {}, so it is used, although config.json ties the two (tie_word_embeddings).",
                                       escaped(own->array.name), escaped(table->array.name)));
}

bool is_of_head(const TensorSource& source) {
    constexpr std::array<std::string_view, 3> kHeadParts = {"lm_head.", "head_transform.", "head_norm."};
    return std::any_of(kHeadParts.begin(), kHeadParts.end(), [&](std::string_view part) { return source.parameter.starts_with(part); });
}

/// Whether a class of transformers has an output head: LlamaForCausalLM, but not LlamaModel or LlamaForSequenceClassification.
bool has_head(std::string_view model_class) {
    constexpr std::array<std::string_view, 5> kEndings = {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM",
                                                          "ForPreTraining"};
    return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return model_class.ends_with(ending); });
}

/// A bias that transformers sets to zero if the file lacks it.
void leave_out_zero_bias(ModelFolder& folder) {
    const std::vector<TensorSource> sources = folder.family->tensors(folder.config);
    const TensorSource* const bias = source_of(sources, "lm_head.bias");
    if (bias != nullptr && bias->zero_if_absent && find_tensor(folder, *bias) == nullptr) folder.config.lm_head_bias = false;
}

/// Whether the folder is one of sentence-transformers, which needs no head even of a class that has one.
bool embeds_sentences(const ModelFolder& folder) {
    std::error_code none;
    return std::filesystem::exists(folder.path / "modules.json", none);
}

/// The file of a class without an output head has just the layers.
void leave_out_absent_head(ModelFolder& folder) {
    Config& config = folder.config;
    if (!config.lm_head || config.architecture == Architecture::EncoderDecoder) return;
    if (has_head(folder.model_class) && !embeds_sentences(folder)) return;
    const std::vector<TensorSource> sources = folder.family->tensors(config);
    const auto is_there = [&](const TensorSource& source) { return is_of_head(source) && find_tensor(folder, source) != nullptr; };
    if (std::none_of(sources.begin(), sources.end(), is_of_head) || std::any_of(sources.begin(), sources.end(), is_there)) return;
    config.lm_head = config.head_transform = config.lm_head_bias = false;
    config.tied_lm_head = true;  // what is not there needs no tensor of its own
}

}  // namespace

void fit_output_head(ModelFolder& folder) {
    untie_own_head(folder);
    leave_out_zero_bias(folder);
    leave_out_absent_head(folder);
}

void expect_copies(const ModelFolder& folder) {
    const auto words = std::find_if(folder.tensors.begin(), folder.tensors.end(), [](const TensorUse& use) {
        return !use.parameters.empty() && use.parameters.front().parameter == "token_embedding.weight";
    });
    if (words == folder.tensors.end()) return;
    const ArrayView& table = words->tensor->array;
    for (const TensorUse& use : folder.tensors)
        if (use.leftover == Leftover::Copy && use.tensor->array.shape == table.shape && use.tensor->array.dtype == table.dtype &&
            !are_alike(use.tensor->array, table))
            throw FileError(FileFault::Unsupported, folder.weights->file_name(*use.tensor), escaped(use.tensor->array.name),
                            fmt::format("differs from {}, of which it should be a copy", escaped(table.name)));
    folder.weights->require_intact();
}

}  // namespace attn
