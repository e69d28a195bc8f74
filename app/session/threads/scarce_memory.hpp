#pragma once
/// Helpers for worker threads that must report a result even when memory runs out, because someone is waiting for it.

#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <thread>

namespace attn::app {

/// Returns f(). On std::bad_alloc it retries for about a second, since other threads may free memory, then throws std::bad_alloc. `f` must
/// be repeatable and must not call this function itself.
template <class F>
auto when_memory_allows(const F& f) {
    constexpr int kAttempts = 100;
    for (int attempt = 1; attempt < kAttempts; ++attempt) {
        try {
            return f();
        } catch (const std::bad_alloc&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    return f();
}

/// The error's message; `instead` if memory ran out.
inline std::string message_of(const std::exception& error, const char* instead = "there is not enough memory for this") {
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    return when_memory_allows([&] { return std::string(no_memory ? instead : error.what()); });
}

}  // namespace attn::app
