#pragma once
/// Engine calls that a test holds up, makes fail or corrupts.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "app/session/facets/computation.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app::test {

/// Holds computations up until it is opened; one that is told to stop leaves with Cancelled.
class Gate {
public:
    void pass(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, stop, [this] { return open_; });
        --waiting_;
        if (stop.stop_requested()) {
            ++abandoned_;
            changed_.notify_all();
            throw Cancelled();
        }
    }
    void open() { set(true); }
    void close() { set(false); }
    /// Returns once a computation stands at the gate.
    void await_arrival() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return waiting_ > 0; });
    }
    void await_abandoned(int count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return abandoned_ >= count; });
    }
    int abandoned() {
        const std::lock_guard lock(mutex_);
        return abandoned_;
    }

private:
    void set(bool open) {
        {
            const std::lock_guard lock(mutex_);
            open_ = open;
        }
        changed_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool open_ = true;
    int waiting_ = 0, abandoned_ = 0;
};

/// Of a model that has computed nothing.
inline Trace<float> empty_trace(std::shared_ptr<const Parameters<float>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                                const ForwardSettings& settings) {
    const Config config = parameters->config();
    return {config, std::make_shared<const Plan>(config, settings.mistake), settings, tokens, source, std::move(parameters), {}, {}};
}

/// A forward pass without stages and a verification that says yes: only the hand-over is real.
inline Computation empty_computation() {
    return {
        .parameters = [](const Config& config, const Parameters<float>*) { return Parameters<float>(config); },
        .forward =
            [](std::shared_ptr<const Parameters<float>> parameters, const TokenBatch& tokens, const TokenBatch& source,
               const ForwardSettings& settings, const std::stop_token& stop) {
                if (stop.stop_requested()) throw Cancelled();
                return empty_trace(std::move(parameters), tokens, source, settings);
            },
        .outline = {},
        .continued = {},
        .edited = {},
        .inside = {},
        .region = {},
        .verify =
            [](const Trace<float>&, const std::stop_token& stop) {
                if (stop.stop_requested()) throw Cancelled();
                return reference::Verification{};
            },
        .verify_part = {},
        .gradients = {},
        .sample = {},
        .write = {},
        .readings = {},
        .examine = {},
        .knock_out = {},
    };
}

}  // namespace attn::app::test
