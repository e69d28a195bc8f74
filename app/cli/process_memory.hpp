#pragma once
/// Memory of this process as the system counts it.

#include <cstdint>

namespace attn::app {

struct ProcessMemory {
    std::int64_t resident = 0;  ///< bytes in memory now
    std::int64_t peak = 0;      ///< most bytes that ever were
};

/// Read from /proc/self/status (VmRSS, VmHWM). Throws Error where the system does not say.
ProcessMemory process_memory();

}  // namespace attn::app
