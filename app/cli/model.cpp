/// attnscope model: describes a published model as it was read.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "app/cli/commands.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/while_intact.hpp"

namespace attn::app {
namespace {

std::string model_sizes(const Config& config) {
    std::string heads = fmt::format("{} heads of {}", config.num_heads, config.head_size());
    if (config.grouped()) heads += fmt::format(", {} of keys and values", config.kv_heads());
    // In an encoder-decoder, the numbers of both stacks.
    const bool two = config.architecture == Architecture::EncoderDecoder;
    const auto of_both = [&](std::int64_t encoder, std::int64_t decoder) {
        return two && encoder != decoder ? fmt::format("{} and {}", encoder, decoder) : fmt::format("{}", decoder);
    };
    const std::string layers = two ? fmt::format("{} + {} layers", config.layers_of(Stack::Encoder), config.num_layers)
                                   : fmt::format("{} layer{}", config.num_layers, config.num_layers == 1 ? "" : "s");
    return fmt::format("{}, width {}, {}, feed-forward {}, context {}, vocabulary {}", layers, config.d_model, heads,
                       of_both(config.ff_of(Stack::Encoder), config.d_ff), config.context_length, config.vocab_size);
}

std::string tensor_use_text(const TensorUse& use, const Config& config) {
    if (use.parameters.empty()) {
        switch (use.leftover) {
        case Leftover::Buffer:
            return "not used: can be computed";
        case Leftover::Copy:
            return "not used: tied to the token embedding";
        case Leftover::Other:
            return "not used: nothing shown is computed with it";
        case Leftover::Setting:
            return "a setting: what rotary frequencies are divided by";
        case Leftover::Optimizer:
            return "not used: the optimizer's";
        case Leftover::Unknown:
            return "not used: not a parameter of this family";
        }
    }
    std::string text;
    for (const TensorSource& source : use.parameters)
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", source.parameter,
                            source.runs.size() > 1 ? " (transposed, in another order)"
                            : source.transposed    ? " (transposed)"
                                                   : "");
    if (config.tied_lm_head && config.lm_head && text == "token_embedding.weight") text += ", and the output head";
    return text;
}

/// Such as "</s> (2), <|im_end|> (5)".
std::string end_words(const ModelFolder& folder) {
    std::string words;
    for (const std::int32_t id : folder.ends) {
        const std::string text = folder.tokenizer == nullptr ? "" : folder.tokenizer->token_text(id).value_or("");
        words += (words.empty() ? "" : ", ") + (text.empty() ? fmt::format("id {}", id) : fmt::format("{} ({})", escaped(text), id));
    }
    return words;
}

std::vector<std::string> escaped_all(std::vector<std::string> texts) {
    for (std::string& text : texts) text = escaped(text);
    return texts;
}

void print_model(const std::filesystem::path& path) {
    const ModelFolder folder = open_model_folder(path);
    std::set<std::string> types;
    std::int64_t numbers = 0;
    std::size_t name_width = 0, shape_width = 0, unused = 0;
    for (const TensorUse& use : folder.tensors) {
        const ArrayView& array = use.tensor->array;
        name_width = std::max(name_width, escaped(array.name).size());
        shape_width = std::max(shape_width, shape_text(array.shape).size());
        if (use.parameters.empty()) {
            unused += use.leftover == Leftover::Setting ? 0 : 1;
            continue;
        }
        types.emplace(use.tensor->type_name());
        numbers += use.tensor->count();
    }
    fmt::print("{}: {} ({})\n", escaped(path.native(), 0), folder.family->name,
               escaped(folder.model_class.empty() ? folder.model_type : folder.model_class));
    fmt::print("  {}\n", model_sizes(folder.config));
    const auto bytes = static_cast<double>(folder.weights->bytes());
    fmt::print("  {} parameters, {}, {} in {} {}\n", numbers, fmt::join(types, types.size() == 2 ? " and " : ", "),
               bytes < 1e6 ? fmt::format("{:.1f} kB", bytes / 1e3) : fmt::format("{:.1f} MB", bytes / 1e6), folder.weights->file_count(),
               folder.weights->file_count() == 1 ? "file" : "files");
    if (folder.tokenizer != nullptr)
        fmt::print("  tokenizer: {}, {} ids, {} added token{}\n", folder.tokenizer->model_type(), folder.tokenizer->size(),
                   folder.tokenizer->added_tokens().size(), folder.tokenizer->added_tokens().size() == 1 ? "" : "s");
    if (!folder.ends.empty()) fmt::print("  writing ends with {}\n", end_words(folder));
    if (!folder.assumed.empty()) fmt::print("  not recorded in the file, so assumed: {}\n", fmt::join(folder.assumed, "; "));
    for (const std::string& note : folder.notes) fmt::print("  {}\n", escaped(note, 0));
    if (!folder.unread.empty())
        fmt::print("  settings in {} without effect here: {}\n", folder.is_file ? "the file" : "config.json",
                   fmt::join(escaped_all(folder.unread), ", "));
    fmt::print("{} tensors, {} not used\n", folder.tensors.size(), unused);
    for (const TensorUse& use : folder.tensors)
        fmt::print("  {:<{}}  {:<4}  {:<{}}  {}\n", escaped(use.tensor->array.name), name_width, use.tensor->type_name(),
                   shape_text(use.tensor->array.shape), shape_width, tensor_use_text(use, folder.config));
    // Last, because it reads the whole file.
    while_intact(*folder.weights, [&] { expect_scales(folder); });
}

}  // namespace

void add_model_command(CliCommand program, int&) {
    auto path = std::make_shared<std::filesystem::path>();
    CliCommand command =
        program.command("model", "List what a model's folder or GGUF file holds: family, sizes, every tensor and where it goes");
    command
        .option("DIR|FILE.gguf", *path,
                "Folder in Hugging Face's layout (config.json, model.safetensors, a tokenizer), or a GGUF file (any part of a split one)")
        .required();
    std::string names;
    std::string_view listed;  // Phi is a family twice, under its old and its present names
    for (const Family* family : families())
        if (family->name != listed) names += fmt::format("{}{}", names.empty() ? "" : ", ", listed = family->name);
    command.footer("Families: " + names +
                   ".\nA tensor that is missing or has a different shape than its metadata say is an error, and so is a block whose scale "
                   "is not a finite number.\nExamples:\n  attnscope model "
                   "DIR\n  attnscope model FILE.gguf\n");
    command.on_run([path] { print_model(*path); });
}

}  // namespace attn::app
