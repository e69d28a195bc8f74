#pragma once
/// The innermost loops: a table of functions per scalar type, built for several instruction sets and chosen at start-up.
/// All are single-threaded, allocate nothing, check nothing and take row-major memory. An element's result depends only on the numbers that
/// enter it, never on how many rows or columns are computed together: callers may split work as they like.

#include <cstdint>
#include <string_view>
#include <vector>

namespace attn {

/// A build of the kernels. Processors other than x86-64 have Baseline only.
enum class KernelBuild : std::uint8_t {
    Baseline,  ///< what the compiler targets by default
    V3,        ///< x86-64-v3: AVX2, FMA
    V4,        ///< x86-64-v4: AVX-512
};

enum class Transpose : std::uint8_t { No, Yes };

/// Packed operands may be split at multiples of this many columns.
inline constexpr std::int64_t kPackedGrain = 64;

/// Operands of C = (alpha op(A) op(B) + bias + plus) * times, where * is element-wise, or of C += alpha op(A) op(B).
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
    const Scalar* plus = nullptr;   ///< [m,n] with row distance ldc, added too; only without accumulate
    const Scalar* times = nullptr;  ///< [m,n] with row distance ldc, multiplies the result; only without accumulate
    /// Output of pack_b() for an operand [packed_k,packed_n] whose leading rows and columns are op(B); b, ldb and transpose_b are then
    /// ignored.
    const Scalar* packed_b = nullptr;
    std::int64_t packed_k = 0, packed_n = 0;
    bool packed_is_far = false;  ///< packed or used too long ago to be in the cache: prefetch it during the product
};

/// Which cells take part in a softmax over rows of n numbers: in row r the first min(allowed + r allowed_step, most_allowed), and of those
/// only the ones with keep != 0. All others become exactly 0 and their contents have no effect.
struct SoftmaxCells {
    std::int64_t rows = 0, n = 0;
    std::int64_t allowed = 0, allowed_step = 0, most_allowed = 0;  ///< most_allowed <= n
    const std::uint8_t* keep = nullptr;                            ///< [rows,most_allowed], or null to keep all
    std::int64_t keep_stride = 0;                                  ///< distance between rows, like all strides
};

/// p = softmax(x / temperature), row by row. A row becomes 0 if it keeps no cell or all its kept cells are -inf; a NaN or +inf makes all
/// its kept cells NaN.
template <class Scalar>
struct SoftmaxRows : SoftmaxCells {
    const Scalar* x = nullptr;  ///< [rows,n]
    std::int64_t x_stride = 0;
    Scalar* p = nullptr;  ///< [rows,n]; may be x
    std::int64_t p_stride = 0;
    Scalar* copy = nullptr;  ///< [rows,copy_n], most_allowed <= copy_n: a second copy of the weights, 0 beyond them; may be null
    std::int64_t copy_stride = 0, copy_n = 0;
    Scalar temperature = 1;
    Scalar* largest = nullptr;  ///< [rows]: receives the largest kept x / temperature, -inf if none is kept; may be null
};

/// dx = factor p (dp - sum(p dp)), row by row: the gradient of softmax(x / temperature) for factor = 1 / temperature. The kept p of a row
/// must sum to 1 or all be 0.
template <class Scalar>
struct SoftmaxBackwardRows : SoftmaxCells {
    const Scalar* p = nullptr;  ///< [rows,n]; not read beyond most_allowed
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

/// Operands of a layer norm's gradient: dy, x, plus, dx [rows,n]; gain, dgain, dbias [n]; mean, rstd [rows]. dx = gradient + plus (which
/// may be null); the sums over rows of dy (x - mean) rstd and of dy are added to dgain and dbias. dx may be dy or plus.
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
    /// Scratch numbers that gemm() needs, whatever the sizes.
    std::int64_t gemm_scratch;
    /// The product described by `arguments`; `scratch` holds gemm_scratch numbers, 64-byte aligned.
    void (*gemm)(const GemmArguments<Scalar>& arguments, Scalar* scratch);
    /// How many numbers pack_b() writes.
    std::int64_t (*packed_size)(std::int64_t k, std::int64_t n);
    /// Packs op(B) [k,n] in the order in which gemm() reads it, for products that share it. Column j, if a multiple of kPackedGrain, begins
    /// at packed + k j, and the columns from there on may be used alone.
    void (*pack_b)(const Scalar* b, std::int64_t ldb, Transpose transpose, std::int64_t k, std::int64_t n, Scalar* packed);

    /// y = a + b
    void (*add)(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);
    /// y = a b, element-wise
    void (*multiply)(const Scalar* a, const Scalar* b, std::int64_t n, Scalar* y);
    /// y = alpha x
    void (*scale)(const Scalar* x, Scalar alpha, std::int64_t n, Scalar* y);
    /// True if no number is infinite or NaN.
    bool (*all_finite)(const Scalar* x, std::int64_t n);
    /// The same for `rows` rows of n numbers, `stride` apart.
    bool (*rows_finite)(const Scalar* x, std::int64_t rows, std::int64_t n, std::int64_t stride);

    void (*relu)(const Scalar* x, std::int64_t n, Scalar* y);
    /// x Phi(x), where Phi is the standard normal distribution function.
    void (*gelu_erf)(const Scalar* x, std::int64_t n, Scalar* y);
    /// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    void (*gelu_tanh)(const Scalar* x, std::int64_t n, Scalar* y);
    /// The same, and replaces x by the derivative there, which costs little beside the value.
    void (*gelu_erf_with_slope)(Scalar* x, std::int64_t n, Scalar* y);
    void (*gelu_tanh_with_slope)(Scalar* x, std::int64_t n, Scalar* y);
    /// x / (1 + e^-x)
    void (*silu)(const Scalar* x, std::int64_t n, Scalar* y);
    void (*silu_with_slope)(Scalar* x, std::int64_t n, Scalar* y);
    /// x / (1 + e^(-1.702 x))
    void (*quick_gelu)(const Scalar* x, std::int64_t n, Scalar* y);
    void (*quick_gelu_with_slope)(Scalar* x, std::int64_t n, Scalar* y);
    /// gelu_erf, but at most 10.
    void (*gelu_clipped)(const Scalar* x, std::int64_t n, Scalar* y);
    void (*gelu_clipped_with_slope)(Scalar* x, std::int64_t n, Scalar* y);

    void (*softmax_rows)(const SoftmaxRows<Scalar>& rows);
    void (*softmax_backward_rows)(const SoftmaxBackwardRows<Scalar>& rows);
    /// A single row of n numbers; keep may be null.
    void softmax_row(const Scalar* x, const std::uint8_t* keep, std::int64_t n, Scalar temperature, Scalar* p) const {
        softmax_rows({{.rows = 1, .n = n, .allowed = n, .most_allowed = n, .keep = keep}, x, 0, p, 0, nullptr, 0, 0, temperature});
    }
    void softmax_backward_row(const Scalar* p, const Scalar* dp, const std::uint8_t* keep, std::int64_t n, Scalar factor,
                              Scalar* dx) const {
        softmax_backward_rows({{.rows = 1, .n = n, .allowed = n, .most_allowed = n, .keep = keep}, p, 0, dp, 0, dx, 0, factor});
    }

    /// Returns -log softmax(x)[target], and whether x[target] is the largest number. Unless dx is null, sets dx = factor (softmax(x) -
    /// one-hot(target)).
    RowLoss (*cross_entropy_row)(const Scalar* x, std::int64_t n, std::int64_t target, Scalar factor, Scalar* dx);
    /// dx = f'(x) dy for the activations.
    void (*relu_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*gelu_erf_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*gelu_tanh_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*silu_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*quick_gelu_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);
    void (*gelu_clipped_backward)(const Scalar* x, const Scalar* dy, std::int64_t n, Scalar* dx);

    /// y = (x - mean) rstd gain + bias for x [rows,n]; a constant row gives exactly the bias.
    void (*layer_norm_rows)(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, const Scalar* bias, Scalar eps,
                            Scalar* y, Scalar* mean, Scalar* rstd);
    /// The gradient of layer_norm_rows; see NormBackwardArguments.
    void (*layer_norm_backward_rows)(const NormBackwardArguments<Scalar>& arguments, std::int64_t rows, std::int64_t n);
    /// y = x rstd gain with rstd = 1 / sqrt(mean(x^2) + eps) for x [rows,n].
    void (*rms_norm_rows)(const Scalar* x, std::int64_t rows, std::int64_t n, const Scalar* gain, Scalar eps, Scalar* y, Scalar* rstd);
    /// The gradient of rms_norm_rows; mean and dbias are not used.
    void (*rms_norm_backward_rows)(const NormBackwardArguments<Scalar>& arguments, std::int64_t rows, std::int64_t n);
    /// sums [n] += the sum of the rows of x [rows,n], added one after another.
    void (*add_rows)(const Scalar* x, std::int64_t rows, std::int64_t n, Scalar* sums);

    /// One AdamW step (Loshchilov and Hutter, 2019) on n parameters.
    void (*adamw)(const AdamwArguments<Scalar>& arguments, std::int64_t n, const Scalar* gradient, Scalar* parameter, Scalar* m, Scalar* v);
    /// `rounds` rounds of independent multiply-adds in registers, to measure this instruction set's peak rate. Returns the number of
    /// floating-point operations.
    double (*multiply_add_loop)(std::int64_t rounds);
    /// Sum of squares, in double.
    double (*sum_of_squares)(const Scalar* x, std::int64_t n);
};

/// "baseline", "v3", "v4".
std::string_view kernel_build_name(KernelBuild build);
/// The builds that the processor can run, narrowest first.
std::vector<KernelBuild> available_kernel_builds();
/// The table of one build. Throws ConfigError if the processor cannot run it.
template <class Scalar>
const Kernels<Scalar>& kernels_of(KernelBuild build);
/// The build in use: the one named by the environment variable ATTNSCOPE_KERNELS (ConfigError for a wrong name), else the best available.
/// Between V3 and V4 a short measurement decides at the first call.
KernelBuild active_kernel_build();
/// The table of active_kernel_build().
template <class Scalar>
const Kernels<Scalar>& kernels();

}  // namespace attn
