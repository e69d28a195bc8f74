#pragma once
/// Runs attnscope and attnscope-dev as processes, as from a user's shell, in a scratch folder.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace attn::test {

struct Outcome {
    int exit_code = 0;  ///< -1 if killed by a signal or timed out
    std::string out, err;
    int ended_by = 0;  ///< the signal that killed it, if any
};

/// Instead of a signal: closes the reading end of stdout.
inline constexpr int kClosePipe = -1;

/// A signal (or another action) some time after the program has printed this many lines to stdout.
struct Interruption {
    int signal = 0;
    std::size_t after_lines = 0;
    std::chrono::milliseconds later{0};
    std::function<void()> action{};
};

/// Makes rendering impossible during its lifetime.
class NoScreen {
public:
    NoScreen();
    ~NoScreen();
    NoScreen(const NoScreen&) = delete;
    NoScreen& operator=(const NoScreen&) = delete;

private:
    std::optional<std::string> display_, wayland_;
};

/// Runs attnscope with these arguments and empty stdin. It is killed after `limit`. `train` gets no screen: drawing a run's pictures takes
/// much longer than a short run. Use run_program() to see them.
Outcome attnscope(const std::vector<std::string>& arguments, std::chrono::seconds limit = std::chrono::seconds(120),
                  const std::vector<Interruption>& interruptions = {});

Outcome attnscope_dev(const std::vector<std::string>& arguments, std::chrono::seconds limit = std::chrono::seconds(120));

/// The same for any program with its arguments, such as a shell or env that starts attnscope.
Outcome run_program(std::vector<std::string> words, std::chrono::seconds limit = std::chrono::seconds(120),
                    const std::vector<Interruption>& interruptions = {});

/// Runs a command line with bash in `folder`. `attnscope`, `attnscope-dev` and `python3` refer to the programs under test, and attnscope's
/// per-user files go to `folder`.
Outcome in_shell(const std::string& command, const std::string& folder, std::chrono::seconds limit = std::chrono::seconds(120));

/// A temporary folder for one test.
class ScratchFolder {
public:
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    /// Creates a file with these contents and returns its path.
    std::string file(const std::string& name, const std::string& contents) const;
    std::vector<std::string> names() const;

private:
    TemporaryFolder folder_;
};

/// All bytes of a file; fails the test if it cannot be read.
std::string read_bytes(const std::string& path);

}  // namespace attn::test
