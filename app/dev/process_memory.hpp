#pragma once
/// Memory usage of this process.

#include <cstdint>

namespace attn::app {

struct ProcessMemory {
    std::int64_t resident = 0;  ///< bytes in memory now
    std::int64_t peak = 0;      ///< its maximum so far
};

/// Reads VmRSS and VmHWM from /proc/self/status. Throws Error if they are not available.
ProcessMemory process_memory();

}  // namespace attn::app
