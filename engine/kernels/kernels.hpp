#pragma once
/// The innermost loops: one table of functions per scalar type, built for several instruction sets and chosen at start-up.
/// All are single-threaded, allocate nothing, check nothing, and take row-major memory. An element's result depends only on
/// the numbers that enter it, never on how many rows or columns are computed with it: callers may split work as they like.

#include <cstdint>
#include <string_view>
#include <vector>

namespace attn {

/// Which build of the kernels runs. On other processors than x86-64 there is only Baseline.
enum class KernelBuild : std::uint8_t {
    Baseline,  ///< what the compiler targets by default
    V3,        ///< x86-64-v3: AVX2, FMA
    V4,        ///< x86-64-v4: AVX-512
};

enum class Transpose : std::uint8_t { No, Yes };

/// Packed operands can be cut at multiples of so many columns.
inline constexpr std::int64_t kPackedGrain = 64;

/// Operands of C = (alpha op(A) op(B) + bias + plus) * times, number by number, or C += alpha op(A) op(B).
template <class Scalar>
struct GemmArguments {
    std::int64_t m = 0, n = 0, k = 0;
    Scalar alpha = 1;
    const Scalar* a = nullptr;  ///< [m,k], or [k,m] when transposed
    std::int64_t lda = 0;       ///< distance between rows of a as stored
    const Scalar* b = nullptr;  ///< [k,n], or [n,k] when transposed
    std::int64_t ldb = 0;
    Scalar* c = nullptr;  ///< [m,n]
    std::int64_t ldc = 0;
    Transpose transpose_a = Transpose::No, transpose_b = Transpose::No;
    bool accumulate = false;        ///< C += instead of C =
    const Scalar* bias = nullptr;   ///< [n], added to every row; only without accumulate
    const Scalar* plus = nullptr;   ///< [m,n] with c's row distance, added too; only without accumulate
    const Scalar* times = nullptr;  ///< [m,n] with c's row distance, multiplies the finished elements; only without accumulate
    /// What pack_b() made of an operand [packed_k,packed_n] whose first rows and columns are op(B); b, ldb and transpose_b then do not
    /// matter.
    const Scalar* packed_b = nullptr;
    std::int64_t packed_k = 0, packed_n = 0;
    bool packed_is_far = false;  ///< it was packed or used long ago, and is brought into the cache while the product is computed
};

/// Which cells of rows of n numbers take part in a softmax: of row r the first min(allowed + r allowed_step, most_allowed), among them
/// those with keep != 0. The others become exactly 0, and what they hold has no effect.
struct SoftmaxCells {
    std::int64_t rows = 0, n = 0;
    std::int64_t allowed = 0, allowed_step = 0, most_allowed = 0;  ///< most_allowed <= n
    const std::uint8_t* keep = nullptr;                            ///< [rows,most_allowed], or null: all
    std::int64_t keep_stride = 0;                                  ///< distance between rows, as all strides
};

/// p = softmax(x / temperature) row by row. A row whose kept cells are all -inf, or that keeps none, becomes 0; a NaN or +inf makes every
/// kept cell NaN.
template <class Scalar>
struct SoftmaxRows : SoftmaxCells {
    const Scalar* x = nullptr;  ///< [rows,n]
    std::int64_t x_stride = 0;
    Scalar* p = nullptr;  ///< [rows,n]; may be x
    std::int64_t p_stride = 0;
    Scalar* copy = nullptr;  ///< [rows,copy_n], most_allowed <= copy_n: gets the weights too, and 0 beyond them. May be null
    std::int64_t copy_stride = 0, copy_n = 0;
    Scalar temperature = 1;
    Scalar* largest = nullptr;  ///< [rows]: gets the largest kept x / temperature, -inf without one. May be null
};

/// dx = factor p (dp - sum(p dp)) row by row, the gradient of a softmax for factor = 1 / temperature. The kept p of a row add up to 1, or
/// are all 0.
template <class Scalar>
struct SoftmaxBackwardRows : SoftmaxCells {
    const Scalar* p = nullptr;  ///< [rows,n]; beyond most_allowed not read
    std::int64_t p_stride = 0;
    const Scalar* dp = nullptr;  ///< [rows,n]
    std::int64_t dp_stride = 0;
    Scalar* dx = nullptr;  ///< [rows,n]; may be dp
    std::int64_t dx_stride = 0;
    Scalar factor = 1;
};

struct RowLoss {
    double loss = 0;
    bool correct = false;
};

/// Operands [rows,n], [n] and [rows] of the gradient of a layer norm: dx = its own plus `plus` unless that is null; dgain += the sum of
/// dy (x - mean) rstd over the rows and dbias += that of dy. dx may be dy or plus.
template <class Scalar>
struct NormBackwardArguments {
    const Scalar *dy, *x, *gain, *mean, *rstd, *plus;
    Scalar *dx, *dgain, *dbias;
};

/// p = p decay; g = gradient gradient_factor; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// p = p - rate m / (sqrt(v) root_correction + eps).
template <class Scalar>
struct AdamwArguments {
    Scalar decay = 1, gradient_factor = 1, beta1 = 0, beta2 = 0;
    Scalar rate = 0;             ///< learning rate / (1 - beta1^t)
    Scalar root_correction = 1;  ///< 1 / sqrt(1 - beta2^t)
    Scalar eps = 0;
};

template <class Scalar>
struct Kernels {
    /// Numbers of scratch memory that gemm() needs, whatever the sizes.
    std::int64_t gemm_scratch;
    /// The product in `arguments`, BLAS-like; `scratch` holds gemm_scratch numbers, 64-byte aligned.
    void (*gemm)(const GemmArguments<Scalar>& arguments, Scalar* scratch);
    /// Numbers that pack_b() writes.
    std::int64_t (*packed_size)(std::int64_t k, std::int64_t n);
    /// op(B) [k,n] in the order that gemm() reads it in, for products that share it. Columns from a multiple of kPackedGrain on begin at
    /// k times its number and may be used alone.
    void (*pack_b)(const Scalar* b, std::int64_t ldb, Transpose transpose, std::int64_t k, std::int64_t n, Scalar* packed);

    /// y = a + b
    void (*add)(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);
    /// y = a b, number by number
    void (*multiply)(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);
    /// y = alpha x
    void (*scale)(const Scalar* x, Scalar alpha, std::int64_t n, Scalar* y);
    /// True when no value is infinite or NaN.
    bool (*all_finite)(const Scalar* x, std::int64_t n);
    /// The same of `rows` rows of n numbers that begin `stride` apart.
    bool (*rows_finite)(const Scalar* x, std::int64_t rows, std::int64_t n, std::int64_t stride);

    void (*relu)(const Scalar* x, std::int64_t n, Scalar* y);
    /// x Phi(x), Phi the normal distribution function.
    void (*gelu_erf)(const Scalar* x, std::int64_t n, Scalar* y);
    /// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    void (*gelu_tanh)(const Scalar* x, std::int64_t n, Scalar* y);
    /// The same, and x becomes the slope there: the derivative costs little beside the value.
    void (*gelu_erf_with_slope)(Scalar* x, std::int64_t n, Scalar* y);
    void (*gelu_tanh_with_slope)(Scalar* x, std::int64_t n, Scalar* y);
    /// x / (1 + e^-x)
    void (*silu)(const Scalar* x, std::int64_t n, Scalar* y);
    void (*silu_with_slope)(Scalar* x, std::int64_t n, Scalar* y);

    void (*softmax_rows)(const SoftmaxRows<Scalar>& rows);
    void (*softmax_backward_rows)(const SoftmaxBackwardRows<Scalar>& rows);
    /// One row of n numbers; keep may be null.
    void softmax_row(const Scalar* x, const std::uint8_t* keep, std::int64_t n, Scalar temperature, Scalar* p) const {
        softmax_rows({{.rows = 1, .n = n, .allowed = n, .most_allowed = n, .keep = keep}, x, 0, p, 0, nullptr, 0, 0, temperature});
    }
    void softmax_backward_row(const Scalar* p, const Scalar* dp, const std::uint8_t* keep, std::int64_t n, Scalar factor,
                              Scalar* dx) const {
        softmax_backward_rows({{.rows = 1, .n = n, .allowed = n, .most_allowed = n, .keep = keep}, p, 0, dp, 0, dx, 0, factor});
    }

    /// -log softmax(x)[target], and whether no number is larger than x[target]; sets dx = factor (softmax(x) - one-hot(target)) unless
    /// null.
    RowLoss (*cross_entropy_row)(const Scalar* x, std::int64_t n, std::int64_t target, Scalar factor, Scalar* dx);
    /// dx = f'(x) dy for the activations.
    void (*relu_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*gelu_erf_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*gelu_tanh_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*silu_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);

    /// y = (x - mean) rstd gain + bias of `rows` rows of n numbers; a constant row gives exactly the bias.
    void (*layer_norm_rows)(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias, Scalar eps,
                            Scalar* y, Scalar* mean, Scalar* rstd);
    /// The gradient of layer_norm_rows, as NormBackwardArguments says.
    void (*layer_norm_backward_rows)(const NormBackwardArguments<Scalar>& arguments, std::int64_t rows, std::int64_t n);
    /// y = x rstd gain with rstd = 1 / sqrt(mean(x^2) + eps) of `rows` rows of n numbers.
    void (*rms_norm_rows)(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, Scalar eps, Scalar* y, Scalar* rstd);
    /// Its gradient, without mean and dbias.
    void (*rms_norm_backward_rows)(const NormBackwardArguments<Scalar>& arguments, std::int64_t rows, std::int64_t n);
    /// sums += each row of x, one after the other.
    void (*add_rows)(const Scalar* x, std::int64_t rows, std::int64_t n, Scalar* sums);

    /// One AdamW step (Loshchilov and Hutter, 2019) on n parameters.
    void (*adamw)(const AdamwArguments<Scalar>& arguments, std::int64_t n, const Scalar* gradient, Scalar* parameter, Scalar* m, Scalar* v);
    /// `rounds` rounds of independent multiply-adds in registers, to measure the highest rate of this instruction set; returns the number
    /// of floating-point operations.
    double (*multiply_add_loop)(std::int64_t rounds);
    /// Sum of the squares, in double.
    double (*sum_of_squares)(const Scalar* x, std::int64_t n);
};

/// "baseline", "v3", "v4".
std::string_view kernel_build_name(KernelBuild build);
/// The builds in this program that the processor can run, least first.
std::vector<KernelBuild> available_kernel_builds();
/// The table of one build. Throws ConfigError if the processor cannot run it.
template <class Scalar>
const Kernels<Scalar>& kernels_of(KernelBuild build);
/// The build in use: the environment variable ATTNSCOPE_KERNELS if set (ConfigError for a wrong value), else the best available; between
/// V3 and V4 a short measurement decides, at the first call.
KernelBuild active_kernel_build();
/// The table of active_kernel_build().
template <class Scalar>
const Kernels<Scalar>& kernels();

}  // namespace attn
