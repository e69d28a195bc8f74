#pragma once
/// Runs attnscope with ptrace and a seccomp filter, so that its system calls on one folder can be made to fail.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attn::test {

/// What to do at a system call, given by its index among those that touch the folder.
struct Fault {
    std::size_t call = 0;
    int error = 0;         ///< an errno; 0: kill the process before the call
    bool lasting = false;  ///< every later call that writes something new fails likewise
};

struct TracedOutcome {
    int exit_code = -1;  ///< -1 if killed by a signal
    int ended_by = 0;
    std::string out, err;
    std::vector<std::string> calls;  ///< names of the calls that touched the folder
};

/// Whether a call of this name may change files or folders.
bool changes_files(const std::string& call);

/// Whether a call of this name fails when the disk is full.
bool needs_space(const std::string& call);

/// Whether a call of this name is given a path.
bool names_a_file(const std::string& call);

/// False if tracing is not permitted or the processor architecture is not supported.
bool can_trace();

/// Runs attnscope with these arguments. Calls that only read or seek are not counted.
TracedOutcome attnscope_traced(const std::vector<std::string>& arguments, const std::string& folder,
                               const std::optional<Fault>& fault = {});

}  // namespace attn::test
