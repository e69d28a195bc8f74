#define ATTN_KERNEL_TABLE kernel_tables_v4
#include "engine/kernels/build.hpp"
