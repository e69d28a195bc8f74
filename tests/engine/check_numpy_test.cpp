// Reference files of random shapes, written by NumPy (golden/numpy_cases.py): check accepts all of them and detects every damage.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "engine/check/check.hpp"
#include "engine/io/safetensors.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/engine/numpy_process.hpp"

namespace attn::check {
namespace {

namespace fs = std::filesystem;

/// Writes the seven modules for every seed; false without NumPy.
bool write_cases(const fs::path& folder, int first_seed, int count, const std::string& dtype) {
    return test::run_numpy(folder, "import sys\n"
                                   "sys.dont_write_bytecode = True\n"
                                   "sys.path.insert(0, '" ATTN_TEST_DATA "/golden')\n"
                                   "import numpy_cases\n"
                                   "for seed in range(" +
                                       std::to_string(first_seed) + ", " + std::to_string(first_seed + count) +
                                       "):\n"
                                       "    sys.argv = ['cases', '--out', 'cases', '--seed', str(seed), '--dtype', '" +
                                       dtype + "']\n    numpy_cases.main()\n");
}

std::vector<fs::path> cases_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder / "cases")) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

TEST(CheckNumpy, AcceptsRandomShapesOfEveryModuleInFloatAndDouble) {
    for (const auto& [seed, dtype] : {std::pair{0, "F32"}, std::pair{1000, "F64"}}) {
        const test::TemporaryFolder folder;
        if (!write_cases(folder.path(), seed, 8, dtype)) return;
        const auto files = cases_in(folder.path());
        EXPECT_EQ(files.size(), 8U * 7);
        for (const fs::path& file : files)
            for (const bool in_double : {false, true}) {
                SCOPED_TRACE(file.filename().string() + (in_double ? " in double" : " in float"));
                const Report report = check_file(file, {in_double});
                EXPECT_TRUE(report.ok());
                for (const TensorResult& tensor : report.tensors)
                    EXPECT_TRUE(tensor.ok) << tensor.name << " off by " << tensor.max_abs << " at " << tensor.worst_index;
            }
    }
}

/// A copy of the file with number `at` of `tensor` shifted by `steps` tolerances, or set to NaN.
ArrayFile damaged(ArrayFile file, const TensorResult& tensor, std::size_t at, double steps) {
    for (NamedArray& array : file.arrays) {
        if (array.name != tensor.name) continue;
        std::vector<double> values = values_as<double>(array, "");
        const double absolute = tensor.name == "out.losses" ? 0 : 2e-5;
        values[at] += steps * (absolute + 1e-4 * std::abs(values[at]));
        array = make_array<double>(array.name, array.shape, values);
    }
    return file;
}

TEST(CheckNumpy, SeesOneNumberALittleBeyondTheTolerance) {
    const test::TemporaryFolder folder;
    if (!write_cases(folder.path(), 40, 1, "F64")) return;
    std::mt19937 random(5);
    const fs::path changed = folder / "changed.safetensors";
    for (const fs::path& path : cases_in(folder.path())) {
        const ArrayFile original = read_safetensors(path);
        for (const TensorResult& tensor : check_file(path, {true}).tensors) {
            std::int64_t count = 1;
            for (const std::int64_t size : tensor.shape) count *= size;
            std::size_t at = random() % static_cast<std::size_t>(count);
            // The trained bias of keys is undetermined (it has no effect), so use one of queries.
            if (tensor.name.starts_with("out.param.") && tensor.name.ends_with("attn.c_attn.bias")) at = 0;
            for (const double steps : {1.05, -1.05, double(NAN)}) {
                write_safetensors(changed, damaged(original, tensor, at, steps));
                for (const TensorResult& result : check_file(changed, {true}).tensors)
                    EXPECT_EQ(result.ok, result.name != tensor.name)
                        << path.filename() << " " << result.name << " with " << tensor.name << " moved by " << steps;
            }
            write_safetensors(changed, damaged(original, tensor, at, 0.9));
            EXPECT_TRUE(check_file(changed, {true}).ok()) << path.filename() << " " << tensor.name << " within the tolerance";
        }
    }
}

}  // namespace
}  // namespace attn::check
