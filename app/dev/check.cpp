/// attnscope-dev check: recomputes reference files and compares them tensor by tensor.

#include "engine/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "app/cli/complaint.hpp"
#include "app/cli/standard_output.hpp"
#include "app/dev/commands.hpp"
#include "engine/io/array_file.hpp"
#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

struct CheckOptions {
    std::vector<std::filesystem::path> files;
    bool in_double = false;
};

void print(const check::Report& report) {
    fmt::print("{}: {}\n", escaped(report.file, 0), escaped(report.module, 0));
    std::size_t name_width = 0, shape_width = 0;
    for (const check::TensorResult& tensor : report.tensors) {
        name_width = std::max(name_width, escaped(tensor.name, 0).size());
        shape_width = std::max(shape_width, shape_text(tensor.shape).size());
    }
    for (const check::TensorResult& tensor : report.tensors)
        fmt::print("  {:<{}}  {:<{}}  abs {:<9.3g} rel {:<9.3g} {}{}\n", escaped(tensor.name, 0), name_width, shape_text(tensor.shape),
                   shape_width, tensor.max_abs, tensor.max_rel, tensor.ok ? "ok" : "FAIL",
                   tensor.undetermined > 0 ? fmt::format(", {} more undetermined by rounding", tensor.undetermined) : "");
}

/// Checks every file even after a failure; returns the exit code of the worst outcome.
int check_all(const CheckOptions& options) {
    int worst = kExitOk;
    for (const std::filesystem::path& file : options.files) {
        try {
            const check::Report report = check::check_file(file, {options.in_double});
            print(report);
            flush_output();
            if (!report.ok()) worst = std::max(worst, kExitMismatch);
        } catch (const IoError& error) {
            complain(error.what());
            worst = kExitBadInput;
        }
    }
    return worst;
}

}  // namespace

void add_check_command(CliCommand program, int& exit_code) {
    auto options = std::make_shared<CheckOptions>();
    CliCommand command = program.command("check", "Recompute reference files and compare every tensor");
    command
        .option("FILE", options->files,
                "Reference files (.safetensors of the format attnscope-case/1, .npz of a worked example), or a model's folder with an "
                "expected.safetensors, or its NAME.gguf with a NAME.expected.safetensors")
        .required();
    command.flag("--double", options->in_double, "Recompute in double instead of float");
    command.footer("Exit code: 0 all within tolerance, 1 a mismatch, 2 a file that cannot be read or recomputed.");
    command.on_run([options, &exit_code] { exit_code = check_all(*options); });
}

}  // namespace attn::app
