/// attnscope doctor: judges recorded attention and names the mistake in it.

#include "engine/doctor/doctor.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/cli/commands.hpp"
#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

struct DoctorOptions {
    std::vector<std::filesystem::path> files;
    bool json = false;
};

std::string cell_text(const std::vector<std::int64_t>& cell) {
    std::string text;
    for (const std::int64_t index : cell) text += (text.empty() ? "" : ",") + std::to_string(index);
    return text.empty() ? "" : "[" + text + "]";
}

/// JSON has no infinity: an error that is not a number is null.
void print_json(const std::string& file, const doctor::Diagnosis& diagnosis) {
    nlohmann::ordered_json line;
    line["file"] = file;
    line["verdict"] = doctor::verdict_name(diagnosis.verdict);
    line["bug"] = nullptr;
    if (diagnosis.bug) line["bug"] = doctor::bug_name(*diagnosis.bug);
    line["stage"] = nullptr;
    if (!diagnosis.stage.empty()) line["stage"] = diagnosis.stage;
    line["cell"] = nullptr;
    if (!diagnosis.cell.empty()) line["cell"] = diagnosis.cell;
    line["max_error"] = nullptr;
    if (std::isfinite(diagnosis.max_error)) line["max_error"] = diagnosis.max_error;
    line["explanation"] = diagnosis.explanation;
    line["attention"] = diagnosis.attention;
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(const std::string& file, const doctor::Diagnosis& diagnosis) {
    fmt::print("{}: {}", escaped(file, 0), doctor::verdict_name(diagnosis.verdict));
    if (diagnosis.bug) fmt::print(", {}", doctor::bug_name(*diagnosis.bug));
    if (!diagnosis.stage.empty())
        fmt::print(" at {}{}{}", diagnosis.attention.empty() ? "" : escaped(diagnosis.attention, 0) + ".", diagnosis.stage,
                   cell_text(diagnosis.cell));
    fmt::print("\n  {}\n", escaped(diagnosis.explanation, 0));
    for (const doctor::Finding& finding : diagnosis.findings) {
        if (finding.severity == doctor::Severity::Wrong && finding.sentence == diagnosis.explanation) continue;
        const char* severity = finding.severity == doctor::Severity::Note      ? "note"
                               : finding.severity == doctor::Severity::Warning ? "warning"
                                                                               : "wrong";
        fmt::print("  {}: {}{}\n", severity, finding.attention.empty() ? "" : escaped(finding.attention, 0) + ": ",
                   escaped(finding.sentence, 0));
    }
}

int exit_code_of(doctor::Verdict verdict) {
    return verdict == doctor::Verdict::Correct ? kExitOk : verdict == doctor::Verdict::Wrong ? kExitMismatch : kExitBadInput;
}

/// Every file is tried, whatever became of the ones before; the worst outcome is what the program returns.
int examine_all(const DoctorOptions& options) {
    int worst = kExitOk;
    for (const std::filesystem::path& path : options.files) {
        const std::string name = path.string();
        try {
            const doctor::Diagnosis diagnosis = doctor::examine_file(path);
            if (options.json) print_json(name, diagnosis);
            else print_text(name, diagnosis);
            worst = std::max(worst, exit_code_of(diagnosis.verdict));
        } catch (const Error& error) {
            doctor::Diagnosis unreadable;
            unreadable.explanation = escaped(error.what(), 0);
            if (options.json) print_json(name, unreadable);
            fmt::print(stderr, "attnscope: {}\n", unreadable.explanation);
            worst = kExitBadInput;
        }
    }
    return worst;
}

}  // namespace

void add_doctor_command(CLI::App& program, int& exit_code) {
    auto options = std::make_shared<DoctorOptions>();
    CLI::App* command = program.add_subcommand("doctor", "Judge recorded attention of any framework and name the mistake in it");
    command->add_option("FILE", options->files, "Files with q, k, v and whatever stages there are (.safetensors or .npz)")->required();
    command->add_flag("--json", options->json, "Print one line of JSON for each file");
    command->footer(
        "Exit code: 0 healthy, 1 something is wrong, 2 unreadable or not enough to judge. README.md describes what a file holds.");
    command->callback([options, &exit_code] { exit_code = examine_all(*options); });
}

}  // namespace attn::app
