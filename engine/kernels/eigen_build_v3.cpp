#define ATTN_EIGEN_NAMESPACE eigen_v3
#define ATTN_EIGEN_PRODUCT eigen_product_v3
#include "engine/kernels/eigen_build.hpp"
