#pragma once
/// What a worker has to say however little memory there is, because someone waits for it.

#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <thread>

namespace attn::app {

/// Calls f() and returns what it returns; where memory is wanting, again and again for a second, since other threads may give some back.
/// Throws std::bad_alloc after that. `f` has to bear being called again, and not to wait in the same way itself.
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

/// The error's message; `instead` where memory was wanting.
inline std::string message_of(const std::exception& error, const char* instead = "there is not enough memory for this") {
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    return when_memory_allows([&] { return std::string(no_memory ? instead : error.what()); });
}

}  // namespace attn::app
