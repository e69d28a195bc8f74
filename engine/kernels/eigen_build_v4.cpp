#define ATTN_EIGEN_NAMESPACE eigen_v4
#define ATTN_EIGEN_PRODUCT eigen_product_v4
#include "engine/kernels/eigen_build.hpp"
