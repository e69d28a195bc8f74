#pragma once
/// What the subcommands of `attnscope bench` share: their options, the times they print, and how many operations they count.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/arguments.hpp"
#include "app/cli/machine_peak.hpp"
#include "engine/io/json.hpp"

namespace attn::app {

void add_bench_train(CliCommand bench);
void add_bench_attention(CliCommand bench);
void add_bench_gemm(CliCommand bench);
void add_bench_model(CliCommand bench);
void add_bench_peak(CliCommand bench);

struct BenchOptions {
    int threads = 0;         ///< 0: as many as OpenMP would use
    std::int64_t steps = 0;  ///< measured repetitions; 0: the command's own number
    bool json = false;
};

/// --threads, --steps and --json.
void add_bench_options(CliCommand command, BenchOptions& options);
/// From now on this thread's work is spread over the number of threads asked for, which is returned.
int use_threads(const BenchOptions& options);

/// Of at least one.
double median(std::vector<double> values);

struct Timing {
    std::int64_t count = 0;
    double median_ms = 0, min_ms = 0;
};

/// Repetitions of one step, each with the processor's peak at that moment.
class StepTimes {
public:
    explicit StepTimes(int threads) : peak_(threads) {}

    /// Runs the step, and remembers how long it took if it counts.
    template <class F>
    void run(const F& step, bool counts) {
        const double before = peak_.gflops();
        const auto start = std::chrono::steady_clock::now();
        step();
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        if (counts) all_.push_back({time.count(), (before + peak_.gflops()) / 2});
    }
    /// After at least one that counts.
    Timing timing() const;
    /// Median of the steps' rates, of so many operations each, over the peaks around them.
    double share_of_peak(double operations) const;

private:
    struct Step {
        double ms, peak_gflops;
    };
    MomentaryPeak peak_;
    std::vector<Step> all_;
};

/// Floating-point operations of the matrix products of one step, with attention maps counted as whole squares and, for a causal
/// mask (else 0), without the half that it forbids.
struct Operations {
    double full = 0, half = 0;
};

/// What one benchmark found, and on what machine.
struct BenchResult {
    Timing timing;
    double tokens = 0;  ///< of one step
    Operations operations;
    double peak_gflops = 0;              ///< of multiply-adds in registers, same threads, same run
    double share_of_momentary_peak = 0;  ///< of the whole squares: StepTimes::share_of_peak()
    std::int64_t peak_bytes = 0;
    double bytes_per_token = 0;
    int threads = 1;
};

/// Appends the fields that every benchmark of steps has.
void append_fields(const BenchResult& result, Json& line);
/// The same in words, one line each, indented.
std::string describe(const BenchResult& result, const std::string& step);
/// One-minute load average, the busy threads of the whole machine; negative where the system does not say.
double load_average();

}  // namespace attn::app
