/// attnscope export: writes a stage, a parameter, or everything to a file.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/training_options.hpp"
#include "app/cli/view_options.hpp"
#include "app/session/files/tensor_export.hpp"
#include "engine/io/npy.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

struct ExportOptions {
    DocumentOptions document;
    TrainingOptions training;
    std::string stage;
    std::optional<std::int64_t> layer;
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

/// The names of parameters that begin like `name` up to a dot, as far as possible. None if that would be a whole layer or more.
std::vector<std::string> parameters_like(const std::string& name, const ParameterLayout& layout) {
    std::vector<std::string> found;
    for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0 && found.empty(); dot = name.rfind('.', dot - 1))
        for (const ParameterInfo& entry : layout.entries())
            if (entry.name.starts_with(name.substr(0, dot + 1))) found.push_back(entry.name);
    constexpr std::size_t kMost = 8;
    if (found.size() > kMost) found.clear();
    return found;
}

/// The stage or parameter of that name. No stage has the name of a parameter.
TensorChoice choice_of(const ExportOptions& options, const Trace<float>& trace) {
    TensorChoice choice{{}, options.sequence, options.head, options.gradients, ""};
    // A recording has no parameters of a model.
    const ParameterLayout* const layout = trace.parameters == nullptr ? nullptr : &trace.parameters->layout();
    if (layout != nullptr && layout->place(options.stage).whole != nullptr) {
        if (options.layer) throw Error("--layer chooses a stage's layer; the parameter's name says which one it belongs to");
        choice.parameter = options.stage;
    } else {
        const bool stage = stage_from_tensor_name(options.stage) || stage_from_name(options.stage);
        if (const auto like = layout == nullptr ? std::vector<std::string>() : parameters_like(options.stage, *layout);
            !stage && !like.empty())
            throw Error(fmt::format("there is no stage or parameter \"{}\"; there is {}", escaped(options.stage), fmt::join(like, ", ")));
        choice.stage = named_stage(options.stage, options.layer, trace);
    }
    return choice;
}

/// The attention map whose numbers are wanted, which take more memory than all that is computed before them.
std::optional<StageId> map_meant(const ExportOptions& options) {
    std::optional<StageId> id = stage_from_tensor_name(options.stage);
    if (!id) id = stage_from_name(options.stage, static_cast<int>(options.layer.value_or(0)));
    return id && is_attention_map(id->stage) ? id : std::nullopt;
}

std::string name_of(const TensorChoice& choice) {
    return (choice.parameter.empty() ? tensor_name(choice.stage) : choice.parameter) + (choice.gradients ? ", gradients" : "");
}

void say(const ExportOptions& options, const Snapshot& snapshot, const std::string& what) {
    const std::string model = snapshot.trained_step ? fmt::format(", model of step {}", *snapshot.trained_step) : "";
    fmt::print("{}: {}{}\n", options.out.string(), what, model);
}

/// .safetensors files contain whole tensors under their names, so that other programs find q next to k.
void write_safetensors(const ExportOptions& options, const Snapshot& snapshot, const GradientTrace<float>* gradients) {
    if (options.head || options.sequence)
        throw Error("--head and --batch choose numbers for .csv and .npy; .safetensors holds whole stages");
    if (!options.stage.empty()) {
        const TensorChoice choice = choice_of(options, *snapshot.trace);
        write_tensor_safetensors(options.out, snapshot, choice, gradients);
        return say(options, snapshot, name_of(choice));
    }
    if (!options.gradients) {
        write_snapshot_trace(options.out, snapshot);
        return say(options, snapshot, fmt::format("{} stages", snapshot.trace->plan->nodes().size()));
    }
    write_snapshot_gradients(options.out, snapshot, *gradients);
    say(options, snapshot,
        fmt::format("gradients of {} stages and {} parameters", gradients->stages.size(),
                    snapshot.trace->parameters->layout().entries().size()));
}

void write_tensor(const ExportOptions& options, const Snapshot& snapshot, const GradientTrace<float>* gradients) {
    if (options.stage.empty()) throw Error("--stage is missing: .csv and .npy hold one stage or parameter; only .safetensors holds all");
    const TensorChoice choice = choice_of(options, *snapshot.trace);
    const Shape whole = chosen_tensor(snapshot, {choice.stage, {}, {}, choice.gradients, choice.parameter}, gradients).shape();
    if (options.head && !whole.has(Axis::H) && !whole.has(Axis::G))
        throw Error(fmt::format("{} has no heads: leave --head out", name_of(choice)));
    if (options.sequence && !whole.has(Axis::B))
        throw Error(fmt::format("{} does not belong to a sequence: leave --batch out", name_of(choice)));
    (options.out.extension() == ".csv" ? write_tensor_csv : write_tensor_npy)(options.out, snapshot, choice, gradients, {});
    say(options, snapshot, name_of(choice) + " " + chosen_tensor(snapshot, choice, gradients).shape().text());
}

ComputedState computed_for(const ExportOptions& options) {
    const bool all_stages = options.stage.empty() && options.out.extension() == ".safetensors";
    const std::optional<StageId> map = map_meant(options);
    if (options.gradients || (!all_stages && !map)) return compute(options.document, options.training, options.gradients);
    return compute_stages(options.document, options.training, map);
}

/// NumPy has no bfloat16.
NamedArray for_numpy(NamedArray array, const std::string& source) {
    if (array.dtype != DType::BF16) return array;
    const std::vector<float> values = values_as<float>(array, source);
    return make_array<float>(std::move(array.name), std::move(array.shape), values);
}

void write_recorded(const ExportOptions& options) {
    if (options.training.given() || options.gradients || options.layer || options.head || options.sequence)
        throw Error("a stage of a recording, as it is named there, goes with --step and --out only");
    if (options.out.extension() != ".npy") throw Error("a recorded stage is written as .npy");
    const recording::Recording recorded = recording::read_recording(options.document.recording);
    const recording::RecordedStep step(step_file(recorded, options.training.step));
    const NamedArray array = for_numpy(step.read(options.stage), step.source());
    write_npy(options.out, view_of(array));
    fmt::print("{}: {} {}\n", options.out.string(), escaped(array.name, 0), shape_text(array.shape));
}

void write(const ExportOptions& options) {
    // Under its own name a stage is written as it was recorded, with its own axes and in its own precision.
    if (!options.document.recording.empty() && options.stage.find('/') != std::string::npos) return write_recorded(options);
    const ComputedState computed = computed_for(options);
    if (options.out.extension() == ".safetensors") write_safetensors(options, *computed.snapshot, computed.gradients.get());
    else write_tensor(options, *computed.snapshot, computed.gradients.get());
}

}  // namespace

void add_export_command(CliCommand program, int&) {
    auto options = std::make_shared<ExportOptions>();
    CliCommand command =
        program.command("export", "Write a stage's or a parameter's numbers as .csv, .npy or .safetensors, or all stages as .safetensors");
    add_document_options(command, options->document);
    add_memory_option(command, options->document);
    add_training_options(command, options->training);
    command
        .option("--stage", options->stage,
                "Stage, such as scores or residual_1, a tensor's name in the trace, or a parameter's, such as token_embedding.weight; of a "
                "recording also ATTENTION/STAGE, as it was recorded")
        .shown_as("STAGE");
    command.option("--layer", options->layer, "Layer, from 0").shown_as("N");
    command.option("--head", options->head, "One head, from 0; all by default").shown_as("N");
    command.option("--batch", options->sequence, "One sequence of the batch, from 0; all by default").shown_as("N");
    command.flag("--gradients", options->gradients,
                 "Write the gradients of the next-token loss instead of the numbers; with .safetensors all of them");
    command.option("--out", options->out, "File to write, ending in .csv, .npy or .safetensors")
        .shown_as("FILE")
        .required()
        .check(check_out);
    command.on_run([options] { write(*options); });
}

}  // namespace attn::app
