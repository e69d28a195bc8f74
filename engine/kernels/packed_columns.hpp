// Part of the kernel builds with AVX-512: sixteen columns of a matrix in packed blocks, of which numbers are read side by side. Included by
// stored_row.hpp inside an unnamed namespace.
//
// Every kind has some numbers of each column at hand after load(first column, distance of columns, distance of what to ask for, place in
// the columns), of which begin(part) chooses 32: eight times four(), quanta as the bytes of a lane, which value() makes numbers. They have
// the bits that engine/kernels/stored.hpp gives them; the layouts are told in engine/tensor/blocks.hpp.

using Dwords = __m512i;

ATTN_INLINE std::uint32_t read_four(const Byte* p) {
    std::uint32_t bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
    return bytes;
}
ATTN_INLINE Dwords low_nibbles(Dwords x) { return _mm512_and_si512(x, _mm512_set1_epi32(0x0F0F0F0F)); }
ATTN_INLINE Dwords shifted(Dwords x, int bits) { return _mm512_srl_epi32(x, _mm_cvtsi32_si128(bits)); }
ATTN_INLINE Dwords signed_byte_of(Dwords x, int i) {
    return _mm512_srai_epi32(_mm512_slli_epi32(x, static_cast<unsigned>(24 - 8 * i)), 24);
}
ATTN_INLINE Vec<float> as_floats(Dwords x) { return _mm512_cvtepi32_ps(x); }

/// The halves in the lower and in the upper two bytes of each lane.
ATTN_INLINE Vec<float> lower_halves(Dwords x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
ATTN_INLINE Vec<float> upper_halves(Dwords x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16))); }

/// 0 to 15 and 16 to 31, less `middle`, to be chosen among by the low bits of a lane.
ATTN_INLINE Vec<float> small_numbers(float first) {
    const Vec<float> steps = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return steps + first;
}
ATTN_INLINE Vec<float> of_sixteen(Dwords quanta, Vec<float> numbers) { return _mm512_permutexvar_ps(quanta, numbers); }
ATTN_INLINE Vec<float> of_thirty_two(Dwords quanta, Vec<float> low, Vec<float> high) { return _mm512_permutex2var_ps(low, quanta, high); }

/// Lets vectors and lanes whose numbers differ in one bit change places.
template <int kStep, int kVectors>
ATTN_INLINE void exchange_lanes(Vec<float> (&r)[kVectors]) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i)
        if ((i & kStep) == 0) exchange_halves<kStep, float>(r[i], r[i | kStep], LaneNumbers<float>{});
}

/// The first 64 bytes of sixteen columns, four of each in a vector.
ATTN_INLINE void load_columns(const Byte* first, std::int64_t row_bytes, std::int64_t ask_for, Vec<float> (&turned)[16]) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
        const Byte* row = first + i * row_bytes;
        turned[i] = _mm512_castsi512_ps(_mm512_loadu_si512(row));
        __builtin_prefetch(row + ask_for);
    }
    transpose_rounds<1, float>(turned);
}

/// The first 32 bytes of sixteen columns, four of each in a vector: two columns share one while it is turned.
ATTN_INLINE void load_half_columns(const Byte* first, std::int64_t row_bytes, Dwords (&out)[8]) {
    Vec<float> turned[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
        const __m256i one = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + i * row_bytes));
        const __m256i other = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + (i + 8) * row_bytes));
        turned[i] = _mm512_castsi512_ps(_mm512_inserti64x4(_mm512_castsi256_si512(one), other, 1));
    }
    exchange_lanes<1>(turned);
    exchange_lanes<2>(turned);
    exchange_lanes<4>(turned);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) out[i] = _mm512_castps_si512(turned[i]);
}

/// The first 16 bytes of sixteen columns, four of each in a vector.
ATTN_INLINE void load_quarter_columns(const Byte* first, std::int64_t row_bytes, Dwords (&out)[4]) {
    const auto sixteen = [&](int i) __attribute__((always_inline)) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + i * row_bytes));
    };
    Vec<float> turned[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        Dwords all = _mm512_castsi128_si512(sixteen(i));
        all = _mm512_inserti32x4(all, sixteen(i + 4), 1);
        all = _mm512_inserti32x4(all, sixteen(i + 8), 2);
        all = _mm512_inserti32x4(all, sixteen(i + 12), 3);
        turned[i] = _mm512_castsi512_ps(all);
    }
    exchange_lanes<1>(turned);
    exchange_lanes<2>(turned);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) out[i] = _mm512_castps_si512(turned[i]);
}

/// Q8_0: a factor and 32 signed bytes. Two blocks.
struct ColumnsOfBytes {
    static constexpr std::int64_t kNumbers = 64;
    static constexpr std::int64_t kBlock = 34;

    ATTN_INLINE void load(const Byte* first, std::int64_t row_bytes, std::int64_t ask_for, std::int64_t p) {
        first += p / 32 * kBlock;
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            const Byte* block = first + i * row_bytes;
            halves[0][i] = read_half(block);
            halves[1][i] = read_half(block + kBlock);
            const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 2));
            const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + kBlock + 2));
            turned[i] = _mm512_castsi512_ps(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
            __builtin_prefetch(block + ask_for);
        }
        transpose_rounds<1, float>(turned);
    }
    ATTN_INLINE void begin(int part) {
        here = turned + 8 * part;
        factor = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(halves[part])));
    }
    ATTN_INLINE Dwords four(int fours) const { return _mm512_castps_si512(here[fours]); }
    ATTN_INLINE Vec<float> value(Dwords quanta, int, int i) const { return factor * as_floats(signed_byte_of(quanta, i)); }

    Vec<float> turned[16], factor;
    const Vec<float>* here;
    alignas(32) std::uint16_t halves[2][16];
};

/// Q4_0 to Q5_1: blocks of 32 with a factor, perhaps something that is added, perhaps fifth bits, and 16 bytes of two quanta. Four blocks.
template <int kBlock, int kBits, int kQuanta, int kMiddle>
struct ColumnsOfSmallBlocks {
    static constexpr std::int64_t kNumbers = 128;
    static constexpr bool kHasFifthBits = kBits > 0, kAdds = kMiddle == 0;

    ATTN_INLINE void load(const Byte* first, std::int64_t row_bytes, std::int64_t ask_for, std::int64_t p) {
        first += p / 32 * kBlock;
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            const Byte* row = first + i * row_bytes;
            Dwords all = _mm512_castsi128_si512(sixteen(row));
            all = _mm512_inserti32x4(all, sixteen(row + kBlock), 1);
            all = _mm512_inserti32x4(all, sixteen(row + 2 * kBlock), 2);
            all = _mm512_inserti32x4(all, sixteen(row + 3 * kBlock), 3);
            turned[i] = _mm512_castsi512_ps(all);
            __builtin_prefetch(row + ask_for);
            for (int block = 0; block < 4; ++block) {
                heads[block][i] = read_four(row + block * kBlock);
                if (kHasFifthBits) fifth_bits[block][i] = read_four(row + block * kBlock + kBits);
            }
        }
        transpose_rounds<1, float>(turned);
    }
    ATTN_INLINE void begin(int part) {
        here = turned + 4 * part;
        const Dwords head = _mm512_load_si512(heads[part]);
        factor = lower_halves(head);
        if (kAdds) added = upper_halves(head);
        if (kHasFifthBits) bits = _mm512_load_si512(fifth_bits[part]);
    }
    ATTN_INLINE Dwords four(int fours) const {
        const Dwords both = _mm512_castps_si512(here[fours % 4]), quanta = fours < 4 ? both : _mm512_srli_epi32(both, 4);
        if (!kHasFifthBits) return quanta;
        // Four bits go to a byte each: the product puts copies of them seven places apart.
        const Dwords nibble = _mm512_and_si512(_mm512_srli_epi32(bits, static_cast<unsigned>(4 * fours)), _mm512_set1_epi32(15));
        const Dwords spread = _mm512_and_si512(_mm512_mullo_epi32(nibble, _mm512_set1_epi32(0x00204081)), _mm512_set1_epi32(0x01010101));
        return _mm512_or_si512(low_nibbles(quanta), _mm512_slli_epi32(spread, 4));
    }
    ATTN_INLINE Vec<float> value(Dwords quanta, int, int i) const {
        const Dwords lowest = _mm512_srli_epi32(quanta, static_cast<unsigned>(8 * i));
        const Vec<float> centred = kHasFifthBits ? of_thirty_two(lowest, small_numbers(-kMiddle), small_numbers(16 - kMiddle))
                                                 : of_sixteen(lowest, small_numbers(-kMiddle));
        return kAdds ? multiply_add(factor, centred, added) : factor * centred;
    }

    ATTN_INLINE static __m128i sixteen(const Byte* block) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + kQuanta)); }

    Vec<float> turned[16], factor, added;
    const Vec<float>* here;
    Dwords bits;
    alignas(64) std::uint32_t heads[4][16], fifth_bits[kHasFifthBits ? 4 : 1][16];
};
using ColumnsOfQ4_0 = ColumnsOfSmallBlocks<18, 0, 2, 8>;
using ColumnsOfQ4_1 = ColumnsOfSmallBlocks<20, 0, 4, 0>;
using ColumnsOfQ5_0 = ColumnsOfSmallBlocks<22, 2, 6, 16>;
using ColumnsOfQ5_1 = ColumnsOfSmallBlocks<24, 4, 8, 0>;

/// Q4_K and Q5_K: blocks of 256 in eight groups, each with a factor and what is taken away. Half a block.
template <int kBlock, int kBits, int kQuanta>
struct ColumnsOfPairedGroups {
    static constexpr std::int64_t kNumbers = 128;
    static constexpr bool kHasFifthBits = kBits > 0;

    ATTN_INLINE void load(const Byte* first, std::int64_t row_bytes, std::int64_t ask_for, std::int64_t p) {
        half = static_cast<int>(p / 128 % 2);
        first += p / 256 * kBlock;
        load_columns(first + kQuanta + half * 64, row_bytes, ask_for, turned);
        Dwords head[4];
        load_quarter_columns(first, row_bytes, head);
        const Dwords low = head[1], high = head[2], last = head[3];
        d = lower_halves(head[0]);
        least = upper_halves(head[0]);
        const Dwords six = _mm512_set1_epi32(0x3F3F3F3F);
        factors = _mm512_and_si512(low, six);
        takens = _mm512_and_si512(high, six);
        if (half == 1) {
            const Dwords two = _mm512_set1_epi32(0x30303030);
            factors = _mm512_or_si512(low_nibbles(last), _mm512_and_si512(_mm512_srli_epi32(low, 2), two));
            takens = _mm512_or_si512(low_nibbles(_mm512_srli_epi32(last, 4)), _mm512_and_si512(_mm512_srli_epi32(high, 2), two));
        }
        if constexpr (kHasFifthBits) load_half_columns(first + kBits, row_bytes, bits);
    }
    ATTN_INLINE void begin(int part) {
        group = part;
        factor = d * as_floats(byte_at(factors, part));
        taken = least * as_floats(byte_at(takens, part));
    }
    ATTN_INLINE Dwords four(int fours) const {
        const Dwords quanta = shifted(_mm512_castps_si512(turned[group / 2 * 8 + fours]), group % 2 * 4);
        if (!kHasFifthBits) return quanta;
        const Dwords bit = _mm512_and_si512(shifted(bits[fours], half * 4 + group), _mm512_set1_epi32(0x01010101));
        return _mm512_or_si512(low_nibbles(quanta), _mm512_slli_epi32(bit, 4));
    }
    ATTN_INLINE Vec<float> value(Dwords quanta, int, int i) const {
        const Dwords lowest = _mm512_srli_epi32(quanta, static_cast<unsigned>(8 * i));
        const Vec<float> number =
            kHasFifthBits ? of_thirty_two(lowest, small_numbers(0), small_numbers(16)) : of_sixteen(lowest, small_numbers(0));
        return multiply_add(factor, number, -taken);
    }

    ATTN_INLINE static Dwords byte_at(Dwords x, int i) { return _mm512_and_si512(shifted(x, 8 * i), _mm512_set1_epi32(255)); }

    Vec<float> turned[16], d, least, factor, taken;
    Dwords factors, takens, bits[kHasFifthBits ? 8 : 1];
    int half, group;
};
using ColumnsOfQ4_K = ColumnsOfPairedGroups<144, 0, 16>;
using ColumnsOfQ5_K = ColumnsOfPairedGroups<176, 16, 48>;

/// Q6_K: blocks of 256 in sixteen groups with a factor, quanta of six bits around 32. Half a block.
struct ColumnsOfQ6_K {
    static constexpr std::int64_t kNumbers = 128;
    static constexpr std::int64_t kBlock = 210;

    ATTN_INLINE void load(const Byte* first, std::int64_t row_bytes, std::int64_t ask_for, std::int64_t p) {
        const std::int64_t half = p / 128 % 2;
        first += p / 256 * kBlock;
        load_columns(first + half * 64, row_bytes, ask_for, turned);
        load_half_columns(first + 128 + half * 32, row_bytes, high);
        Dwords all[4];
        load_quarter_columns(first + 192, row_bytes, all);
        for (int i = 0; i < 2; ++i) factors[i] = all[2 * half + i];
        alignas(32) std::uint16_t halves[16];
        for (int i = 0; i < 16; ++i) halves[i] = read_half(first + i * row_bytes + 208);
        d = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(halves)));
    }
    ATTN_INLINE void begin(int part) {
        quarter = part;
        for (int i = 0; i < 2; ++i)
            factor[i] =
                d * as_floats(_mm512_srai_epi32(_mm512_sll_epi32(factors[part / 2], _mm_cvtsi32_si128(24 - 8 * (part % 2 * 2 + i))), 24));
    }
    ATTN_INLINE Dwords four(int fours) const {
        const Dwords low = low_nibbles(shifted(_mm512_castps_si512(turned[quarter % 2 * 8 + fours]), quarter / 2 * 4));
        const Dwords two = _mm512_and_si512(shifted(high[fours], quarter * 2), _mm512_set1_epi32(0x03030303));
        return _mm512_sub_epi8(_mm512_or_si512(low, _mm512_slli_epi32(two, 4)), _mm512_set1_epi8(32));
    }
    ATTN_INLINE Vec<float> value(Dwords quanta, int fours, int i) const { return factor[fours / 4] * as_floats(signed_byte_of(quanta, i)); }

    Vec<float> turned[16], d, factor[2];
    Dwords high[8], factors[2];
    int quarter;
};
