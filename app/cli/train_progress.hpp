#pragma once
/// What `attnscope train` prints while it goes on.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/curve.hpp"
#include "engine/train/schedule.hpp"

namespace attn::app {

/// "1.50e-04 at step 1, 3.00e-03 at step 20, 7.40e-09 at step 1000"
std::string rates_text(const std::vector<RateAt>& rates);
/// "1: 100.0 %, 2: 98.5 %"
std::string lengths_text(const std::vector<LengthAccuracy>& by_length);

enum class ProgressStyle : std::uint8_t {
    Bar,    ///< one line that is written over and over, for a terminal
    Lines,  ///< a line an evaluation
    Json,   ///< a line of JSON a step
};

class TrainProgress {
public:
    /// `start`: where the run stood when this process began (its step, seconds and tokens count); `last_step`: at which it ends at the
    /// latest, 0 for none; `rates`: what is to be said of them in JSON, as rates_left().
    TrainProgress(ProgressStyle style, const LossPoint& start, std::int64_t last_step, std::vector<RateAt> rates);
    /// To stdout, at once: whoever reads wants to see it now. That it cannot be written is remembered by the stream and no reason to end
    /// a run.
    static void print(const std::string& text);
    /// The model before the first step of this process.
    void begin(const ValidationPoint& validation);
    /// A step, with the evaluation that followed it, if one did.
    void step(const LossPoint& loss, const std::optional<ValidationPoint>& validation);
    /// Something that happened between two steps. Only as a line of JSON: in the other styles it makes room for what is printed next.
    void event(const std::string& name, std::int64_t step, const std::string& message);
    /// Before anything else is printed.
    void finish();

private:
    void print_json(const LossPoint* loss, const std::optional<ValidationPoint>& validation);
    void print_line() const;
    void draw_bar();
    std::vector<std::string> bar_parts() const;  ///< the first are those that a narrow terminal shows
    double tokens_per_second() const;            ///< of this process so far

    ProgressStyle style_;
    LossPoint start_, loss_, before_;  ///< the newest step and the one before it
    std::int64_t last_step_;
    std::vector<RateAt> rates_;                  ///< that have not been told yet
    std::optional<ValidationPoint> validation_;  ///< the newest
    std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace attn::app
