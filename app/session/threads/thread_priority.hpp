#pragma once
/// Lowers the scheduling priority of a thread.

namespace attn::app {

/// The calling thread and threads it starts will run only when no other thread of the program is runnable. No effect on systems without
/// per-thread priorities.
void let_others_first();

}  // namespace attn::app
