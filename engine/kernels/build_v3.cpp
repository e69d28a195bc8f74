#define ATTN_KERNEL_TABLE kernel_tables_v3
#include "engine/kernels/build.hpp"
