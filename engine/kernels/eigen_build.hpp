// Eigen's product for one instruction set. The including source first defines ATTN_EIGEN_NAMESPACE and ATTN_EIGEN_PRODUCT. Eigen's
// templates have the same names whatever the flags, so the linker would merge those of different builds: each build renames Eigen's
// namespace.

#define Eigen ATTN_EIGEN_NAMESPACE
#include <Eigen/Core>

#include "engine/kernels/eigen_product.hpp"

namespace attn {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Operand = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

template <class A, class B>
void multiply(const GemmArguments<float>& g, const A& a, const B& b) {
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>>(g.c, g.m, g.n, Eigen::OuterStride<>(g.ldc)).noalias() = a * b;
}

template <class A>
void multiply_by_b(const GemmArguments<float>& g, const A& a) {
    const Eigen::OuterStride<> step(g.ldb);
    if (g.transpose_b == Transpose::Yes) multiply(g, a, Operand(g.b, g.n, g.k, step).transpose());
    else multiply(g, a, Operand(g.b, g.k, g.n, step));
}

void product(const GemmArguments<float>& g, int threads) {
    Eigen::setNbThreads(threads);
    const Eigen::OuterStride<> step(g.lda);
    if (g.transpose_a == Transpose::Yes) multiply_by_b(g, Operand(g.a, g.k, g.m, step).transpose());
    else multiply_by_b(g, Operand(g.a, g.m, g.k, step));
}

}  // namespace

EigenProduct ATTN_EIGEN_PRODUCT() { return &product; }

}  // namespace attn

#undef Eigen
