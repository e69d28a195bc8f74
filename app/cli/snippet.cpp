/// attnscope snippet: prints a stage as a NumPy or PyTorch program.

#include <fmt/core.h>

#include <memory>

#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/training_options.hpp"
#include "app/cli/view_options.hpp"
#include "app/session/files/stage_snippet.hpp"
#include "engine/io/npz.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

struct SnippetCommand {
    DocumentOptions document;
    TrainingOptions training;
    std::string stage = "weights";
    std::optional<std::int64_t> layer;
    bool torch = false;
    std::filesystem::path operands;
};

void write(const SnippetCommand& command) {
    const std::shared_ptr<const Snapshot> snapshot = compute(command.document, command.training).snapshot;
    const StageId id = named_stage(command.stage, command.layer, *snapshot->trace);
    SnippetOptions options;
    options.dialect = command.torch ? SnippetDialect::PyTorch : SnippetDialect::NumPy;
    options.operands_in_file = !command.operands.empty();
    options.operands_file = command.operands.string();
    const Snippet snippet = stage_snippet(*snapshot, id, options);
    if (snippet.needs_file && command.operands.empty())
        throw Error(
            fmt::format("the operands of {} are too large to print as text: --operands FILE.npz writes them to a file", tensor_name(id)));
    if (snippet.needs_file) {
        std::vector<ArrayView> views;
        for (const NamedArray& array : snippet.arrays) views.push_back(view_of(array));
        write_npz(command.operands, views);
    }
    fmt::print("{}", snippet.text);
}

}  // namespace

void add_snippet_command(CliCommand program, int&) {
    auto options = std::make_shared<SnippetCommand>();
    CliCommand command = program.command("snippet", "Print a NumPy or PyTorch program that recomputes a stage");
    add_document_options(command, options->document);
    add_memory_option(command, options->document);
    add_training_options(command, options->training);
    command.option("--stage", options->stage, "Stage, such as scores or residual_1, or a tensor's name; weights by default")
        .shown_as("STAGE");
    command.option("--layer", options->layer, "Layer, from 0").shown_as("N");
    command.flag("--torch", options->torch, "PyTorch instead of NumPy");
    command.option("--operands", options->operands, "Write the operands to this file instead of into the text")
        .shown_as("FILE.npz")
        .check([](const std::string& name) {
            return std::filesystem::path(name).extension() == ".npz" ? "" : "'" + name + "' does not end in .npz";
        });
    command.on_run([options] { write(*options); });
}

}  // namespace attn::app
