#pragma once
/// Fake engine calls that block, fail or return corrupted results.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "app/session/facets/computation.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app::test {

/// Blocks computations until opened; one that is asked to stop throws Cancelled.
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
    /// Waits until a computation has reached the gate.
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

/// The engine, whose passes stop at a gate.
inline Computation engine_behind(Gate& gate) {
    Computation engine = Computation::engine();
    engine.forward = [&gate, forward = engine.forward](const auto& parameters, const auto& tokens, const auto& source, const auto& settings,
                                                       const std::stop_token& stop) {
        gate.pass(stop);
        return forward(parameters, tokens, source, settings, stop);
    };
    return engine;
}

/// A trace without stages.
inline Trace<float> empty_trace(std::shared_ptr<const Parameters<float>> parameters, const TokenBatch& tokens, const TokenBatch& source,
                                const ForwardSettings& settings) {
    const Config config = parameters->config();
    return {config, std::make_shared<const Plan>(config, settings.mistake), settings, tokens, source, std::move(parameters), {}, {}};
}

/// An empty forward pass and a verification that always succeeds, for testing only how results are passed on.
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
        .completed = {},
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
        .lens = {},
        .totals = {},
        .examine = {},
        .knock_out = {},
    };
}

}  // namespace attn::app::test
