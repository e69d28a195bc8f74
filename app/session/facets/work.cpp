#include "app/session/facets/work.hpp"

#include <algorithm>
#include <atomic>
#include <exception>

#include "app/session/document/prepare.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// Up to this size a single thread finishes before a team of threads has started, especially while the window or a training run keeps the
/// cores busy.
constexpr double kOneThreadMiB = 16;
/// More threads would starve the window and training.
constexpr int kMostThreads = 4;

void expect_intact_model(const StateRef& state) {
    if (state != nullptr) state->setup->model.require_intact();
}

void expect_intact_models(const Request& request, const Asked& asked) {
    expect_intact_model(request.state);
    for (const Request& need : asked.needs)
        if (need.state != request.state) expect_intact_model(need.state);
}

}  // namespace

int threads_for(double mib, int available) { return mib <= kOneThreadMiB ? 1 : std::min(available, kMostThreads); }

void KeptByLane::use_threads_for(double mib) const { set_thread_budget(threads_for(mib, threads)); }

void Work::expect_room(double mib) const { app::expect_room(mib, room_mib); }

FacetValue carried_out(const Request& request, const Asked& asked, const Work& work) {
    if (asked.mib_of_all_stages) work.kept.use_threads_for(*asked.mib_of_all_stages);
    Work checked = work;
    checked.progress = [&](std::size_t done, std::size_t total, std::shared_ptr<const void> so_far) {
        if (so_far != nullptr) expect_intact_models(request, asked);
        work.progress(done, total, std::move(so_far));
    };
    FacetValue made;
    try {
        if (asked.error != nullptr) std::rethrow_exception(asked.error);
        made = asked.job(checked);
    } catch (const Cancelled&) {
        throw;
    } catch (...) {
        expect_intact_models(request, asked);  // if they are not, that explains any other error
        throw;
    }
    expect_intact_models(request, asked);
    return made;
}

std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

}  // namespace attn::app
