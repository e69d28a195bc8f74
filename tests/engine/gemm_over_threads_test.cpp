/// Matrix products on several threads against the same on one.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/ops/gemm.hpp"
#include "engine/ops/parallel.hpp"

namespace {

using namespace attn;

/// Sizes of a weight's gradient [in,out] and of its layer's input [rows,in], by the rows of a batch.
struct Sizes {
    std::int64_t rows, in, out;
};

class LinearGradients {
public:
    explicit LinearGradients(const Sizes& sizes)
        : sizes_(sizes), x_(draw(sizes.rows * sizes.in)), dy_(draw(sizes.rows * sizes.out)), weight_(draw(sizes.in * sizes.out)),
          times_(draw(sizes.rows * sizes.in)) {}

    /// dW = x^T dy.
    GemmArguments<float> of_weight(std::vector<float>& dweight) const {
        dweight.assign(weight_.size(), 0);
        return {.m = sizes_.in,
                .n = sizes_.out,
                .k = sizes_.rows,
                .a = x_.data(),
                .lda = sizes_.in,
                .b = dy_.data(),
                .ldb = sizes_.out,
                .c = dweight.data(),
                .ldc = sizes_.out,
                .transpose_a = Transpose::Yes};
    }
    /// dx = dy W^T times.
    GemmArguments<float> of_input(std::vector<float>& dx) const {
        dx.assign(x_.size(), 0);
        return {.m = sizes_.rows,
                .n = sizes_.in,
                .k = sizes_.out,
                .a = dy_.data(),
                .lda = sizes_.out,
                .b = weight_.data(),
                .ldb = sizes_.out,
                .c = dx.data(),
                .ldc = sizes_.in,
                .transpose_b = Transpose::Yes,
                .times = times_.data()};
    }

private:
    std::vector<float> draw(std::int64_t count) {
        std::normal_distribution<float> normal;
        std::vector<float> numbers(static_cast<std::size_t>(count));
        for (float& x : numbers) x = normal(random_);
        return numbers;
    }

    std::mt19937 random_{3};
    Sizes sizes_;
    std::vector<float> x_, dy_, weight_, times_;
};

TEST(GemmOverThreads, OfTwoProductsGivesTheBitsOfEachAlone) {
    // Longer along rows, along columns, too small for several threads, and with a side that is not a multiple of the grain.
    for (const Sizes& sizes :
         {Sizes{1100, 900, 400}, Sizes{1100, 400, 900}, Sizes{30, 20, 10}, Sizes{1500, 1, 300}, Sizes{2000, 901, 303}}) {
        const LinearGradients layer(sizes);
        std::vector<float> dweight_alone, dx_alone, dweight, dx;
        gemm(layer.of_weight(dweight_alone));
        gemm(layer.of_input(dx_alone));
        for (const int threads : {1, 2, 3, 5}) {
            const ThreadScope scope(threads);
            parallel_gemms(layer.of_weight(dweight), layer.of_input(dx));
            EXPECT_TRUE(dweight == dweight_alone) << sizes.in << " x " << sizes.out << ", " << threads << " threads";
            EXPECT_TRUE(dx == dx_alone) << sizes.in << " x " << sizes.out << ", " << threads << " threads";
            parallel_gemm(layer.of_weight(dweight));
            EXPECT_TRUE(dweight == dweight_alone) << sizes.in << " x " << sizes.out << ", " << threads << " threads, alone";
        }
    }
}

}  // namespace
