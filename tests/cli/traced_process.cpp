#include "tests/cli/traced_process.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <system_error>
#include <vector>

#include "tests/cli/process.hpp"

namespace attn::test {

#if defined(__x86_64__)

namespace {

/// Which argument of a system call is a path or a descriptor; -1 for none.
struct Call {
    const char* name;
    int path, descriptor;
    bool needs_space;    ///< and so fails on a full disk
    bool changes_files;  ///< or folders
};

const std::map<long, Call>& watched_calls() {
    static const std::map<long, Call> calls = {
        {SYS_open, {"open", 0, -1, true, true}},
        {SYS_creat, {"creat", 0, -1, true, true}},
        {SYS_openat, {"openat", 1, -1, true, true}},
        {SYS_mkdir, {"mkdir", 0, -1, true, true}},
        {SYS_mkdirat, {"mkdirat", 1, -1, true, true}},
        {SYS_rename, {"rename", 0, -1, true, true}},
        {SYS_renameat, {"renameat", 1, -1, true, true}},
        {SYS_renameat2, {"renameat2", 1, -1, true, true}},
        {SYS_link, {"link", 0, -1, true, true}},
        {SYS_linkat, {"linkat", 1, -1, true, true}},
        {SYS_unlink, {"unlink", 0, -1, false, true}},
        {SYS_unlinkat, {"unlinkat", 1, -1, false, true}},
        {SYS_rmdir, {"rmdir", 0, -1, false, true}},
        {SYS_chmod, {"chmod", 0, -1, false, true}},
        {SYS_access, {"access", 0, -1, false, false}},
        {SYS_faccessat, {"faccessat", 1, -1, false, false}},
        {SYS_stat, {"stat", 0, -1, false, false}},
        {SYS_lstat, {"lstat", 0, -1, false, false}},
        {SYS_newfstatat, {"newfstatat", 1, -1, false, false}},
        {SYS_statx, {"statx", 1, -1, false, false}},
        {SYS_write, {"write", -1, 0, true, true}},
        {SYS_pwrite64, {"pwrite64", -1, 0, true, true}},
        {SYS_writev, {"writev", -1, 0, true, true}},
        {SYS_fsync, {"fsync", -1, 0, true, false}},
        {SYS_fdatasync, {"fdatasync", -1, 0, true, false}},
        {SYS_fallocate, {"fallocate", -1, 0, true, true}},
        {SYS_ftruncate, {"ftruncate", -1, 0, true, true}},
        {SYS_fchmod, {"fchmod", -1, 0, false, true}},
        {SYS_flock, {"flock", -1, 0, false, false}},
        {SYS_fcntl, {"fcntl", -1, 0, false, false}},
        {SYS_getdents64, {"getdents64", -1, 0, false, false}},
        {SYS_close, {"close", -1, 0, false, false}},
    };
    return calls;
}

[[noreturn]] void trace_failed(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// Makes the watched calls of this process and its descendants stop for the tracer, and only those: most of the time of a traced process
/// passes in stops.
bool stop_at_watched_calls() {
    constexpr std::uint32_t kNumber = offsetof(seccomp_data, nr), kArchitecture = offsetof(seccomp_data, arch);
    std::vector<sock_filter> filter{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArchitecture),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
    };
    for (const auto& [number, call] : watched_calls()) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::string string_at(pid_t thread, unsigned long long address) {
    constexpr std::size_t kPage = 4096;
    std::string text;
    while (text.size() < PATH_MAX) {
        // No further than the end of the page: the next one may not exist.
        std::array<char, kPage> bytes{};
        const unsigned long long from = address + text.size();
        const iovec here{bytes.data(), std::min<std::size_t>(256, kPage - from % kPage)};
        const iovec there{reinterpret_cast<void*>(from), here.iov_len};  // an address in the other process
        const ssize_t length = ::process_vm_readv(thread, &here, 1, &there, 1, 0);
        if (length <= 0) break;
        const std::size_t end = ::strnlen(bytes.data(), static_cast<std::size_t>(length));
        text.append(bytes.data(), end);
        if (end < static_cast<std::size_t>(length)) break;
    }
    return text;
}

std::string path_of(pid_t process, unsigned long long descriptor) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(static_cast<int>(descriptor));
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    return length < 0 ? "" : std::string(path.data(), static_cast<std::size_t>(length));
}

class Tracer {
public:
    Tracer(pid_t child, std::string folder, const std::optional<Fault>& fault) : child_(child), folder_(std::move(folder)), fault_(fault) {}

    TracedOutcome run() {
        int status = 0;
        if (::waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) trace_failed("the traced child did not stop");
        constexpr long kOptions = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        if (::ptrace(PTRACE_SETOPTIONS, child_, nullptr, kOptions) != 0) trace_failed("PTRACE_SETOPTIONS");
        ::ptrace(PTRACE_CONT, child_, nullptr, nullptr);
        for (;;) {
            const pid_t thread = ::waitpid(-1, &status, __WALL);
            if (thread < 0) trace_failed("waitpid");
            if (WIFEXITED(status) || WIFSIGNALED(status)) {
                if (thread != child_) continue;
                outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
                outcome_.ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
                return outcome_;
            }
            ::ptrace(PTRACE_CONT, thread, nullptr, signal_for(thread, status));
        }
    }

private:
    /// The signal to deliver to a thread when it is resumed.
    long signal_for(pid_t thread, int status) {
        const int signal = WSTOPSIG(status);
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8)) at_call(thread);
        // Stops for ptrace events (a new thread, exec) and the initial stop of a thread.
        return signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
    }

    void at_call(pid_t thread) {
        __ptrace_syscall_info info{};
        if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0) return;
        const auto found = watched_calls().find(static_cast<long>(info.seccomp.nr));
        if (found == watched_calls().end()) return;
        const Call& call = found->second;
        const std::string path =
            call.path >= 0 ? string_at(thread, info.seccomp.args[call.path]) : path_of(child_, info.seccomp.args[call.descriptor]);
        if (path.rfind(folder_, 0) != 0) return;
        const std::size_t number = outcome_.calls.size();
        outcome_.calls.emplace_back(call.name);
        if (!fault_ || number < fault_->call) return;
        if (number > fault_->call && !(fault_->lasting && call.needs_space)) return;
        if (fault_->error == 0) {
            ::kill(child_, SIGKILL);
            return;
        }
        set(thread, offsetof(user, regs.orig_rax), static_cast<unsigned long long>(-1));  // an invalid call number: the call does nothing
        set(thread, offsetof(user, regs.rax), static_cast<unsigned long long>(-static_cast<long long>(fault_->error)));
    }

    static void set(pid_t thread, std::size_t where, unsigned long long value) {
        if (::ptrace(PTRACE_POKEUSER, thread, where, value) != 0 && errno != ESRCH) trace_failed("PTRACE_POKEUSER");
    }

    pid_t child_;
    std::string folder_;
    std::optional<Fault> fault_;
    TracedOutcome outcome_;
};

[[noreturn]] void become_traced(const std::vector<char*>& arguments, int out, int err) {
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(126);
    ::setenv("LSAN_OPTIONS", "detect_leaks=0", 1);  // the leak sanitizer itself uses ptrace
    ::raise(SIGSTOP);                               // until the tracer has set its options
    if (!stop_at_watched_calls()) ::_exit(126);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

}  // namespace

namespace {

/// Whether a watched call of this name is so.
bool is_one(const std::string& name, const std::function<bool(const Call&)>& so) {
    const auto& calls = watched_calls();
    return std::any_of(calls.begin(), calls.end(), [&](const auto& entry) { return name == entry.second.name && so(entry.second); });
}

}  // namespace

bool changes_files(const std::string& call) {
    return is_one(call, [](const Call& watched) { return watched.changes_files; });
}

bool needs_space(const std::string& call) {
    return is_one(call, [](const Call& watched) { return watched.needs_space; });
}

bool names_a_file(const std::string& call) {
    return is_one(call, [](const Call& watched) { return watched.path >= 0; });
}

bool can_trace() {
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) ::_exit(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 && stop_at_watched_calls() ? 0 : 1);
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TracedOutcome attnscope_traced(const std::vector<std::string>& arguments, const std::string& folder, const std::optional<Fault>& fault) {
    std::vector<std::string> words{ATTNSCOPE_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    const ScratchFolder scratch;
    const int out = ::open(scratch.file("out", "").c_str(), O_WRONLY | O_CLOEXEC);
    const int err = ::open(scratch.file("err", "").c_str(), O_WRONLY | O_CLOEXEC);
    const pid_t child = ::fork();
    if (child < 0) trace_failed("fork");
    if (child == 0) become_traced(pointers, out, err);
    ::close(out);
    ::close(err);
    TracedOutcome outcome = Tracer(child, folder, fault).run();
    outcome.out = read_bytes(scratch.path("out"));
    outcome.err = read_bytes(scratch.path("err"));
    return outcome;
}

#else

bool changes_files(const std::string&) { return false; }
bool needs_space(const std::string&) { return false; }
bool names_a_file(const std::string&) { return false; }
bool can_trace() { return false; }
TracedOutcome attnscope_traced(const std::vector<std::string>&, const std::string&, const std::optional<Fault>&) { return {}; }

#endif

}  // namespace attn::test
