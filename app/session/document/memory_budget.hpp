#pragma once
/// How much memory may hold what is computed.

namespace attn::app {

/// MiB: a quarter of the machine's memory.
double default_memory_budget_mib();

}  // namespace attn::app
