/// attnscope compare-weights: compares two files of the same model, such as two precisions.

#include "engine/precision/compare_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/commands.hpp"
#include "app/cli/terminal_text.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kListedBlocks = 10;

struct CompareOptions {
    std::filesystem::path a, b;
    bool json = false;
};

/// Such as "output 12, inputs 64 to 95".
std::string block_place(const WeightError& error, const BlockError& block) {
    const std::int64_t last = block.first + block.count - 1;
    if (error.rows == 1) return fmt::format("numbers {} to {}", block.first, last);
    return error.is_map ? fmt::format("output {}, inputs {} to {}", block.row, block.first, last)
                        : fmt::format("row {}, numbers {} to {}", block.row, block.first, last);
}

void print_comparison(const CompareOptions& options, const WeightComparison& comparison) {
    fmt::print("a: {}\nb: {}\n", escaped(options.a.native(), 0), escaped(options.b.native(), 0));
    std::size_t name_width = 9, size_width = 4;
    const auto percent = [](double share) { return std::isnan(share) ? "NaN" : fmt::format("{:.3g}%", 100 * share); };
    const auto size_text = [](const WeightError& error) {
        return error.rows == 1 ? fmt::format("{}", error.columns) : fmt::format("{} x {}", error.rows, error.columns);
    };
    for (const WeightError& error : comparison.parameters) {
        name_width = std::max(name_width, error.parameter.size());
        size_width = std::max(size_width, size_text(error).size());
    }
    fmt::print("{:<{}}  {:>{}}  {:<4}  {:<4}  {:>9}  {:>9}  {:>9}\n", "parameter", name_width, "size", size_width, "a", "b", "largest",
               "rms", "relative");
    for (const WeightError& error : comparison.parameters)
        fmt::print("{:<{}}  {:>{}}  {:<4}  {:<4}  {:>9.3g}  {:>9.3g}  {:>9}\n", error.parameter, name_width, size_text(error), size_width,
                   error.type_a, error.type_b, error.max, error.rms, percent(error.relative));
    fmt::print("{:<{}}  {:>{}}  {:<4}  {:<4}  {:>9.3g}  {:>9.3g}  {:>9}\n", "all", name_width, comparison.numbers, size_width, "", "",
               comparison.max, comparison.rms, percent(comparison.relative));
    std::vector<std::pair<const WeightError*, const BlockError*>> worst;
    for (const WeightError& error : comparison.parameters)
        for (const BlockError& block : error.worst) worst.emplace_back(&error, &block);
    if (worst.empty()) return;
    // Relative to the parameter's own size, since an error matters less among large weights than among small ones.
    const auto share = [](const auto& entry) {
        const double size = entry.first->relative > 0 ? entry.first->rms / entry.first->relative : 0;
        const double part = entry.second->rms / size;
        return std::isfinite(part) ? part : std::numeric_limits<double>::infinity();
    };
    std::stable_sort(worst.begin(), worst.end(), [&](const auto& a, const auto& b) { return share(a) > share(b); });
    worst.resize(std::min(worst.size(), kListedBlocks));
    fmt::print("worst blocks, with their rms error in percent of the parameter's rms in a\n");
    for (const auto& entry : worst)
        fmt::print("  {:<{}}  {:<32}  largest {:<9.3g}  rms {:<9.3g}  {:.3g}%\n", entry.first->parameter, name_width,
                   block_place(*entry.first, *entry.second), entry.second->max, entry.second->rms, 100 * share(entry));
}

void print_json(const CompareOptions& options, const WeightComparison& comparison) {
    Json::List parameters;
    for (const WeightError& error : comparison.parameters) {
        Json::List blocks;
        for (const BlockError& block : error.worst)
            blocks.push_back(
                Json{{"row", block.row}, {"first", block.first}, {"count", block.count}, {"max", block.max}, {"rms", block.rms}});
        parameters.push_back(Json{{"parameter", error.parameter},
                                  {"rows", error.rows},
                                  {"columns", error.columns},
                                  {"a", error.type_a},
                                  {"b", error.type_b},
                                  {"max", error.max},
                                  {"rms", error.rms},
                                  {"relative", error.relative},
                                  {"worst_blocks", std::move(blocks)}});
    }
    const Json all{
        {"a", options.a.string()}, {"b", options.b.string()},         {"numbers", comparison.numbers},      {"max", comparison.max},
        {"rms", comparison.rms},   {"relative", comparison.relative}, {"parameters", std::move(parameters)}};
    fmt::print("{}\n", json_line(all));
}

}  // namespace

void add_compare_weights_command(CliCommand program, int&) {
    auto options = std::make_shared<CompareOptions>();
    CliCommand command = program.command("compare-weights", "Compare the weights of the same model at two precisions, tensor by tensor");
    command.option("A", options->a, "A model's folder or GGUF file").required();
    command.option("B", options->b, "Another one of the same model, such as a quantized file").required();
    command.flag("--json", options->json, "One line of JSON: every parameter with its errors and worst blocks");
    command.footer("Lists each parameter's largest error, its rms error, and the latter in percent of the parameter's own rms.\nThe order "
                   "of rows in the two files makes no difference.\nExample:\n  attnscope compare-weights DIR FILE.gguf\n");
    command.on_run([options] {
        const WeightComparison comparison = compare_weights(open_model_folder(options->a), open_model_folder(options->b));
        if (options->json) print_json(*options, comparison);
        else print_comparison(*options, comparison);
    });
}

}  // namespace attn::app
