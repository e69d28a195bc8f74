#pragma once
/// The output of `attnscope train` while it runs.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/curve.hpp"
#include "engine/train/schedule.hpp"

namespace attn::app {

/// Such as "1.50e-04 at step 1, 3.00e-03 at step 20, 7.40e-09 at step 1000".
std::string rates_text(const std::vector<RateAt>& rates);
/// Such as "1: 100.0 %, 2: 98.5 %".
std::string lengths_text(const std::vector<LengthAccuracy>& by_length);

enum class ProgressStyle : std::uint8_t {
    Bar,    ///< a single line, updated in place, for terminals
    Lines,  ///< one line per evaluation
    Json,   ///< one line of JSON per step
};

class TrainProgress {
public:
    /// `start`: the run's step, seconds and tokens when this process started; `last_step`: the last possible step, 0 for no limit; `rates`:
    /// learning rates to report in JSON, see rates_left().
    TrainProgress(ProgressStyle style, const LossPoint& start, std::int64_t last_step, std::vector<RateAt> rates);
    /// Prints and flushes immediately. Write errors are left in the stream's state and do not end a run.
    static void print(const std::string& text);
    /// Reports the model before the first step of this process.
    void begin(const ValidationPoint& validation);
    /// Reports a step and the evaluation after it, if there was one.
    void step(const LossPoint& loss, const std::optional<ValidationPoint>& validation);
    /// Reports an event between two steps as a line of JSON. In the other styles it only clears the line for the next output.
    void event(const std::string& name, std::int64_t step, const std::string& message);
    /// To be called before anything else is printed.
    void finish();

private:
    void print_json(const LossPoint* loss, const std::optional<ValidationPoint>& validation);
    void print_line() const;
    void draw_bar();
    std::vector<std::string> bar_parts() const;  ///< most important first, for narrow terminals
    double tokens_per_second() const;            ///< average over this process

    ProgressStyle style_;
    LossPoint start_, loss_, before_;  ///< the latest step and the one before it
    std::int64_t last_step_;
    std::vector<RateAt> rates_;                  ///< not reported yet
    std::optional<ValidationPoint> validation_;  ///< the latest
    std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace attn::app
