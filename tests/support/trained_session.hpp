#pragma once
/// A session with a small training run, for tests.

#include <algorithm>
#include <filesystem>
#include <string>

#include "app/session/session.hpp"
#include "app/session/values/held_out.hpp"
#include "engine/train/run_settings.hpp"

namespace attn::app {

inline void no_wake() {}

inline RunSettings small_run(std::int64_t steps = 24) {
    RunSettings run = default_run(TaskKind::Copy);
    run.task.length = 3;
    run.task.symbols = 6;
    run.model.d_model = 8;
    run.model.num_heads = 2;
    run.model.d_ff = 16;
    run.batch_size = 4;
    run.evaluate_every = 10;
    run.stop = {.steps = steps};
    return run;
}

inline void apply(Session& session, auto what, const std::string& merge = "") { session.apply({what, merge}); }

/// Trains until the session's run has ended.
inline void train(Session& session, const RunSettings& run = small_run()) {
    apply(session, command::SetRun{run});
    apply(session, command::StartTraining{});
    session.wait_for_training();
}

/// The answers of the shown model to held-out sequences of the current run, as the Train view asks for them.
inline facet::HeldOut held_out(const Session& session) {
    const RunStatus& run = *session.training().status;
    facet::HeldOut asked{run.held_out, run.settings.train.forward};
    asked.forward.dropout = {};
    return asked;
}

/// Saves the current run in a folder.
inline void save_run(Session& session, const std::filesystem::path& folder) {
    apply(session, command::SaveRun{session.training().status->run, folder});
    session.wait_for_files();
}

inline bool same_numbers(const Parameters<float>& a, const Parameters<float>& b) {
    return a.count() == b.count() && std::equal(a.data(), a.data() + a.count(), b.data());
}

}  // namespace attn::app
