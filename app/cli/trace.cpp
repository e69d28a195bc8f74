/// attnscope trace: writes every stage of a forward pass to a .safetensors file.

#include <fmt/core.h>

#include <memory>
#include <optional>

#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/output_file.hpp"
#include "app/cli/training_options.hpp"
#include "app/session/files/tensor_export.hpp"

namespace attn::app {
namespace {

struct TraceOptions {
    DocumentOptions document;
    TrainingOptions training;
    std::filesystem::path out;
};

void write(const TraceOptions& options) {
    const std::shared_ptr<const Snapshot> snapshot = compute_stages(options.document, options.training).snapshot;
    const Trace<float>& trace = *snapshot->trace;
    const std::optional<NotFiniteCell> bad = write_snapshot_trace(options.out, *snapshot);
    const std::string model = snapshot->trained_step ? fmt::format(", model of step {}", *snapshot->trained_step) : "";
    fmt::print("{}: {} stages of {} sequence{} of up to {} tokens{}\n", options.out.string(), trace.plan->nodes().size(),
               trace.tokens.size(), trace.tokens.size() == 1 ? "" : "s", trace.tokens.length, model);
    if (bad) fmt::print("the first number that is not finite: {}\n", bad->text);
}

}  // namespace

void add_trace_command(CliCommand program, int&) {
    auto options = std::make_shared<TraceOptions>();
    CliCommand command = program.command("trace", "Write every stage of a forward pass to a file");
    add_document_options(command, options->document);
    add_memory_option(command, options->document);
    add_training_options(command, options->training);
    add_output_option(command, options->out, ".safetensors");
    command.on_run([options] { write(*options); });
}

}  // namespace attn::app
