#pragma once
/// Training in words: what a run learns, in what it differs from others, how long it takes.

#include <span>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// "0:20", "1:02:05"
std::string duration(double seconds);
/// "Start: learns to repeat a sequence of 8 symbols"
std::string promise(const RunSettings& settings);
/// "repeated sequence"; for a text its name.
std::string task_title(const TaskSettings& task);

/// "L0 H1", of a model of two stacks "encoder L0 H1", "decoder L0 H1" or "cross L0 H1"; `weights` is the attention's stage.
std::string attention_name(const StageId& weights, std::int64_t head);

/// "1 to 7: 100 %, 8: 97 %": neighbours that round to the same share stand together. "" for a task without lengths.
std::string accuracy_by_length(std::span<const LengthAccuracy> by_length);

/// " at step 1,225" where the one of a curve's ascending `steps` that is nearest to `step` is another one, else "".
std::string other_step(std::span<const double> steps, double step);

/// What the parts of a run's settings show while they are folded: "rate 0.003, AdamW", "2 layers × 4 heads", "loss 0.02, 600 steps",
/// "temperature 1.00, top-k 5".
std::string optimizer_words(const RunSettings& settings);
std::string size_words(const RunSettings& settings);
std::string stop_words(const StopAt& stop);
std::string sampling_words(const SamplingSettings& sampling);

/// For each run its number and what distinguishes it from the others: "run 2 · lr 1e−3 · 4 heads". Runs that differ only in their number
/// have only that.
std::vector<std::string> run_names(std::span<const RunCurves> runs);

}  // namespace attn::app
