/// attnscope train: trains a model without a window.

#include <fmt/core.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "app/cli/commands.hpp"
#include "app/cli/complaint.hpp"
#include "app/cli/run_pictures.hpp"
#include "app/cli/run_saver.hpp"
#include "app/cli/setting_patch.hpp"
#include "app/cli/stop_signal.hpp"
#include "app/cli/train_options.hpp"
#include "app/cli/train_progress.hpp"
#include "app/platform/platform_error.hpp"
#include "engine/families/stored_parameters.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/file_error.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/train/long_curve.hpp"
#include "engine/train/resume.hpp"

namespace attn::app {
namespace {

constexpr int kSignalExit = 128;  ///< exit code for death by signal, plus the signal's number, as in shells

constexpr const char *kCurvesPicture = "curves.png", *kAttentionPicture = "attention.png";

/// Discards unwritten output after a write error; the exit code reports it.
void forget_output() {
    ::__fpurge(stdout);
    std::clearerr(stdout);
}

/// Trains, evaluates, prints and saves until the run ends or is stopped.
class TrainCommand {
public:
    explicit TrainCommand(const TrainOptions& options)
        : options_(options), saver_(options.save, options.resume_file), wanted_(make_run(options)), run_(*wanted_.run),
          files_(std::move(wanted_.past)), start_(start()),
          progress_(style(), start_, run_.settings().stop.steps, run_.steps() > 0 ? rates() : std::vector<RateAt>()) {}

    int run() {
        const StopSignal signals;
        saver_.begin(run_);
        if (!options_.save.out.empty())
            for (const char* picture : {kCurvesPicture, kAttentionPicture}) AtomicFile try_out(options_.save.out / picture);
        if (!options_.json) print_start();
        tell_what_is_kept(false);
        const std::string failure = train();
        progress_.finish();
        if (!failure.empty()) complain(failure);
        const std::string lost = saver_.save_last(run_, files_);
        if (!lost.empty()) complain(lost);
        const bool drawn = options_.save.out.empty() || !saver_.saved() || draw();
        const bool shipped = finished_.empty() || options_.half_file.empty() || write_half();
        if (!options_.json) print_end();
        tell_what_is_kept(true);
        if (StopSignal::received() != 0 && std::ferror(stdout) != 0) forget_output();
        if (!lost.empty() || !drawn || !shipped) return kExitBadInput;
        if (!failure.empty()) return kExitMismatch;
        // A complete run counts as success even if a signal arrived during its last step.
        return finished_.empty() ? kSignalExit + StopSignal::received() : kExitOk;
    }

private:
    ProgressStyle style() const {
        return options_.json ? ProgressStyle::Json : ::isatty(STDOUT_FILENO) != 0 ? ProgressStyle::Bar : ProgressStyle::Lines;
    }

    std::vector<RateAt> rates() const { return rates_left(run_.settings(), run_.steps()); }

    LossPoint start() const {
        LossPoint point = files_.losses.empty() ? LossPoint{} : files_.losses.back();
        point.step = run_.steps();
        return point;
    }

    /// Runs the training loop. Returns why it failed; "" if it ended normally.
    std::string train() {
        try {
            if (run_.evaluation_due()) progress_.begin(evaluate());
            for (finished_ = run_.finished(); finished_.empty() && StopSignal::received() == 0; finished_ = run_.finished()) {
                LossPoint point = run_.step();
                point.seconds += start_.seconds;
                point.tokens += start_.tokens;
                add_point(files_.losses, point);
                std::optional<ValidationPoint> validation;
                if (run_.evaluation_due()) validation = evaluate();
                progress_.step(point, validation);
                if (saver_.due(point.step)) save();
            }
        } catch (const NotFinite& error) {
            return fmt::format("{}; {}", error.what(),
                               options_.save.out.empty() ? "nothing was saved, as there is no --out" : "the weights before it are saved");
        }
        return "";
    }

    ValidationPoint evaluate() {
        const ValidationPoint point = run_.evaluate();
        const bool again = !files_.validations.empty() && files_.validations.back().step == point.step;
        if (again) return point;  // already evaluated before the run was resumed
        add_point(files_.validations, point);
        add_point(files_.heads,
                  score_heads(run_.keep().parameters, run_.dataset().probe_batch(), run_.settings().train.forward, point.step));
        return point;
    }

    void save() {
        const std::string said = saver_.save(run_, files_);
        if (said.empty()) return;
        progress_.event(saver_.saved() ? "saved" : "save_failed", run_.steps(), said);
        complain(said);
    }

    /// False if a picture could not be written. If rendering is impossible without a display, that is only mentioned.
    bool draw() {
        files_.checkpoint = take_checkpoint(run_);
        try {
            write_png(options_.save.out / kCurvesPicture, draw_curves(files_));
            write_png(options_.save.out / kAttentionPicture, draw_attention(files_, run_.dataset()));
        } catch (const PlatformError& error) {
            complain(fmt::format("{} and {} were not drawn: {}", kCurvesPicture, kAttentionPicture, error.what()));
        } catch (const FileError& error) {
            complain(error.what());
            return false;
        }
        return true;
    }

    /// False if the file could not be written.
    bool write_half() const {
        try {
            write_half_checkpoint(options_.half_file, take_checkpoint(run_));
            return true;
        } catch (const FileError& error) {
            complain(error.what());
            return false;
        }
    }

    void print_start() const {
        const RunSettings& settings = run_.settings();
        const TaskInfo& task = task_info(settings.task.kind);
        fmt::print("{}: {}\n", task.title, task.explanation);
        fmt::print("{} layers, {} heads, width {}, {} parameters; batches of {}; seed {}; {} threads\n", settings.model.num_layers,
                   settings.model.num_heads, settings.model.d_model, run_.state().parameters().count(), settings.batch_size, settings.seed,
                   thread_budget());
        if (run_.steps() > 0) fmt::print("resumed after step {}\n", run_.steps());
        if (const std::vector<RateAt> left = rates(); !left.empty()) fmt::print("learning rate: {}\n", rates_text(left));
    }

    /// What the folder will lack, or has not got, compared with what one may expect of it.
    void tell_what_is_kept(bool at_end) const {
        const std::string out = escaped(options_.save.out.native(), 0);
        if (options_.save.out.empty()) {
            if (!options_.half_file.empty()) return;
            const std::string resumed =
                options_.resume_file.empty() ? "" : fmt::format(", and {} stays as it is", escaped(options_.resume_file.native(), 0));
            return tell(at_end ? fmt::format("nothing of this run was kept{}: --out DIR keeps it", resumed)
                               : fmt::format("nothing of this run will be kept{}: there is no --out", resumed));
        }
        const std::string unlike = unlike_transformers(run_.settings().model, run_.settings().train.forward);
        if (!unlike.empty() && (!at_end || saver_.saved()))
            tell(fmt::format("{} {} no config.json for Hugging Face's transformers: {}", out, at_end ? "has" : "gets", unlike));
    }

    /// On standard error where standard output is for programs.
    void tell(const std::string& line) const {
        if (options_.json) complain(line);
        else progress_.print(line + "\n");
    }

    void print_end() const {
        if (start_.step > 0 && run_.steps() == start_.step && !finished_.empty()) {
            const std::int64_t wanted = run_.settings().stop.steps;
            const bool by_steps = wanted > 0 && wanted <= start_.step;
            progress_.print(fmt::format("nothing was trained, as the run was finished: {}{}\n", finished_,
                                        by_steps ? "; --steps counts those as well" : ""));
        } else {
            const char* const ended = finished_.empty() ? "stopped" : "finished";
            progress_.print(fmt::format("{} after step {}{}{}\n", ended, run_.steps(), finished_.empty() ? "" : ": ", finished_));
        }
        if (const std::string lengths = files_.validations.empty() ? "" : lengths_text(files_.validations.back().by_length);
            !lengths.empty())
            progress_.print(fmt::format("accuracy by length: {}\n", lengths));
        if (options_.save.out.empty() || !saver_.saved()) return;
        const std::string file = (options_.save.out / kCheckpointName).string();
        progress_.print(fmt::format("{}: model and curves; continue with --resume {}, generate text with attnscope sample --model {}\n",
                                    options_.save.out.string(), file, file));
    }

    const TrainOptions& options_;
    RunSaver saver_;
    WantedRun wanted_;
    TrainingRun& run_;
    RunFolder files_;
    LossPoint start_;  ///< the run's position when this process started
    TrainProgress progress_;
    std::string finished_;  ///< why the run finished; "" if it is still going, was stopped, or failed
};

constexpr const char* kTrainExamples =
    "Examples:\n"
    "  attnscope train --task repeat --out runs/repeat\n"
    "  attnscope train --task copy --steps 500 --set train.schedule.rate=0.001 --set model.num_layers=1 --json\n"
    "  attnscope train --text-file my.txt --steps 3000 --seed 7 --out runs/my\n"
    "  attnscope train --resume runs/my/model.safetensors --steps 6000 --out runs/my\n"
    "DIR gets model.safetensors (GPT-2's tensor names, for --resume and sample), curves.csv, heads.csv, moments/, curves.png and\n"
    "attention.png. Ctrl-C finishes the step, saves and ends with exit code 130; a second one ends at once. So do a closed terminal\n"
    "(129), a closed pipe as in attnscope train --json | head (141), and SIGTERM (143). Numbers that are not finite end the run with\n"
    "exit code 1 and the last finite weights saved.\n"
    "A failed save is reported and tried again at the next one while training continues; if the last one fails too, the exit code is 2.\n"
    "A run that is resumed for more steps than its schedule has uses the rates of a run of that many steps, which it joins in a straight\n"
    "line within the first tenth of the steps left. The rates are printed at the start; a run whose remaining rates are all 0 is refused.\n"
    "With --json a line has step, loss, val_loss, val_accuracy, val_accuracy_by_length, lr, grad_norm and tokens_per_s; null where there\n"
    "is none. The first line of a resumed run has rates, too: the learning rate of its first and last step and between them. A line\n"
    "{\"event\": \"save_failed\", \"step\": N, \"message\": ...} says that a save failed, with \"saved\" that one after it succeeded.\n";

}  // namespace

void add_train_command(CliCommand program, int& exit_code) {
    auto options = std::make_shared<TrainOptions>();
    CliCommand command = program.command("train", "Train a small model on a task or a text");
    add_train_options(command, *options);
    command.footer(kTrainExamples + ("Settings for --set and --config (there as nested objects): " + setting_names()));
    command.on_run([options, &exit_code] {
        if (options->threads > 0) set_thread_budget(options->threads);
        exit_code = TrainCommand(*options).run();
    });
}

}  // namespace attn::app
