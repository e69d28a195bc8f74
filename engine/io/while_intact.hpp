#pragma once
/// Work on numbers in mapped files, which another program may overwrite meanwhile.

#include <type_traits>

#include "engine/tensor/error.hpp"

namespace attn {

/// What work() returns. Throws what files.require_intact() throws if a file changed meanwhile, also in place of an error of work(): the
/// numbers that it found were then not the file's.
template <class Files, class Work>
auto while_intact(const Files& files, const Work& work) {
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
            work();
            files.require_intact();
        } else {
            auto result = work();
            files.require_intact();
            return result;
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        files.require_intact();
        throw;
    }
}

}  // namespace attn
