// Part of every kernel build: numbers as files store them, made floats. Included by build.hpp inside an unnamed namespace.
//
// Half precision becomes the float that it is; of packed blocks the loops follow engine/tensor/blocks.hpp, where each layout is told, and
// give the same bits: all products of a scale, a factor and a quantum are exact or rounded in one place.

using Byte = unsigned char;

ATTN_INLINE std::uint16_t read_half(const Byte* p) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return bits;
}

#if defined(__F16C__)
ATTN_INLINE float half_as_float(std::uint16_t half) { return _cvtsh_ss(half); }
#else
/// The exponent moves by a product that is exact, also of subnormal numbers.
ATTN_INLINE float half_as_float(std::uint16_t half) {
    std::uint32_t bits = (half & 0x7FFFU) << 13U;
    float magnitude;
    __builtin_memcpy(&magnitude, &bits, sizeof bits);
    magnitude *= 0x1p112F;
    __builtin_memcpy(&bits, &magnitude, sizeof bits);
    if ((half & 0x7C00U) == 0x7C00U) bits |= 0x7F800000U;  // infinite or not a number
    bits |= (half & 0x8000U) << 16U;
    __builtin_memcpy(&magnitude, &bits, sizeof bits);
    return magnitude;
}
#endif
ATTN_INLINE float half_at(const Byte* p) { return half_as_float(read_half(p)); }

void widen_f16(const Byte* in, std::int64_t n, float* __restrict out) {
    std::int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) store(out + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + 2 * i))));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) store(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 2 * i))));
#endif
    for (; i < n; ++i) out[i] = half_at(in + 2 * i);
}

void widen_bf16(const Byte* in, std::int64_t n, float* __restrict out) {
    for (std::int64_t i = 0; i < n; ++i) {
        const std::uint32_t bits = static_cast<std::uint32_t>(read_half(in + 2 * i)) << 16U;
        __builtin_memcpy(out + i, &bits, sizeof bits);
    }
}

/// Sixteen quanta, as bytes and as floats.
typedef unsigned char Quanta __attribute__((vector_size(16)));
typedef std::int32_t WideQuanta __attribute__((vector_size(64)));
typedef float Sixteen __attribute__((vector_size(64)));

ATTN_INLINE Quanta quanta_at(const Byte* p) {
    Quanta q;
    __builtin_memcpy(&q, p, sizeof q);
    return q;
}
ATTN_INLINE Quanta low_half(Quanta q) { return q & static_cast<Byte>(15); }
ATTN_INLINE Quanta high_half(Quanta q) { return q >> static_cast<Byte>(4); }

/// out[i] = factor q[i] + added, where the product is exact.
ATTN_INLINE void put(float* out, Quanta q, float factor, float added) {
    const Sixteen y = factor * __builtin_convertvector(__builtin_convertvector(q, WideQuanta), Sixteen) + added;
    __builtin_memcpy(out, &y, sizeof y);
}
/// out[i] = factor (q[i] - middle)
ATTN_INLINE void put_centred(float* out, Quanta q, float factor, int middle) {
    const Sixteen y = factor * __builtin_convertvector(__builtin_convertvector(q, WideQuanta) - middle, Sixteen);
    __builtin_memcpy(out, &y, sizeof y);
}

void expand_q4_0(const Byte* block, float* out) {
    const float d = half_at(block);
    const Quanta q = quanta_at(block + 2);
    put_centred(out, low_half(q), d, 8);
    put_centred(out + 16, high_half(q), d, 8);
}

void expand_q4_1(const Byte* block, float* out) {
    const float d = half_at(block), m = half_at(block + 2);
    const Quanta q = quanta_at(block + 4);
    put(out, low_half(q), d, m);
    put(out + 16, high_half(q), d, m);
}

/// Of Q5_0 and Q5_1: bit i of two bytes as the fifth bit of the i-th of sixteen quanta.
ATTN_INLINE Quanta fifth_bits(const Byte* p) {
    const Byte a = p[0], b = p[1];
    const Quanta spread = {a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b};
    const Quanta bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    return reinterpret_cast<Quanta>((spread & bit) != 0) & static_cast<Byte>(16);
}

void expand_q5_0(const Byte* block, float* out) {
    const float d = half_at(block);
    const Quanta q = quanta_at(block + 6);
    put_centred(out, low_half(q) | fifth_bits(block + 2), d, 16);
    put_centred(out + 16, high_half(q) | fifth_bits(block + 4), d, 16);
}

void expand_q5_1(const Byte* block, float* out) {
    const float d = half_at(block), m = half_at(block + 2);
    const Quanta q = quanta_at(block + 8);
    put(out, low_half(q) | fifth_bits(block + 4), d, m);
    put(out + 16, high_half(q) | fifth_bits(block + 6), d, m);
}

void expand_q8_0(const Byte* block, float* out) {
    const float d = half_at(block);
    constexpr Byte kSign = 128;  // turned over, the bytes count from -128 on
    put_centred(out, quanta_at(block + 2) ^ kSign, d, kSign);
    put_centred(out + 16, quanta_at(block + 18) ^ kSign, d, kSign);
}

void expand_q2_k(const Byte* block, float* out) {
    const float d = half_at(block + 80), least = half_at(block + 82);
    for (int group = 0; group < 16; ++group) {
        const float factor = d * static_cast<float>(block[group] & 15), taken = least * static_cast<float>(block[group] >> 4);
        const Quanta q = quanta_at(block + 16 + group / 8 * 32 + group % 2 * 16) >> static_cast<Byte>(group % 8 / 2 * 2);
        put(out + group * 16, q & static_cast<Byte>(3), factor, -taken);
    }
}

void expand_q3_k(const Byte* block, float* out) {
    const float d = half_at(block + 108);
    const Byte* packed = block + 96;
    for (int group = 0; group < 16; ++group) {
        const int low = packed[group % 8] >> (group / 8 * 4) & 15, high = packed[8 + group % 4] >> (group / 4 * 2) & 3;
        const Quanta q = quanta_at(block + 32 + group / 8 * 32 + group % 2 * 16) >> static_cast<Byte>(group % 8 / 2 * 2);
        const Quanta bit = quanta_at(block + group % 2 * 16) >> static_cast<Byte>(group / 2) & static_cast<Byte>(1);
        put_centred(out + group * 16, (q & static_cast<Byte>(3)) + bit * static_cast<Byte>(4),
                    d * static_cast<float>((low | high << 4) - 32), 4);
    }
}

/// Factor and what is taken away of one of the eight groups of Q4_K and Q5_K, six bits each.
struct PackedPair {
    int factor, taken;
};
ATTN_INLINE PackedPair packed_pair(const Byte* p, int group) {
    if (group < 4) return {p[group] & 63, p[group + 4] & 63};
    return {(p[group + 4] & 15) | p[group - 4] >> 6 << 4, p[group + 4] >> 4 | p[group] >> 6 << 4};
}

void expand_q4_k(const Byte* block, float* out) {
    const float d = half_at(block), least = half_at(block + 2);
    for (int group = 0; group < 8; ++group) {
        const PackedPair pair = packed_pair(block + 4, group);
        const float factor = d * static_cast<float>(pair.factor), taken = least * static_cast<float>(pair.taken);
        for (int half = 0; half < 2; ++half) {
            const Quanta q = quanta_at(block + 16 + group / 2 * 32 + half * 16);
            put(out + group * 32 + half * 16, group % 2 == 0 ? low_half(q) : high_half(q), factor, -taken);
        }
    }
}

void expand_q5_k(const Byte* block, float* out) {
    const float d = half_at(block), least = half_at(block + 2);
    for (int group = 0; group < 8; ++group) {
        const PackedPair pair = packed_pair(block + 4, group);
        const float factor = d * static_cast<float>(pair.factor), taken = least * static_cast<float>(pair.taken);
        for (int half = 0; half < 2; ++half) {
            const Quanta q = quanta_at(block + 48 + group / 2 * 32 + half * 16);
            const Quanta bit = quanta_at(block + 16 + half * 16) >> static_cast<Byte>(group) & static_cast<Byte>(1);
            put(out + group * 32 + half * 16, (group % 2 == 0 ? low_half(q) : high_half(q)) | bit << static_cast<Byte>(4), factor, -taken);
        }
    }
}

void expand_q6_k(const Byte* block, float* out) {
    const float d = half_at(block + 208);
    for (int group = 0; group < 16; ++group) {
        const int half = group / 8, quarter = group % 8 / 2, from = group % 2 * 16;
        const Quanta low = quanta_at(block + half * 64 + quarter % 2 * 32 + from);
        const Quanta high = quanta_at(block + 128 + half * 32 + from) >> static_cast<Byte>(quarter * 2) & static_cast<Byte>(3);
        put_centred(out + group * 16, (quarter / 2 == 0 ? low_half(low) : high_half(low)) | high << static_cast<Byte>(4),
                    d * static_cast<float>(static_cast<signed char>(block[192 + group])), 32);
    }
}

/// n numbers, whole blocks and of the last one as many as are left.
template <int kNumbers, int kBytes, void (*kExpand)(const Byte*, float*)>
ATTN_INLINE void expand_blocks(const Byte* blocks, std::int64_t n, float* out) {
    for (; n >= kNumbers; n -= kNumbers, blocks += kBytes, out += kNumbers) kExpand(blocks, out);
    if (n <= 0) return;
    float last[kNumbers];
    kExpand(blocks, last);
    __builtin_memcpy(out, last, static_cast<unsigned long>(n) * sizeof(float));
}

void widen(NumberKind kind, const void* data, std::int64_t n, float* out) {
    const Byte* in = static_cast<const Byte*>(data);
    switch (kind) {
    case NumberKind::F32:
        __builtin_memcpy(out, in, static_cast<unsigned long>(n) * sizeof(float));
        return;
    case NumberKind::F64:
        for (std::int64_t i = 0; i < n; ++i) {
            double wide;
            __builtin_memcpy(&wide, in + i * 8, sizeof wide);
            out[i] = static_cast<float>(wide);
        }
        return;
    case NumberKind::F16:
        return widen_f16(in, n, out);
    case NumberKind::BF16:
        return widen_bf16(in, n, out);
    case NumberKind::Q4_0:
        return expand_blocks<32, 18, expand_q4_0>(in, n, out);
    case NumberKind::Q4_1:
        return expand_blocks<32, 20, expand_q4_1>(in, n, out);
    case NumberKind::Q5_0:
        return expand_blocks<32, 22, expand_q5_0>(in, n, out);
    case NumberKind::Q5_1:
        return expand_blocks<32, 24, expand_q5_1>(in, n, out);
    case NumberKind::Q8_0:
        return expand_blocks<32, 34, expand_q8_0>(in, n, out);
    case NumberKind::Q2_K:
        return expand_blocks<256, 84, expand_q2_k>(in, n, out);
    case NumberKind::Q3_K:
        return expand_blocks<256, 110, expand_q3_k>(in, n, out);
    case NumberKind::Q4_K:
        return expand_blocks<256, 144, expand_q4_k>(in, n, out);
    case NumberKind::Q5_K:
        return expand_blocks<256, 176, expand_q5_k>(in, n, out);
    case NumberKind::Q6_K:
        return expand_blocks<256, 210, expand_q6_k>(in, n, out);
    }
}

/// Rows that are widened together before they are turned: their floats stay in the L1 cache.
constexpr std::int64_t kWidenedNumbers = 256;

/// The panels of B, each [k, width], whose columns are stored one after the other.
void pack_columns_stored(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed) {
    using T = Tile<float>;
    constexpr std::int64_t kW = kWidth<float>;
    alignas(64) float rows[kW * kWidenedNumbers];
    for (std::int64_t j = 0; j < n; j += T::kColumns) {
        const std::int64_t here = n - j < T::kColumns ? n - j : T::kColumns, width = width_of<float>(here);
        for (std::int64_t i = 0; i < width; i += kW) {
            const std::int64_t count = here - i < kW ? here - i : kW;
            for (std::int64_t p = 0; p < k; p += kWidenedNumbers) {
                const std::int64_t depth = k - p < kWidenedNumbers ? k - p : kWidenedNumbers;
                for (std::int64_t r = 0; r < count; ++r)
                    widen(b.kind, b.data + (j + i + r) * b.row_bytes + p * b.block_bytes / b.block_numbers, depth,
                          rows + r * kWidenedNumbers);
                pack_transposed(rows, kWidenedNumbers, count, kW, depth, packed + j * k + p * width + i, width);
            }
        }
    }
}

/// The same of a B whose rows are.
void pack_rows_stored(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed) {
    using T = Tile<float>;
    alignas(64) float row[kWidenedNumbers];
    static_assert(kWidenedNumbers % T::kColumns == 0);
    for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t j = 0; j < n; j += kWidenedNumbers) {
            const std::int64_t here = n - j < kWidenedNumbers ? n - j : kWidenedNumbers;
            widen(b.kind, b.data + p * b.row_bytes + j * b.block_bytes / b.block_numbers, here, row);
            for (std::int64_t i = 0; i < here; i += T::kColumns) {
                const std::int64_t columns = here - i < T::kColumns ? here - i : T::kColumns, width = width_of<float>(columns);
                pack_rows(row + i, 0, columns, width, 1, packed + (j + i) * k + p * width);
            }
        }
}

void pack_stored(const StoredMatrix& b, std::int64_t k, std::int64_t n, float* packed) {
    if (b.transpose == Transpose::Yes) pack_columns_stored(b, k, n, packed);
    else pack_rows_stored(b, k, n, packed);
}

// --- the product of a single row ----------------------------------------------------------------------------------------------------

/// A vector of one stored row, from its p-th number on; p is a multiple of the vector's width.
template <NumberKind kKind>
ATTN_INLINE Vec<float> load_stored(const Byte* row, std::int64_t p) {
    if constexpr (kKind == NumberKind::F32) return load(reinterpret_cast<const float*>(row) + p);
#if defined(__AVX512F__)
    if constexpr (kKind == NumberKind::F16) return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * p)));
    if constexpr (kKind == NumberKind::BF16) {
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * p)));
        return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    }
    if constexpr (kKind == NumberKind::Q8_0) {
        const Byte* block = row + p / 32 * 34;
        const __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2 + p % 32)));
        return splat(half_at(block)) * _mm512_cvtepi32_ps(wide);
    }
#endif
}

/// Asks for what comes behind the vector at p in the row that is kWidth rows further down: rows are too short for the processor to foresee
/// what is needed.
template <NumberKind kKind>
ATTN_INLINE void ask_for_row(const Byte* row, std::int64_t p) {
    constexpr std::int64_t kLine = 64, kBytes = kKind == NumberKind::F32 ? 4 : kKind == NumberKind::Q8_0 ? 1 : 2;
    if (p * kBytes % kLine == 0) __builtin_prefetch(row + p * kBytes + (kKind == NumberKind::Q8_0 ? p / 32 * 2 : 0));
}

/// The sums of a vector's columns over the steps [p, p + depth) of k, each in the order of k. Row i begins at first + i row_bytes.
template <NumberKind kKind>
ATTN_INLINE Vec<float> sum_columns(const float* a, const Byte* first, std::int64_t row_bytes, std::int64_t p, std::int64_t depth) {
    constexpr int kW = kWidth<float>;
    Vec<float> sum{};
    for (std::int64_t q = p; q < p + depth; q += kW) {
        Vec<float> square[kW];
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) square[i] = load_stored<kKind>(first + i * row_bytes, q);
        for (int i = 0; i < kW; ++i) ask_for_row<kKind>(first + (kW + i) * row_bytes, q);
        transpose_rounds<1, float>(square);
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) sum = multiply_add(splat(a[q + i]), square[i], sum);
    }
    return sum;
}

#if defined(__AVX512F__)
/// The same of Q8_0, two blocks of each row at a time, which are turned as fours of bytes and widened behind that.
ATTN_INLINE Vec<float> sum_byte_columns(const float* a, const Byte* first, std::int64_t row_bytes, std::int64_t p, std::int64_t depth) {
    constexpr std::int64_t kBlock = 34, kNumbers = 32;
    Vec<float> sum{};
    for (std::int64_t q = p; q < p + depth; q += 2 * kNumbers) {
        Vec<float> square[16];
        std::uint16_t scales[2][16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            const Byte* block = first + i * row_bytes + q / kNumbers * kBlock;
            scales[0][i] = read_half(block);
            scales[1][i] = read_half(block + kBlock);
            const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 2));
            const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + kBlock + 2));
            square[i] = _mm512_castsi512_ps(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
            __builtin_prefetch(block + 16 * row_bytes);
        }
        transpose_rounds<1, float>(square);
        for (int half = 0; half < 2; ++half) {
            const Vec<float> scale = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales[half])));
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j) {
                const __m512i four = _mm512_castps_si512(square[half * 8 + j]);
                const float* here = a + q + half * kNumbers + j * 4;
                const __m512i bytes[4] = {_mm512_srai_epi32(_mm512_slli_epi32(four, 24), 24),
                                          _mm512_srai_epi32(_mm512_slli_epi32(four, 16), 24),
                                          _mm512_srai_epi32(_mm512_slli_epi32(four, 8), 24), _mm512_srai_epi32(four, 24)};
#pragma GCC unroll 4
                for (int t = 0; t < 4; ++t) sum = multiply_add(splat(here[t]), scale * _mm512_cvtepi32_ps(bytes[t]), sum);
            }
        }
    }
    return sum;
}
#endif

/// Columns [j, j + columns) of C after the steps [p, p + depth) of k, whose sums these are.
ATTN_INLINE void store_sums(const GemmArguments<float>& g, std::int64_t j, std::int64_t columns, std::int64_t p, std::int64_t depth,
                            Vec<float> sum) {
    float sums[kWidth<float>];
    store(sums, sum);
    store_row_sums(g, j, columns, p, depth, sums);
}

/// Steps of k that are summed up before they are added to what is there, as a tile does it.
ATTN_INLINE std::int64_t depth_at(const GemmArguments<float>& g, std::int64_t p) {
    return g.k - p < Tile<float>::kDepth ? g.k - p : Tile<float>::kDepth;
}

/// A row of C whose columns of B are stored one after the other and can be read vector by vector; k is a multiple of a vector's width.
template <NumberKind kKind>
void multiply_row_across(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t first_column, std::int64_t end_column) {
    for (std::int64_t j = first_column; j < end_column; j += kWidth<float>)
        for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth)
            store_sums(g, j, kWidth<float>, p, depth_at(g, p),
                       sum_columns<kKind>(g.a, b.data + j * b.row_bytes, b.row_bytes, p, depth_at(g, p)));
}

#if defined(__AVX512F__)
/// The same of Q8_0, for a k of whole pairs of blocks.
void multiply_byte_row(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t end_column) {
    for (std::int64_t j = 0; j < end_column; j += kWidth<float>)
        for (std::int64_t p = 0; p < g.k; p += Tile<float>::kDepth)
            store_sums(g, j, kWidth<float>, p, depth_at(g, p),
                       sum_byte_columns(g.a, b.data + j * b.row_bytes, b.row_bytes, p, depth_at(g, p)));
}
#endif

/// The same of columns that are widened first, so many numbers of them at a time that these begin with a block and end with a sum.
void multiply_row_widened(const GemmArguments<float>& g, const StoredMatrix& b, std::int64_t first_column, std::int64_t end_column) {
    constexpr std::int64_t kW = kWidth<float>, kDepth = Tile<float>::kDepth, kAtOnce = 2 * kDepth;
    static_assert(kAtOnce % kWidenedNumbers == 0);
    alignas(64) float rows[2 * kW * kAtOnce];  // the second half is asked for and never read
    for (std::int64_t j = first_column; j < end_column; j += kW) {
        const std::int64_t columns = end_column - j < kW ? end_column - j : kW;
        for (std::int64_t q = 0; q < g.k; q += kAtOnce) {
            const std::int64_t numbers = g.k - q < kAtOnce ? g.k - q : kAtOnce;
            for (std::int64_t i = 0; i < columns; ++i)
                widen(b.kind, b.data + (j + i) * b.row_bytes + q / b.block_numbers * b.block_bytes, numbers, rows + i * kAtOnce);
            for (std::int64_t p = q; p < q + numbers; p += kDepth) {
                const Byte* first = reinterpret_cast<const Byte*>(rows - q);
                store_sums(g, j, columns, p, depth_at(g, p),
                           sum_columns<NumberKind::F32>(g.a, first, kAtOnce * static_cast<std::int64_t>(sizeof(float)), p, depth_at(g, p)));
            }
        }
    }
}

bool multiply_row_stored(const GemmArguments<float>& g, const StoredMatrix& b) {
    if (g.m != 1 || g.k <= 0 || g.k % kWidth<float> != 0) return false;
    if (b.transpose == Transpose::No || g.transpose_a == Transpose::Yes) return false;
    const std::int64_t whole = g.n / kWidth<float> * kWidth<float>;
    std::int64_t done = whole;
    switch (b.kind) {
    case NumberKind::F32:
        if (reinterpret_cast<unsigned long>(b.data) % alignof(float) == 0) multiply_row_across<NumberKind::F32>(g, b, 0, whole);
        else done = 0;
        break;
#if defined(__AVX512F__)
    case NumberKind::F16:
        multiply_row_across<NumberKind::F16>(g, b, 0, whole);
        break;
    case NumberKind::BF16:
        multiply_row_across<NumberKind::BF16>(g, b, 0, whole);
        break;
    case NumberKind::Q8_0:
        if (g.k % 64 == 0) multiply_byte_row(g, b, whole);
        else multiply_row_across<NumberKind::Q8_0>(g, b, 0, whole);
        break;
#endif
    default:
        done = 0;
    }
    multiply_row_widened(g, b, done, g.n);
    return true;
}

constexpr StoredKernels kStoredTable = {.widen = &widen, .pack = &pack_stored, .multiply_row = &multiply_row_stored};
