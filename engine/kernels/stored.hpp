// Part of every kernel build: widens numbers as files store them to float. Included by build.hpp inside an unnamed namespace.
//
// The loops decode the layouts of engine/tensor/blocks.hpp and give the same bits: every product of scale, factor and quantum is either
// exact or rounded at the same place.

using Byte = unsigned char;

ATTN_INLINE std::uint16_t read_half(const Byte* p) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return bits;
}

#if defined(__F16C__)
ATTN_INLINE float half_as_float(std::uint16_t half) { return _cvtsh_ss(half); }
#else
/// Rebiases the exponent with a product that is exact, subnormal numbers included.
ATTN_INLINE float half_as_float(std::uint16_t half) {
    std::uint32_t bits = (half & 0x7FFFU) << 13U;
    float magnitude;
    __builtin_memcpy(&magnitude, &bits, sizeof bits);
    magnitude *= 0x1p112F;
    __builtin_memcpy(&bits, &magnitude, sizeof bits);
    if ((half & 0x7C00U) == 0x7C00U) bits |= 0x7F800000U;  // infinity or NaN
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

/// out[i] = factor q[i] + added; the product is exact.
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

/// Q5_0 and Q5_1: bit i of two bytes becomes the fifth bit of quantum i of sixteen.
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
    constexpr Byte kSign = 128;  // flipping the sign bit maps -128..127 to 0..255
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

/// The 6-bit scale and minimum of one of the eight groups of Q4_K and Q5_K.
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

/// Expands n numbers: whole blocks, then the beginning of the last one.
template <NumberKind kKind, void (*kExpand)(const Byte*, float*)>
ATTN_INLINE void expand_blocks(const Byte* blocks, std::int64_t n, float* out) {
    constexpr std::int64_t kNumbers = block_size(kKind).numbers, kBytes = block_size(kKind).bytes;
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
        return expand_blocks<NumberKind::Q4_0, expand_q4_0>(in, n, out);
    case NumberKind::Q4_1:
        return expand_blocks<NumberKind::Q4_1, expand_q4_1>(in, n, out);
    case NumberKind::Q5_0:
        return expand_blocks<NumberKind::Q5_0, expand_q5_0>(in, n, out);
    case NumberKind::Q5_1:
        return expand_blocks<NumberKind::Q5_1, expand_q5_1>(in, n, out);
    case NumberKind::Q8_0:
        return expand_blocks<NumberKind::Q8_0, expand_q8_0>(in, n, out);
    case NumberKind::Q2_K:
        return expand_blocks<NumberKind::Q2_K, expand_q2_k>(in, n, out);
    case NumberKind::Q3_K:
        return expand_blocks<NumberKind::Q3_K, expand_q3_k>(in, n, out);
    case NumberKind::Q4_K:
        return expand_blocks<NumberKind::Q4_K, expand_q4_k>(in, n, out);
    case NumberKind::Q5_K:
        return expand_blocks<NumberKind::Q5_K, expand_q5_k>(in, n, out);
    case NumberKind::Q6_K:
        return expand_blocks<NumberKind::Q6_K, expand_q6_k>(in, n, out);
    }
}
