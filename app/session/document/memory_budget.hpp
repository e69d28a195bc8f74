#pragma once
/// The memory limit for computed results.

namespace attn::app {

/// A quarter of the machine's memory, in MiB.
double default_memory_budget_mib();

}  // namespace attn::app
