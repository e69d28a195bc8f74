/// Preloaded into a program (LD_PRELOAD), makes one of its allocations by operator new fail, or all from one on. Counting starts with main,
/// because failures in the constructors of other libraries cannot be handled.
///   ATTN_FAIL_AT=N     the Nth allocation fails, counted from 1
///   ATTN_FAIL_ON=1     and all that follow
///   ATTN_COUNT_FILE=F  the number of allocations is written to F when the program exits

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

using Main = int (*)(int, char**, char**);

Main real_main = nullptr;
std::atomic<long> count{0};
std::atomic<long> fail_at{0};
bool fail_on = false;

long number(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::atol(text);
}

bool fails() {
    const long at = fail_at.load(std::memory_order_relaxed);
    if (at == 0) return false;
    const long now = count.fetch_add(1, std::memory_order_relaxed) + 1;
    return fail_on ? now >= at : now == at;
}

void* allocate(std::size_t bytes) noexcept { return fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes); }

void* allocate(std::size_t bytes, std::align_val_t alignment) noexcept {
    if (fails()) return nullptr;
    const auto boundary = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary + (bytes == 0 ? boundary : 0));
}

template <class... Arguments>
void* allocate_or_throw(Arguments... arguments) {
    void* const memory = allocate(arguments...);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

int counting_main(int argc, char** argv, char** environment) {
    std::atexit([] {
        const char* name = std::getenv("ATTN_COUNT_FILE");
        std::FILE* file = name == nullptr ? nullptr : std::fopen(name, "w");
        if (file == nullptr) return;
        std::fprintf(file, "%ld\n", count.load());
        std::fclose(file);
    });
    fail_on = number("ATTN_FAIL_ON") != 0;
    const long at = number("ATTN_FAIL_AT");
    fail_at = at == 0 ? -1 : at;  // -1: only counted
    return real_main(argc, argv, environment);
}

}  // namespace

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*loader_fini)(), void* stack_end) {
    real_main = main;
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    const auto start = reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"));
    return start(counting_main, argc, argv, init, fini, loader_fini, stack_end);
}

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, alignment); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept { return allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept { return allocate(bytes, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
