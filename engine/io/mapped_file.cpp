#include "engine/io/mapped_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>
#include <mutex>
#include <system_error>

namespace attn {
namespace {

/// An entry of the signal handler's table. Atomic, because the handler can neither lock nor allocate.
struct Mapping {
    std::atomic<bool> taken{false};
    std::atomic<std::uintptr_t> begin{0}, end{0};  ///< end 0: unused
    std::atomic<bool> lost{false};
};
constexpr std::size_t kMaxMappings = 1024;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

std::array<Mapping, kMaxMappings> mappings;  // process-wide, like the signal handler
std::uintptr_t page_size;
struct sigaction previous_action;

/// Runs on the thread that accessed a page the file no longer has.
void on_bus_error(int, siginfo_t* info, void*) {
    const int saved = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (Mapping& mapping : mappings) {
        const std::uintptr_t end = mapping.end.load();
        if (end == 0 || address < mapping.begin.load() || address >= end) continue;
        const std::uintptr_t page = address & ~(page_size - 1);
        mapping.lost.store(true);
        void* const there = reinterpret_cast<void*>(page);
        if (::mmap(there, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
            errno = saved;
            return;
        }
        break;
    }
    // Not one of our mappings: the previous handler gets it when the access is repeated.
    ::sigaction(SIGBUS, &previous_action, nullptr);
    errno = saved;
}

void install_handler() {
    static std::once_flag done;
    std::call_once(done, [] {
        page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        struct sigaction action {};
        action.sa_sigaction = on_bus_error;
        action.sa_flags = SA_SIGINFO;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, &action, &previous_action);
    });
}

/// A free index in the table; its size if there is none.
std::size_t take_place() {
    for (std::size_t i = 0; i < mappings.size(); ++i)
        if (!mappings[i].taken.exchange(true)) return i;
    return mappings.size();
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
    : file_(path, {.max_bytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()), .stop = {}}) {
    if (file_.size() == 0) return;
    install_handler();
    const int descriptor = file_.duplicate();
    void* const address = ::mmap(nullptr, file_.size(), PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int error = errno;
    ::close(descriptor);
    if (address == MAP_FAILED) throw FileError(FileFault::Io, name(), "", "cannot be mapped: " + std::generic_category().message(error));
    place_ = take_place();
    if (place_ == mappings.size()) {
        ::munmap(address, file_.size());
        throw FileError(FileFault::Limit, name(), "", fmt::format("more than {} files are mapped at once", kMaxMappings));
    }
    Mapping& mapping = mappings[place_];
    bytes_ = {static_cast<const std::byte*>(address), static_cast<std::size_t>(file_.size())};
    mapping.lost.store(false);
    mapping.begin.store(reinterpret_cast<std::uintptr_t>(address));
    mapping.end.store(reinterpret_cast<std::uintptr_t>(address) + bytes_.size());
}

MappedFile::~MappedFile() {
    if (bytes_.empty()) return;
    Mapping& mapping = mappings[place_];
    mapping.end.store(0);
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    mapping.taken.store(false);
}

void MappedFile::require_intact() const {
    if (!bytes_.empty() && mappings[place_].lost.load())
        throw FileError(FileFault::Io, name(), "", "became shorter, or could not be read, while it was open");
    file_.expect_unchanged();
}

}  // namespace attn
