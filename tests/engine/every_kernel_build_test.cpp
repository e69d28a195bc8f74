// Kernels are selected once per process, so tests that depend on them are run again as processes with every other build that this processor
// supports.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/kernels/kernels.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

TEST(EveryKernelBuild, PassesEverythingThatComputes) {
    if (std::getenv("ATTNSCOPE_KERNELS") != nullptr) GTEST_SKIP() << "one build was asked for; never start processes from such a process";
    constexpr const char* kTests = "NumericEdges*:ModelEdges*:*Gradients*:*Transformer*:Files/"
                                   "Golden.IsRecomputed*:TrainStep*:Adamw*:Reference.*:Notebook*:-EveryKernelBuild*:Mistake*:Tasks*";
    const test::TemporaryFolder folder;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").native();
    for (const KernelBuild build : available_kernel_builds()) {
        if (build == active_kernel_build()) continue;
        const std::string name(kernel_build_name(build)), log = (folder / (name + ".txt")).native();
        const std::string command = "ATTNSCOPE_KERNELS=" + name + " '" + self + "' --gtest_filter='" + kTests + "' > '" + log + "' 2>&1";
        EXPECT_EQ(std::system(command.c_str()), 0) << name << ":\n" << test::file_bytes(log);
        EXPECT_NE(test::file_bytes(log).find("[  PASSED  ]"), std::string::npos) << name;
    }
}

}  // namespace
}  // namespace attn
