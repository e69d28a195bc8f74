/// attnscope export: a stage's numbers, or all of them, into a file.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/training_options.hpp"
#include "app/cli/view_options.hpp"
#include "app/session/tensor_export.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

struct ExportOptions {
    DocumentOptions document;
    TrainingOptions training;
    std::string stage;
    std::int64_t layer = 0;
    std::optional<std::int64_t> head, sequence;
    bool gradients = false;
    std::filesystem::path out;
};

std::string check_out(const std::string& name) {
    const std::string extension = std::filesystem::path(name).extension().string();
    return extension == ".csv" || extension == ".npy" || extension == ".safetensors"
               ? ""
               : "'" + name + "' does not end in .csv, .npy or .safetensors";
}

void say(const ExportOptions& options, const std::string& what) { fmt::print("{}: {}\n", options.out.string(), what); }

/// .safetensors holds whole stages with their names, so that other programs find q beside k.
void write_stages(const ExportOptions& options, const Snapshot& snapshot) {
    if (options.head || options.sequence || options.gradients)
        throw Error("--head, --batch and --gradients choose numbers for .csv and .npy; .safetensors holds whole stages");
    std::optional<StageId> only;
    if (!options.stage.empty()) only = named_stage(options.stage, options.layer, *snapshot.trace);
    write_snapshot_trace(options.out, snapshot, only);
    say(options, only ? tensor_name(*only) : fmt::format("{} stages", snapshot.trace->stages.size()));
}

void write_tensor(const ExportOptions& options, const Snapshot& snapshot) {
    if (options.stage.empty()) throw Error("--stage is missing: .csv and .npy hold one stage; only .safetensors holds all");
    TensorChoice choice{named_stage(options.stage, options.layer, *snapshot.trace), options.sequence, options.head, options.gradients};
    if (options.head && !snapshot.trace->find(choice.stage)->value.shape().has(Axis::H))
        throw Error(fmt::format("{} has no heads: leave --head out", tensor_name(choice.stage)));
    (options.out.extension() == ".csv" ? write_tensor_csv : write_tensor_npy)(options.out, snapshot, choice);
    say(options, tensor_name(choice.stage) + (options.gradients ? ", gradients " : " ") + chosen_tensor(snapshot, choice).shape().text());
}

void write(const ExportOptions& options) {
    const std::shared_ptr<const Snapshot> snapshot = compute(options.document, options.training, options.gradients);
    if (options.out.extension() == ".safetensors") write_stages(options, *snapshot);
    else write_tensor(options, *snapshot);
}

}  // namespace

void add_export_command(CLI::App& program, int&) {
    auto options = std::make_shared<ExportOptions>();
    CLI::App* command = program.add_subcommand("export", "Write a stage's numbers as .csv or .npy, or all stages as .safetensors");
    add_document_options(*command, options->document);
    add_training_options(*command, options->training);
    command->add_option("--stage", options->stage, "Stage, such as scores or residual_1, or a tensor's name in the trace")
        ->type_name("STAGE");
    command->add_option("--layer", options->layer, "Layer, from 0")->type_name("N");
    command->add_option("--head", options->head, "One head, from 0; all by default")->type_name("N");
    command->add_option("--batch", options->sequence, "One sequence of the batch, from 0; all by default")->type_name("N");
    command->add_flag("--gradients", options->gradients, "What the numbers do to the loss of predicting the next token, instead of them");
    command->add_option("--out", options->out, "File to write, ending in .csv, .npy or .safetensors")
        ->type_name("FILE")
        ->required()
        ->check(check_out);
    command->callback([options] { write(*options); });
}

}  // namespace attn::app
