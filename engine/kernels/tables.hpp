#pragma once
/// One function per kernel build, each defined in its own object file.

#include "engine/kernels/kernels.hpp"
#include "engine/kernels/stored_kernels.hpp"

namespace attn {

struct KernelTables {
    const Kernels<float>* of_float;
    const Kernels<double>* of_double;
    const StoredKernels* of_stored;
};

KernelTables kernel_tables_baseline();
KernelTables kernel_tables_v3();
KernelTables kernel_tables_v4();

}  // namespace attn
