#include "engine/families/write_model.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/families/family.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/families/stored_parameters.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/tokenizer/known_words.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn {
namespace {

constexpr const char *kConfigFile = "config.json", *kWeightsFile = "model.safetensors", *kTokenizerFile = "tokenizer.json";

/// Under our names, q, k and v each for itself.
std::vector<StoredParameter> under_own_names(const Parameters<float>& parameters) {
    std::vector<StoredParameter> all;
    for (const TensorSource& source : kOwnFamily.tensors(parameters.config()))
        all.push_back({source.tensor, parameters.layout().place(source.parameter)});
    return all;
}

std::string own_config_json(const Config& config) {
    Json json;
    json["model_type"] = std::string(kOwnFamily.model_types.front());
    json["attnscope"] = to_json(config);
    return json.dump(2) + "\n";
}

}  // namespace

void write_model(const std::filesystem::path& folder, const Parameters<float>& parameters, std::span<const std::string> words) {
    make_folder(folder, 1);
    const Config& config = parameters.config();
    const std::string foreign = config.architecture == Architecture::DecoderOnly ? transformers_config_json(config) : "";
    const std::vector<StoredParameter> all = foreign.empty() ? under_own_names(parameters) : stored_parameters(parameters.layout(), config);
    std::vector<PlannedArray> arrays;
    for (const StoredParameter& each : all) arrays.push_back({each.name, DType::F32, each.shape()});
    std::vector<float> numbers;
    write_safetensors(folder / kWeightsFile, {{"format", "pt"}}, arrays, [&](std::size_t i) {
        numbers = all[i].gathered(parameters.data());
        return std::as_bytes(std::span<const float>(numbers));
    });
    const std::string tokenizer = tokenizer_json_of(words);
    std::error_code kept;
    if (!tokenizer.empty()) write_whole_file(folder / kTokenizerFile, tokenizer);
    else std::filesystem::remove(folder / kTokenizerFile, kept);  // of a model that was there
    if (kept) throw FileError(FileFault::Io, (folder / kTokenizerFile).string(), "", "cannot be removed: " + kept.message());
    write_whole_file(folder / kConfigFile, foreign.empty() ? own_config_json(config) : foreign);
}

bool holds_model(const std::filesystem::path& folder) {
    std::error_code unknown;
    return std::filesystem::exists(folder / kConfigFile, unknown) || std::filesystem::exists(folder / kWeightsFile, unknown);
}

bool holds_model(const std::filesystem::path& folder, const Parameters<float>& parameters, std::span<const std::string> words) {
    if (!holds_model(folder)) return false;
    try {
        std::error_code unknown;
        const std::filesystem::path tokenizer = folder / kTokenizerFile;
        const bool has_words = std::filesystem::exists(tokenizer, unknown);
        const std::string read = has_words ? read_whole_file(tokenizer, {.max_bytes = kMaxTokenizerFile, .stop = {}}) : "";
        if (read != tokenizer_json_of(words)) return false;
        const ModelFolder found = open_model_folder(folder);
        const auto stored = load_parameters<float>(found);
        const std::vector<ParameterInfo>&own = parameters.layout().entries(), &theirs = stored->layout().entries();
        if (own.size() != theirs.size() || Plan(found.config).nodes() != Plan(parameters.config()).nodes()) return false;
        for (std::size_t i = 0; i < own.size(); ++i)
            if (own[i].name != theirs[i].name || parameters.copy(own[i]) != stored->copy(theirs[i])) return false;
        return true;
    } catch (const FileError&) {
        return false;
    }
}

}  // namespace attn
