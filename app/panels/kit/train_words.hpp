#pragma once
/// Descriptions of training runs: tasks, differences, durations.

#include <span>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// Such as "0:20", "1:02:05".
std::string duration(double seconds);
/// The model that is trained further; "" if there is none.
std::string name_of_start(const RunSettings& settings);
/// "A small transformer", or the model that is trained further.
std::string subject_of_run(const RunSettings& settings);
/// Such as "Start: learns to repeat a sequence of 8 symbols".
std::string promise(const RunSettings& settings);
/// Such as "repeated sequence"; the name of a training text.
std::string task_title(const TaskSettings& task);

/// Such as "1 to 7: 100 %, 8: 97 %"; lengths with equal rounded accuracy are merged. "" for a task without lengths.
std::string accuracy_by_length(std::span<const LengthAccuracy> by_length);

/// Such as " at step 1,225" if the nearest of the ascending `steps` is not `step` itself, otherwise "".
std::string other_step(std::span<const double> steps, double step);

/// Summaries of collapsed settings sections: "rate 0.003, AdamW", "2 layers × 4 heads", "loss 0.02, 600 steps".
std::string optimizer_words(const RunSettings& settings);
std::string size_words(const RunSettings& settings);
std::string stop_words(const StopAt& stop);

/// What `after` sets otherwise: "lr 3e−3 → 1e−3", "2 heads → 4 heads".
std::vector<std::string> changed_settings(const RunSettings& before, const RunSettings& after);

/// Such as "branched off run 1".
std::string origin_words(const RunOrigin& origin);

/// With what a step of the run was trained.
const RunSettings& settings_of_step(const RunCurves& run, std::int64_t step);

/// Each run's own name; else its number and the settings that distinguish it from the others: "run 2 · lr 1e−3 · 4 heads". Runs without
/// distinguishing settings have only a number, branches also where they begin.
std::vector<std::string> run_names(std::span<const RunCurves> runs);

}  // namespace attn::app
