/// attnscope train: a training run without a window.

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "app/cli/commands.hpp"
#include "app/cli/run_pictures.hpp"
#include "app/cli/setting_patch.hpp"
#include "app/cli/stop_signal.hpp"
#include "app/cli/train_options.hpp"
#include "app/cli/train_progress.hpp"
#include "app/platform/platform_error.hpp"
#include "engine/io/file_error.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/train/resume.hpp"

namespace attn::app {
namespace {

constexpr auto kSaveInterval = std::chrono::seconds(60);
constexpr int kSignalExit = 128;  ///< what a shell reports of a program that a signal ended, on top of the signal's number

/// A folder that cannot be written is to be found out before the training.
void require_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
    if (error) throw FileError(FileFault::Io, escaped(folder.native(), 0), "", "cannot be written: " + error.message());
}

/// Steps, evaluates, prints and saves until the run ends in one way or another.
class TrainCommand {
public:
    explicit TrainCommand(const TrainOptions& options)
        : options_(options), wanted_(make_run(options)), run_(*wanted_.run), files_(std::move(wanted_.past)), start_(start()),
          progress_(style(), start_, run_.settings().stop.steps) {}

    int run() {
        const StopSignal signals;
        if (!options_.out.empty()) require_folder(options_.out);
        if (!options_.json) print_start();
        const std::string failure = train();
        progress_.finish();
        if (!failure.empty()) std::cerr << "attnscope: " << failure << '\n';
        if (!options_.out.empty()) {
            save();
            draw();
        }
        if (!options_.json) print_end();
        if (!failure.empty()) return kExitMismatch;
        // A run that came to its end did what was asked, also when a signal came with its last step.
        return finished_.empty() ? kSignalExit + StopSignal::received() : kExitOk;
    }

private:
    ProgressStyle style() const {
        return options_.json ? ProgressStyle::Json : ::isatty(STDOUT_FILENO) != 0 ? ProgressStyle::Bar : ProgressStyle::Lines;
    }

    LossPoint start() const {
        LossPoint point = files_.losses.empty() ? LossPoint{} : files_.losses.back();
        point.step = run_.steps();
        return point;
    }

    /// Why it could not go on; "" when it ended as it should.
    std::string train() {
        try {
            if (run_.evaluation_due()) progress_.begin(evaluate());
            for (finished_ = run_.finished(); finished_.empty() && StopSignal::received() == 0; finished_ = run_.finished()) {
                LossPoint point = run_.step();
                point.seconds += start_.seconds;
                point.tokens += start_.tokens;
                files_.losses.push_back(point);
                std::optional<ValidationPoint> validation;
                if (run_.evaluation_due()) validation = evaluate();
                progress_.step(point, validation);
                if (!options_.out.empty() && std::chrono::steady_clock::now() - saved_ >= kSaveInterval) save();
            }
        } catch (const NotFinite& error) {
            return fmt::format("{}; {}", error.what(),
                               options_.out.empty() ? "nothing was kept, for want of --out" : "the weights before it are kept");
        }
        return "";
    }

    ValidationPoint evaluate() {
        const ValidationPoint point = run_.evaluate();
        const bool again = !files_.validations.empty() && files_.validations.back().step == point.step;
        if (again) return point;  // the run that is taken up had done it
        files_.validations.push_back(point);
        files_.heads.push_back(
            score_heads(run_.keep().parameters, run_.dataset().probe_batch(), run_.settings().train.forward, point.step));
        return point;
    }

    void save() {
        RunFolder folder;
        folder.checkpoint = take_checkpoint(run_);
        folder.losses = files_.losses;
        folder.validations = files_.validations;
        folder.heads = files_.heads;
        run_.keep();
        folder.moments = run_.history().moments();
        write_run_folder(options_.out, folder);
        saved_ = std::chrono::steady_clock::now();
    }

    void draw() {
        files_.checkpoint = take_checkpoint(run_);
        try {
            write_png(options_.out / "curves.png", draw_curves(files_));
            write_png(options_.out / "attention.png", draw_attention(files_, run_.dataset()));
        } catch (const PlatformError& error) {
            std::cerr << "attnscope: curves.png and attention.png were not drawn: " << error.what() << '\n';
        }
    }

    void print_start() const {
        const RunSettings& settings = run_.settings();
        const TaskInfo& task = task_info(settings.task.kind);
        fmt::print("{}: {}\n", task.title, task.explanation);
        fmt::print("{} layers, {} heads, width {}, {} parameters; batches of {}; seed {}; {} threads\n", settings.model.num_layers,
                   settings.model.num_heads, settings.model.d_model, run_.state().parameters().count(), settings.batch_size, settings.seed,
                   thread_budget());
        if (run_.steps() > 0) fmt::print("taken up after step {}\n", run_.steps());
    }

    void print_end() const {
        const char* const ended = finished_.empty() ? "stopped" : "finished";
        fmt::print("{} after step {}{}{}\n", ended, run_.steps(), finished_.empty() ? "" : ": ", finished_);
        if (options_.out.empty()) return;
        const std::string file = (options_.out / kCheckpointName).string();
        fmt::print("{}: model and curves; go on with --resume {}, write with attnscope sample --model {}\n", options_.out.string(), file,
                   file);
    }

    const TrainOptions& options_;
    WantedRun wanted_;
    TrainingRun& run_;
    RunFolder files_;
    LossPoint start_;  ///< where the run stood when this process began
    TrainProgress progress_;
    std::string finished_;  ///< why the run ended; "" while it goes on, when it was stopped and when it failed
    std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

constexpr const char* kExamples =
    "Examples:\n"
    "  attnscope train --task repeat --out runs/repeat\n"
    "  attnscope train --task copy --steps 500 --set train.schedule.rate=0.001 --set model.num_layers=1 --json\n"
    "  attnscope train --text-file my.txt --steps 3000 --seed 7 --out runs/my\n"
    "  attnscope train --resume runs/my/model.safetensors --steps 6000 --out runs/my\n"
    "DIR gets model.safetensors (GPT-2's tensor names, for --resume and sample), curves.csv, heads.csv, moments/, curves.png and\n"
    "attention.png. Ctrl-C finishes the step, saves and ends with exit code 130; a second one ends at once. Numbers that are not finite\n"
    "end the run with exit code 1 and the last finite weights saved.\n"
    "With --json a line has step, loss, val_loss, val_accuracy, lr, grad_norm and tokens_per_s; null where there is none.\n";

}  // namespace

void add_train_command(CLI::App& program, int& exit_code) {
    auto options = std::make_shared<TrainOptions>();
    CLI::App* command = program.add_subcommand("train", "Train a small model on a task or a text");
    add_train_options(*command, *options);
    command->footer(kExamples + ("Settings for --set and --config (there as nested objects): " + setting_names()));
    command->callback([options, &exit_code] {
        if (options->threads > 0) set_thread_budget(options->threads);
        exit_code = TrainCommand(*options).run();
    });
}

}  // namespace attn::app
