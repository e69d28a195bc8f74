#pragma once
/// Shared by the subcommands of `attnscope-dev bench`: options, timing, and operation counts.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/arguments.hpp"
#include "app/dev/machine_peak.hpp"
#include "engine/io/json.hpp"

namespace attn::app {

void add_bench_train(CliCommand bench);
void add_bench_attention(CliCommand bench);
void add_bench_gemm(CliCommand bench);
void add_bench_model(CliCommand bench);
void add_bench_peak(CliCommand bench);

struct BenchOptions {
    int threads = 0;         ///< 0: OpenMP's default
    std::int64_t steps = 0;  ///< measured repetitions; 0: the command's default
    bool json = false;
};

/// Adds --threads, --steps and --json.
void add_bench_options(CliCommand command, BenchOptions& options);
/// Sets the number of threads for this thread's work and returns it.
int use_threads(const BenchOptions& options);

/// `values` must not be empty.
double median(std::vector<double> values);

struct Timing {
    std::int64_t count = 0;
    double median_ms = 0, min_ms = 0;
};

/// Timings of a repeated step, each with the processor's peak performance at that moment.
class StepTimes {
public:
    /// `fastest` is the kernel build that the peak is measured with.
    StepTimes(KernelBuild fastest, int threads) : peak_(fastest, threads) {}

    /// Runs the step and records its time if `counts`; false for warm-up steps.
    template <class F>
    void run(const F& step, bool counts) {
        const double before = peak_.gflops();
        const auto start = std::chrono::steady_clock::now();
        step();
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        if (counts) all_.push_back({time.count(), (before + peak_.gflops()) / 2});
    }
    /// Requires at least one recorded step.
    Timing timing() const;
    /// The median over the steps of their rate, given `operations` per step, divided by the peak measured around them.
    double share_of_peak(double operations) const;

private:
    struct Step {
        double ms, peak_gflops;
    };
    MomentaryPeak peak_;
    std::vector<Step> all_;
};

/// Floating-point operations of a step's matrix products: `full` counts complete attention maps; `half`, for a causal mask (otherwise 0),
/// only the unmasked half.
struct Operations {
    double full = 0, half = 0;
};

/// The result of a benchmark and the machine's peak.
struct BenchResult {
    Timing timing;
    double tokens = 0;  ///< per step
    Operations operations;
    double peak_gflops = 0;              ///< of multiply-adds in registers, with the same threads in the same run
    double share_of_momentary_peak = 0;  ///< based on complete maps, see StepTimes::share_of_peak()
    std::int64_t peak_bytes = 0;
    double bytes_per_token = 0;
    int threads = 1;
};

/// Appends the JSON fields common to all benchmarks of steps.
void append_fields(const BenchResult& result, Json& line);
/// The same as text, one indented line each.
std::string describe(const BenchResult& result, const std::string& step);
/// The one-minute load average of the machine; negative if not available.
double load_average();

}  // namespace attn::app
