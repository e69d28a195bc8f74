/// attnscope doctor: examines recorded attention and identifies mistakes in it.

#include "engine/doctor/doctor.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.hpp"
#include "app/cli/complaint.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/standard_output.hpp"
#include "app/cli/terminal_text.hpp"
#include "app/cli/training_options.hpp"
#include "app/session/facets/held_stages.hpp"
#include "engine/doctor/future_leak.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"

namespace attn::app {
namespace {

struct DoctorOptions {
    std::vector<std::filesystem::path> files;
    bool json = false;
    std::optional<std::int64_t> leak;  ///< the token to change in a computed model
    DocumentOptions document;
};

std::string cell_text(const std::vector<std::int64_t>& cell) {
    std::string text;
    for (const std::int64_t index : cell) text += (text.empty() ? "" : ",") + std::to_string(index);
    return text.empty() ? "" : "[" + text + "]";
}

/// Warnings, each prefixed with the attention it refers to.
std::vector<std::string> warnings_of(const doctor::Diagnosis& diagnosis) {
    std::vector<std::string> warnings;
    for (const doctor::Finding& finding : diagnosis.findings)
        if (finding.severity == doctor::Severity::Warning)
            warnings.push_back(finding.attention.empty() ? finding.sentence : finding.attention + ": " + finding.sentence);
    return warnings;
}

/// Non-finite errors become null, since JSON has no infinity, as does what was not judged.
void print_json(const std::string& file, const doctor::Diagnosis& diagnosis) {
    Json line;
    line["file"] = file;
    line["verdict"] = doctor::verdict_name(diagnosis.verdict);
    line["bug"] = nullptr;
    if (diagnosis.bug) line["bug"] = doctor::bug_name(*diagnosis.bug);
    line["stage"] = nullptr;
    if (!diagnosis.stage.empty()) line["stage"] = diagnosis.stage;
    line["cell"] = nullptr;
    if (!diagnosis.cell.empty()) line["cell"] = diagnosis.cell;
    line["max_error"] = nullptr;
    if (std::isfinite(diagnosis.max_error) && diagnosis.verdict != doctor::Verdict::Unknown) line["max_error"] = diagnosis.max_error;
    line["explanation"] = diagnosis.explanation;
    line["attention"] = diagnosis.attention;
    line["warnings"] = warnings_of(diagnosis);
    fmt::print("{}\n", json_line(line));
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

/// Examines every file even after a failure; returns the exit code of the worst outcome.
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
            complain(error.what());
            worst = kExitBadInput;
        }
        flush_output();
    }
    return worst;
}

/// Changes one token of the first text and reports which earlier outputs changed.
int look_for_leaks(const DoctorOptions& options) {
    if (*options.leak == 0) throw Error("no output is earlier than position 0: give --leak a later position");
    const std::shared_ptr<const Snapshot> snapshot = compute(options.document, TrainingOptions{}).snapshot;
    const std::shared_ptr<const Trace<float>> trace = whole_trace(*snapshot);
    const std::vector<doctor::Leak> leaks = doctor::future_leaks(*trace, 0, *options.leak);
    const std::string& token = snapshot->tokens.at(0).at(static_cast<std::size_t>(*options.leak)).text;
    if (options.json) {
        Json line = {{"changed", *options.leak}, {"token", token}, {"moved", Json::list()}};
        for (const doctor::Leak& leak : leaks) line["moved"].push_back({{"position", leak.position}, {"change", leak.change}});
        fmt::print("{}\n", json_line(line));
    } else if (leaks.empty()) {
        fmt::print("With a different token at position {} (\"{}\") no earlier output changes: the future does not leak.\n", *options.leak,
                   escaped(token, 0));
    } else {
        fmt::print("With a different token at position {} (\"{}\") earlier outputs change, {}:\n", *options.leak, escaped(token, 0),
                   trace->settings.masks.causal ? "so the future leaks" : "as they do without a causal mask");
        for (const doctor::Leak& leak : leaks) fmt::print("  position {} by up to {:.3g}\n", leak.position, leak.change);
    }
    return leaks.empty() || !trace->settings.masks.causal ? kExitOk : kExitMismatch;
}

int run(const DoctorOptions& options) {
    if (options.leak.has_value() == !options.files.empty())
        throw Error(options.leak ? "--leak tests one of this program's models: give no files"
                                 : "give files to examine, or --leak POSITION");
    if (!options.leak && options.document.given()) throw Error("--preset, --text and --bug belong to --leak");
    return options.leak ? look_for_leaks(options) : examine_all(options);
}

}  // namespace

void add_doctor_command(CliCommand program, int& exit_code) {
    auto options = std::make_shared<DoctorOptions>();
    CliCommand command = program.command("doctor", "Examine attention recorded by any framework and name the mistake in it");
    command.option("FILE", options->files, "Files with q, k, v and any further stages (.safetensors or .npz)");
    command.flag("--json", options->json, "Print one line of JSON for each file");
    command
        .option("--leak", options->leak,
                "Instead of files: change this token of a model's text, from 0, and list the earlier outputs that changed")
        .shown_as("POSITION")
        .between(0, std::int64_t{1} << 30);
    add_document_options(command, options->document);
    command.footer("Exit code: 0 correct, 1 something is wrong, 2 unreadable or not enough to judge. The help page on the doctor (press ? "
                   "in the window) says what a file may hold.");
    command.on_run([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace attn::app
