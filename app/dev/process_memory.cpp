#include "app/dev/process_memory.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include "engine/tensor/error.hpp"

namespace attn::app {

ProcessMemory process_memory() {
    std::ifstream status("/proc/self/status");
    ProcessMemory memory;
    for (std::string line; std::getline(status, line);) {
        std::istringstream words(line);
        std::string name;
        std::int64_t kibibytes = 0;
        words >> name >> kibibytes;
        if (name == "VmRSS:") memory.resident = kibibytes * 1024;
        if (name == "VmHWM:") memory.peak = kibibytes * 1024;
    }
    if (memory.resident <= 0 || memory.peak <= 0) throw Error("/proc/self/status does not say how much memory is in use");
    return memory;
}

}  // namespace attn::app
