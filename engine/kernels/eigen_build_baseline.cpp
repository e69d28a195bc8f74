#define ATTN_EIGEN_NAMESPACE eigen_baseline
#define ATTN_EIGEN_PRODUCT eigen_product_baseline
#include "engine/kernels/eigen_build.hpp"
