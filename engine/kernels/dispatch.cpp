#include <array>
#include <cstdlib>
#include <string>

#include "engine/kernels/faster_build.hpp"
#include "engine/kernels/kernels.hpp"
#include "engine/kernels/tables.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"baseline", "v3", "v4"};

#if defined(__x86_64__) && defined(__clang__)
// Older clangs do not know the level names. Processors with these features have the rest of the level, too.
bool has_v3() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}
bool has_v4() {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#elif defined(__x86_64__)
bool has_v3() { return __builtin_cpu_supports("x86-64-v3"); }
bool has_v4() { return __builtin_cpu_supports("x86-64-v4"); }
#endif

bool runs_here(KernelBuild build) {
#if defined(__x86_64__)
    if (build == KernelBuild::V3) return has_v3();
    if (build == KernelBuild::V4) return has_v4();
    return true;
#else
    return build == KernelBuild::Baseline;
#endif
}

KernelTables tables_of(KernelBuild build) {
    if (!runs_here(build)) throw ConfigError("this processor cannot run the " + std::string(kernel_build_name(build)) + " kernels");
#if defined(__x86_64__)
    if (build == KernelBuild::V3) return kernel_tables_v3();
    if (build == KernelBuild::V4) return kernel_tables_v4();
#endif
    return kernel_tables_baseline();
}

KernelBuild choose() {
    const char* wanted = std::getenv("ATTNSCOPE_KERNELS");
    if (wanted == nullptr || *wanted == '\0')
        return runs_here(KernelBuild::V4) ? faster_build(KernelBuild::V3, KernelBuild::V4) : available_kernel_builds().back();
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (kNames[i] == wanted) {
            tables_of(static_cast<KernelBuild>(i));  // throws if the processor cannot run it
            return static_cast<KernelBuild>(i);
        }
    throw ConfigError("ATTNSCOPE_KERNELS is '" + std::string(wanted) + "'; expected baseline, v3 or v4");
}

const Kernels<float>& pick(const KernelTables& tables, float) { return *tables.of_float; }
const Kernels<double>& pick(const KernelTables& tables, double) { return *tables.of_double; }

}  // namespace

std::string_view kernel_build_name(KernelBuild build) { return kNames[static_cast<std::size_t>(build)]; }

std::vector<KernelBuild> available_kernel_builds() {
    std::vector<KernelBuild> builds;
    for (const KernelBuild build : {KernelBuild::Baseline, KernelBuild::V3, KernelBuild::V4})
        if (runs_here(build)) builds.push_back(build);
    return builds;
}

template <class Scalar>
const Kernels<Scalar>& kernels_of(KernelBuild build) {
    return pick(tables_of(build), Scalar{});
}

const StoredKernels& stored_kernels_of(KernelBuild build) { return *tables_of(build).of_stored; }

const StoredKernels& stored_kernels() {
    static const StoredKernels& table = stored_kernels_of(active_kernel_build());
    return table;
}

KernelBuild active_kernel_build() {
    static const KernelBuild kChosen = choose();  // computed once: environment and processor do not change
    return kChosen;
}

template <class Scalar>
const Kernels<Scalar>& kernels() {
    static const Kernels<Scalar>& table = kernels_of<Scalar>(active_kernel_build());
    return table;
}

template const Kernels<float>& kernels_of<float>(KernelBuild);
template const Kernels<double>& kernels_of<double>(KernelBuild);
template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace attn
