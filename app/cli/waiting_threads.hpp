#pragma once
/// How OpenMP threads wait for each other.

namespace attn::app {

/// Makes a thread that waits for the others sleep after some ten microseconds. Without this they keep a processor busy for milliseconds,
/// and where another program wants it too, the thread they wait for does not run: passes then take many times as long. OpenMP reads this
/// from the environment when the program is loaded, so the program is started again, once, with the variable set. Variables that the user
/// has set remain. To be called first, before anything is opened.
void let_waiting_threads_sleep(char** argv);

}  // namespace attn::app
