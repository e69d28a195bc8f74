/// Measures how long the scheduler takes for many requests at once, as for a view of all heads whose maps are requested one by one, apart
/// from the computing, which is quick here; and how long it keeps the caller, which in the window is the thread that draws.
///
/// Usage: requests_bench [REPEATS]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "app/session/facets/scheduler.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/snapshot.hpp"
#include "tests/bench/teaching_size.hpp"

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHeads = 12;
constexpr int kTokens = 26;

double ms_since(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

StateRef state_of(int layers) {
    Setup setup;
    setup.texts = {words(kTokens)};
    setup.config.num_layers = layers;
    setup.config.num_heads = setup.config.num_kv_heads = kHeads;
    setup.config.d_model = 4 * kHeads;
    return std::make_shared<const State>(State{std::make_shared<const Setup>(std::move(setup)), Drawn{}});
}

/// A map of each head, which needs the norms of its layer's values, and those the trace.
std::vector<Request> requests(const StateRef& state, int layers) {
    std::vector<Request> all{{state, facet::Trace{}}};
    for (int layer = 0; layer < layers; ++layer)
        for (std::int64_t head = 0; head < kHeads; ++head)
            all.push_back({state, facet::ChangedSlice{.stage = {Stage::Weights, layer}, .head = head, .change = {.norm_weighted = true}}});
    return all;
}

bool measure(int layers, int repeats) {
    const StateRef state = state_of(layers);
    const std::vector<Request> all = requests(state, layers);
    const StateRef other_state = state_of(layers);
    std::vector<double> took, kept, moved;
    for (int i = 0; i < repeats; ++i) {
        Scheduler scheduler(Computation::engine(), [] {});
        scheduler.want({all.front()});
        scheduler.wait();
        const auto begin = Clock::now();
        scheduler.want(all);
        scheduler.wait();
        took.push_back(ms_since(begin));
        for (const Request& request : all)
            if (const auto fact = scheduler.results().find(request); fact == nullptr || fact->value == nullptr) {
                fmt::print(stderr, "{}\n", fact == nullptr ? "a request has no answer" : fact->problem);
                return false;
            }
        std::vector<Request> others = all;
        std::reverse(others.begin() + 1, others.end());
        const auto asked = Clock::now();
        scheduler.want(std::move(others));
        kept.push_back(ms_since(asked));
        std::vector<Request> elsewhere = requests(other_state, layers);
        const auto moves = Clock::now();
        scheduler.want(std::move(elsewhere));
        moved.push_back(ms_since(moves));
    }
    fmt::print("{} requests with needs: all answered after a median of {:.2f} ms; a change of the list takes {:.3f} ms, another "
               "state {:.3f} ms\n",
               all.size() - 1, percentile(took, 0.5), percentile(kept, 0.5), percentile(moved, 0.5));
    return true;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) {
    const int repeats = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
    for (const int layers : {1, 4, 12, 24})
        if (!attn::app::measure(layers, repeats)) return 1;
    return 0;
}
