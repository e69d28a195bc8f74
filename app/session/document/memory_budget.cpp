#include "app/session/document/memory_budget.hpp"

#include <unistd.h>

namespace attn::app {

double default_memory_budget_mib() {
    constexpr double kWhenUnknown = 1024;
    const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || bytes <= 0) return kWhenUnknown;
    return static_cast<double>(pages) * static_cast<double>(bytes) / (1024.0 * 1024.0) / 4;
}

}  // namespace attn::app
