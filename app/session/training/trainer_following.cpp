/// Following a run that another process trains: its folder is read again whenever that has saved.

#include <exception>
#include <utility>

#include "app/session/training/trainer.hpp"

namespace attn::app {
namespace {

/// Those later than all that are known.
template <class T>
void add_later(std::vector<T>& unpublished, const std::vector<T>& published, std::vector<T>& read) {
    const std::int64_t known = published.empty() ? -1 : published.back().step;
    for (T& point : read)
        if (point.step > known) unpublished.push_back(std::move(point));
}

}  // namespace

void Trainer::follow_folder() {
    if (ending_ || !FolderWatch::is_written(state_.file)) return;
    state_.followed = true;
    watch_.begin(state_.file,
                 [this, run = state_.run](bool ended) { queue([this, run, ended](const std::stop_token&) { read_again(run, ended); }); });
    // The destructor may have ended the watch just before it began.
    if (ending_) watch_.end();
}

void Trainer::stop_following() {
    state_.followed = false;
    watch_.end();
}

void Trainer::read_again(std::uint64_t run, bool ended) {
    if (state_.run != run || !state_.followed) return;
    state_.followed = !ended;
    const std::optional<FileStamp> stamp = stamp_of_run(state_.file);
    std::unique_ptr<LiveRun> read;
    try {
        read = engine_.open(state_.file);
    } catch (const std::exception&) {
        // Between two of its files; there is another look after the next one.
    }
    if (read == nullptr || read->steps() <= run_->steps()) return rest();
    PastPoints past = read->take_past();
    run_ = std::move(read);
    run_->hold(staying_.all());
    give_room();
    add_later(unpublished_.losses, published_.losses, past.losses);
    add_later(unpublished_.validations, published_.validations, past.validations);
    add_later(unpublished_.heads, published_.heads, past.heads);
    for (const ValidationPoint& point : unpublished_.validations) hold_if_best(point);
    if (!unpublished_.losses.empty()) {
        busy_ = unpublished_.losses.back().seconds;
        tokens_ = unpublished_.losses.back().tokens;
    }
    state_.stamp = stamp;
    state_.saved_step = past.name == published_.name ? run_->steps() : -1;  // a name given here is not in the file
    rest();
}

}  // namespace attn::app
