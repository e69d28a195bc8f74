#pragma once
/// Runs attnscope as a process, as a user's shell would, and a scratch folder for what it writes.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace attn::test {

struct Outcome {
    int exit_code = 0;  ///< -1 when it was ended by a signal or ran out of time
    std::string out, err;
    int ended_by = 0;  ///< the signal, if one ended it
};

/// In place of a signal: whoever reads stdout goes away.
inline constexpr int kClosePipe = -1;

/// A signal sent some time after the program has printed so many lines on stdout, or something else that is done then.
struct Interruption {
    int signal = 0;
    std::size_t after_lines = 0;
    std::chrono::milliseconds later{0};
    std::function<void()> action{};
};

/// Runs attnscope with these arguments, stdin empty. One that takes longer than `limit` is killed.
Outcome attnscope(const std::vector<std::string>& arguments, std::chrono::seconds limit = std::chrono::seconds(120),
                  const std::vector<Interruption>& interruptions = {});

/// The same with a program of any path and its arguments, such as a shell or env that starts attnscope.
Outcome run_program(std::vector<std::string> words, std::chrono::seconds limit = std::chrono::seconds(120),
                    const std::vector<Interruption>& interruptions = {});

/// Runs a command line as bash does, in `folder`. `attnscope` and `python3` are the programs under test, and files that attnscope keeps of
/// its user are kept in `folder`.
Outcome in_shell(const std::string& command, const std::string& folder, std::chrono::seconds limit = std::chrono::seconds(120));

/// A folder of its own for one test, removed at its end.
class ScratchFolder {
public:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    /// Path of a new file with these contents.
    std::string file(const std::string& name, const std::string& contents) const;
    std::vector<std::string> names() const;

private:
    TemporaryFolder folder_;
};

/// All bytes; fails the test when the file cannot be read.
std::string read_bytes(const std::string& path);

}  // namespace attn::test
