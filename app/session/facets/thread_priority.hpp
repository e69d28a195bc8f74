#pragma once
/// How much a thread gets of the processor while others want it, too.

namespace attn::app {

/// The calling thread, and those that it starts, run only when no other thread of the program has something to do. Where the system has
/// no priorities of single threads, nothing changes.
void let_others_first();

}  // namespace attn::app
