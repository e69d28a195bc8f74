/// Kernels built for different instruction sets must not be mixed by the linker: an inline function compiled for AVX-512 and merged into
/// common code would crash on an older processor. Checks the library itself with nm and objdump.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace attn {
namespace {

std::string output_of(const std::string& command) {
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return text;
    std::array<char, 1 << 16> buffer;
    for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), n);
    return pclose(pipe) == 0 ? text : "";
}

bool is_member(std::string_view line, std::string_view name) { return line.find(name) != std::string_view::npos; }

/// Whether a line of nm refers to an Eigen template in the namespace of its member's own build; `at` is the end of the member's name.
bool is_eigen_of_this_build(const std::string& line, std::size_t at) {
    for (const std::string build : {"baseline", "v3", "v4"})
        if (is_member(line.substr(0, at), "eigen_build_" + build)) return line.find("eigen_" + build + "::", at) != std::string::npos;
    return false;
}

/// Lines of `nm -A --defined-only -C` that show a linker-visible name of a kernel build other than its table.
std::vector<std::string> visible_symbols(const std::string& listing) {
    std::vector<std::string> found;
    std::istringstream in(listing);
    for (std::string line; std::getline(in, line);) {
        const std::size_t at = line.find(".o:");
        if (at == std::string::npos || !is_member(line.substr(0, at), "build_")) continue;
        const std::size_t type = line.find(' ', line.find_first_not_of(' ', at + 3)) + 1;
        if (std::string_view("tbdrn").find(line[type]) != std::string_view::npos) continue;  // local
        if (line.find("attn::kernel_tables_") != std::string::npos || line.find("attn::eigen_product_") != std::string::npos) continue;
        if (is_eigen_of_this_build(line, at) || is_member(line, " DW.ref.")) continue;  // the latter are pointers, not code
        found.push_back(line);
    }
    return found;
}

/// Lines of `objdump -d` on an archive that use registers outside the member's instruction set.
std::vector<std::string> foreign_instructions(const std::string& listing) {
    std::vector<std::string> found;
    bool allows_ymm = false, allows_zmm = false;
    std::string member;
    std::size_t start = 0;
    while (start < listing.size()) {
        const std::size_t end = listing.find('\n', start) == std::string::npos ? listing.size() : listing.find('\n', start);
        const std::string_view line(listing.data() + start, end - start);
        start = end + 1;
        if (is_member(line, "file format")) {
            member = line.substr(0, line.find(':'));
            allows_zmm = is_member(member, "build_v4");
            allows_ymm = allows_zmm || is_member(member, "build_v3");
            continue;
        }
        if (line.ends_with(">:") && is_member(member, "random.cpp")) {
            // It has functions for each instruction set, selected at run time; everything else is built for the baseline.
            allows_zmm = is_member(line, "draw_normals_avx512");
            allows_ymm = allows_zmm || is_member(line, "draw_normals_avx2");
            continue;
        }
        const bool wide = is_member(line, "%zmm") || is_member(line, "{%k") || is_member(line, ",%k");
        if ((is_member(line, "%ymm") && !allows_ymm) || (wide && !allows_zmm)) found.push_back(member + ": " + std::string(line));
    }
    return found;
}

TEST(KernelIsolation, TheCheckersSeeWhatTheyLookFor) {
    EXPECT_EQ(visible_symbols("lib.a:build_v3.cpp.o:0000 W std::max(float)\nlib.a:build_v3.cpp.o:0000 t local\n").size(), 1U);
    EXPECT_EQ(visible_symbols("lib.a:build_v3.cpp.o:0000 T attn::kernel_tables_v3()\nlib.a:mask.cpp.o:0000 W std::max(float)\n").size(),
              0U);
    EXPECT_EQ(visible_symbols("lib.a:eigen_build_v4.cpp.o:0000 W Eigen::internal::gemm()\n"
                              "lib.a:eigen_build_v4.cpp.o:0000 W eigen_v3::internal::gemm()\n"
                              "lib.a:eigen_build_v4.cpp.o:0000 W eigen_v4::internal::gemm()\n")
                  .size(),
              2U);
    EXPECT_EQ(foreign_instructions("mask.cpp.o:     file format elf64-x86-64\n vaddps %ymm1,%ymm0,%ymm0\n").size(), 1U);
    EXPECT_EQ(
        foreign_instructions("build_v3.cpp.o:     file format elf64-x86-64\n vaddps %ymm1,%ymm0,%ymm0\n vaddps %zmm0,%zmm1,%zmm2\n").size(),
        1U);
    EXPECT_EQ(foreign_instructions("build_v4.cpp.o:     file format elf64-x86-64\n vaddps %zmm0,%zmm1,%zmm2\n").size(), 0U);
    EXPECT_EQ(foreign_instructions("random.cpp.o:     file format elf64-x86-64\n0 <draw_normals_avx2>:\n vaddpd %ymm0,%ymm1,%ymm2\n"
                                   " vaddpd %zmm0,%zmm1,%zmm2\n0 <draw_normals>:\n vaddpd %ymm0,%ymm1,%ymm2\n")
                  .size(),
              2U);
}

TEST(KernelIsolation, OnlyTheTablesAreVisibleToTheLinker) {
#ifdef ATTN_SANITIZED
    GTEST_SKIP() << "sanitizers add symbols of their own";
#endif
    const std::string listing = output_of("nm -A --defined-only -C " ATTN_ENGINE_LIBRARY " 2>/dev/null");
    if (listing.empty()) GTEST_SKIP() << "nm is not there";
    EXPECT_NE(listing.find("attn::kernel_tables_baseline"), std::string::npos);
    for (const std::string& line : visible_symbols(listing)) ADD_FAILURE() << line;
}

TEST(KernelIsolation, WideInstructionsStayInTheirBuild) {
    const std::string listing = output_of("objdump -d --no-show-raw-insn " ATTN_ENGINE_LIBRARY " 2>/dev/null");
    if (listing.empty()) GTEST_SKIP() << "objdump is not there";
#if defined(__x86_64__)
    EXPECT_NE(listing.find("%zmm"), std::string::npos) << "the library has no AVX-512 build";
#endif
    for (const std::string& line : foreign_instructions(listing)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace attn
