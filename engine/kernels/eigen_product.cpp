#include "engine/kernels/eigen_product.hpp"

namespace attn {

EigenProduct eigen_product(KernelBuild build) {
    kernels_of<float>(build);  // throws if the processor cannot run the build
#if defined(__x86_64__)
    if (build == KernelBuild::V3) return eigen_product_v3();
    if (build == KernelBuild::V4) return eigen_product_v4();
#endif
    return eigen_product_baseline();
}

}  // namespace attn
