#define ATTN_KERNEL_TABLE kernel_tables_baseline
#include "engine/kernels/build.hpp"
