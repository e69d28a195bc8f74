// Part of the kernel builds with AVX2 or AVX-512: reads as many columns of a half-precision or block-quantized matrix as a vector has
// lanes, one lane per column. Included by stored_row.hpp inside an unnamed namespace.
//
// Each Columns type covers one number kind and holds kNumbers numbers of every column, which load() reads in kPieces pieces in any order,
// given the block that contains them. They are used in parts of 32; call begin(part) before a part. four(part, fours) returns four quanta
// per lane as bytes, and value() turns one of them into floats. The results are bit-identical to engine/kernels/stored.hpp; for the layouts
// see engine/tensor/blocks.hpp.

using Dwords = Bits<float>;

/// Makes the compiler forget how it got a number. Otherwise it computes the addresses of all columns in advance, more than there are
/// registers, and moving them costs more than the product.
template <class Number>
ATTN_INLINE void forget_origin(Number& number) {
    __asm__("" : "+r"(number));
}

/// Distance from a column to the next, and to the third after it: with the factors of an address, these reach sixteen columns from four.
struct RowBytes {
    std::int64_t one, three;
    ATTN_INLINE explicit RowBytes(std::int64_t bytes) : one(bytes), three(3 * bytes) {
        forget_origin(one);
        forget_origin(three);
    }
};

#if defined(__AVX512F__)
using Whole = __m512i;
ATTN_INLINE __m128i sixteen_at(const Byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
/// 16 bytes of every fourth column, starting with the one at p.
ATTN_INLINE Dwords every_fourth(const Byte* p, const RowBytes& rows) {
    Whole all = _mm512_castsi128_si512(sixteen_at(p));
    all = _mm512_inserti32x4(all, sixteen_at(p + 4 * rows.one), 1);
    all = _mm512_inserti32x4(all, sixteen_at(p + 8 * rows.one), 2);
    return reinterpret_cast<Dwords>(_mm512_inserti32x4(all, sixteen_at(p + 4 * rows.three), 3));
}
/// The half-precision numbers in the lower two bytes of the lanes.
ATTN_INLINE Vec<float> lower_halves(Dwords x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(reinterpret_cast<Whole>(x))); }
ATTN_INLINE Vec<float> halves_at(const Byte* p) { return _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(p))); }
/// Moves the lower eight bytes of every 16-byte group to the front and the upper eight to the back.
ATTN_INLINE Dwords eights_together(Dwords x) {
    return reinterpret_cast<Dwords>(_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), reinterpret_cast<Whole>(x)));
}
/// `rest` with the bytes selected by kBytes in each lane replaced by bytes of x, whose indices within their 16-byte group are in `numbers`;
/// indices from 128 on select nothing.
template <std::uint8_t kBytes>
ATTN_INLINE Dwords bytes_into(Dwords rest, Dwords x, Dwords numbers) {
    return reinterpret_cast<Dwords>(_mm512_mask_shuffle_epi8(reinterpret_cast<Whole>(rest), kBytes * 0x1111111111111111U,
                                                             reinterpret_cast<Whole>(x), reinterpret_cast<Whole>(numbers)));
}
/// The lowest four bits of each lane as a float.
ATTN_INLINE Vec<float> lowest_four(Dwords x) {
    const Vec<float> numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return _mm512_permutexvar_ps(reinterpret_cast<Whole>(x), numbers);
}
#else
using Whole = __m256i;
ATTN_INLINE __m128i sixteen_at(const Byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
ATTN_INLINE Dwords every_fourth(const Byte* p, const RowBytes& rows) {
    return reinterpret_cast<Dwords>(_mm256_inserti128_si256(_mm256_castsi128_si256(sixteen_at(p)), sixteen_at(p + 4 * rows.one), 1));
}
ATTN_INLINE Vec<float> lower_halves(Dwords x) {
    const Whole low = reinterpret_cast<Whole>(x & 0xFFFF);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08)));
}
ATTN_INLINE Vec<float> halves_at(const Byte* p) { return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(p))); }
ATTN_INLINE Dwords eights_together(Dwords x) {
    return reinterpret_cast<Dwords>(_mm256_permute4x64_epi64(reinterpret_cast<Whole>(x), 0xD8));
}
template <std::uint8_t kBytes>
ATTN_INLINE Dwords bytes_into(Dwords rest, Dwords x, Dwords numbers) {
    return rest | reinterpret_cast<Dwords>(_mm256_shuffle_epi8(reinterpret_cast<Whole>(x), reinterpret_cast<Whole>(numbers)));
}
ATTN_INLINE Vec<float> lowest_four(Dwords x) { return __builtin_convertvector(x & 15, Vec<float>); }
#endif

/// A block in each of some adjacent columns: where it is in the first four, and the distance from each column to the next.
struct SideBySide {
    const Byte* block[4];
    const RowBytes& rows;

    ATTN_INLINE SideBySide(const Byte* first, const RowBytes& distance) : block{first}, rows(distance) {
        forget_origin(block[0]);
        block[1] = block[0] + rows.one, block[2] = block[0] + 2 * rows.one, block[3] = block[0] + rows.three;
        for (const Byte*& of_one : block) forget_origin(of_one);
    }
};

ATTN_INLINE Dwords shifted(Dwords x, int bits) { return reinterpret_cast<Dwords>(reinterpret_cast<Lanes<float>::Wrapping>(x) >> bits); }
ATTN_INLINE Dwords low_nibbles(Dwords x) { return x & 0x0F0F0F0F; }
ATTN_INLINE Dwords byte_at(Dwords x, int i) { return shifted(x, 8 * i) & 255; }
ATTN_INLINE Vec<float> as_floats(Dwords x) { return __builtin_convertvector(x, Vec<float>); }
ATTN_INLINE Vec<float> upper_halves(Dwords x) { return lower_halves(shifted(x, 16)); }

typedef std::int16_t Words __attribute__((vector_size(kVectorBytes)));
typedef std::int64_t Qwords __attribute__((vector_size(kVectorBytes)));

/// Elements of a and b alternately, from the lower (kUpper = 0) or upper half of each 16-byte group.
template <class Pieces, int kUpper, int... kLane>
ATTN_INLINE Dwords interleaved(Dwords a, Dwords b, Numbers<kLane...>) {
    constexpr int kOf16 = 16 * static_cast<int>(sizeof...(kLane)) / kVectorBytes, kAll = sizeof...(kLane);
    return reinterpret_cast<Dwords>(
        __builtin_shufflevector(reinterpret_cast<Pieces>(a), reinterpret_cast<Pieces>(b),
                                (kLane / kOf16 * kOf16 + kLane % kOf16 / 2 + kUpper * kOf16 / 2 + kLane % 2 * kAll)...));
}
template <class Pieces, int kUpper>
ATTN_INLINE Dwords interleaved(Dwords a, Dwords b) {
    return interleaved<Pieces, kUpper>(a, b, typename CountTo<kVectorBytes / static_cast<int>(sizeof(Pieces{}[0]))>::Type{});
}

/// Sixteen bytes of each block, starting with byte `at`; out[i] holds the i-th four bytes.
ATTN_INLINE void load_sixteen(const SideBySide& columns, std::int64_t at, Dwords* out) {
    Dwords rows[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) rows[i] = every_fourth(columns.block[i] + at, columns.rows);
    const Dwords low = interleaved<Dwords, 0>(rows[0], rows[1]), high = interleaved<Dwords, 1>(rows[0], rows[1]);
    const Dwords other_low = interleaved<Dwords, 0>(rows[2], rows[3]), other_high = interleaved<Dwords, 1>(rows[2], rows[3]);
    out[0] = interleaved<Qwords, 0>(low, other_low);
    out[1] = interleaved<Qwords, 1>(low, other_low);
    out[2] = interleaved<Qwords, 0>(high, other_high);
    out[3] = interleaved<Qwords, 1>(high, other_high);
}
/// `rest` with byte kTo of every lane replaced by byte `from` of x's.
template <int kTo>
ATTN_INLINE Dwords byte_into(Dwords rest, Dwords x, int from) {
    constexpr std::int32_t kNone = static_cast<std::int32_t>(0x80808080U & ~(0xFFU << (8 * kTo)));
    Dwords numbers;
    for (int i = 0; i < kWidth<float>; ++i) numbers[i] = kNone | (i % 4 * 4 + from) << (8 * kTo);
    return bytes_into<1 << kTo>(rest, x, numbers);
}

/// factor (u - kMiddle) for quanta u >= 0, without converting integers to floats: u becomes byte kTo of the float 1, giving 1 + u / kStep.
/// The fused product with factor * kStep and the subtraction of factor * (kStep + kMiddle) are exact up to a single rounding of the result.
template <int kTo, int kMiddle>
struct Centred {
    static constexpr float kStep = static_cast<float>(1 << (23 - 8 * kTo));

    ATTN_INLINE void set(Vec<float> factor) { scaled = factor * kStep, taken = factor * -(kStep + kMiddle); }
    ATTN_INLINE Vec<float> number(Dwords quanta, int i) const {
        // Byte 2 of the float 1 also contains the lowest bit of the exponent, which must stay set.
        constexpr std::int32_t kKept = kTo == 2 ? static_cast<std::int32_t>(0x80808080U) : 0;
        const Dwords one = reinterpret_cast<Dwords>(Vec<float>{} + 1.0F), bytes = quanta | kKept;
        return multiply_add(scaled, reinterpret_cast<Vec<float>>(byte_into<kTo>(one, bytes, i)), taken);
    }

    Vec<float> scaled, taken;
};

/// F16.
struct ColumnsOfHalves {
    static constexpr int kNumbers = 32, kPieces = 4;
    static constexpr BlockSize kBlock = block_size(NumberKind::F16);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t, int piece) {
        Dwords rows[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) rows[i] = every_fourth(columns.block[i] + 16 * piece, columns.rows);
        const Dwords low = interleaved<Words, 0>(rows[0], rows[1]), high = interleaved<Words, 1>(rows[0], rows[1]);
        const Dwords other_low = interleaved<Words, 0>(rows[2], rows[3]), other_high = interleaved<Words, 1>(rows[2], rows[3]);
        Dwords* const out = pairs + 4 * piece;
        out[0] = eights_together(interleaved<Dwords, 0>(low, other_low));
        out[1] = eights_together(interleaved<Dwords, 1>(low, other_low));
        out[2] = eights_together(interleaved<Dwords, 0>(high, other_high));
        out[3] = eights_together(interleaved<Dwords, 1>(high, other_high));
    }
    ATTN_INLINE void begin(int) {}
    ATTN_INLINE Dwords four(int, int) const { return Dwords{}; }
    ATTN_INLINE Vec<float> value(Dwords, int, int fours, int i) const {
        return halves_at(reinterpret_cast<const Byte*>(pairs) + (4 * fours + i) * (kVectorBytes / 2));
    }

    Dwords pairs[16];  ///< the numbers of all columns at step 0, then at step 1, ...
};

/// BF16: the upper halves of floats.
struct ColumnsOfUpperHalves {
    static constexpr int kNumbers = 32, kPieces = 4;
    static constexpr BlockSize kBlock = block_size(NumberKind::BF16);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t, int piece) { load_sixteen(columns, 16 * piece, pairs + 4 * piece); }
    ATTN_INLINE void begin(int) {}
    ATTN_INLINE Dwords four(int, int) const { return Dwords{}; }
    ATTN_INLINE Vec<float> value(Dwords, int, int fours, int i) const {
        const Dwords pair = pairs[2 * fours + i / 2];
        return reinterpret_cast<Vec<float>>(i % 2 == 0 ? pair << 16 : pair & static_cast<std::int32_t>(0xFFFF0000U));
    }

    Dwords pairs[16];
};

/// Q8_0: a scale and 32 signed bytes.
struct ColumnsOfBytes {
    static constexpr int kNumbers = 32, kPieces = 3;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q8_0);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t, int piece) {
        if (piece < 2) return load_sixteen(columns, 2 + 16 * piece, quanta + 4 * piece);
        Dwords head[4];
        load_sixteen(columns, 0, head);
        numbers.set(lower_halves(head[0]));
    }
    ATTN_INLINE void begin(int) {}
    ATTN_INLINE Dwords four(int, int fours) const { return quanta[fours] ^ static_cast<std::int32_t>(0x80808080U); }
    ATTN_INLINE Vec<float> value(Dwords bytes, int, int, int i) const { return numbers.number(bytes, i); }

    Dwords quanta[8];
    Centred<1, 128> numbers;
};

/// Q4_0 to Q5_1: blocks of 32 with a scale, a minimum in the _1 kinds, fifth bits in the Q5 kinds, and two quanta in each of 16 bytes.
template <NumberKind kKind, int kBits, int kQuanta, int kMiddle>
struct ColumnsOfSmallBlocks {
    static constexpr int kNumbers = 32, kPieces = 2;
    static constexpr BlockSize kBlock = block_size(kKind);
    static constexpr bool kHasFifthBits = kBits > 0, kAdds = kMiddle == 0;

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t, int piece) {
        if (piece == 0) return load_sixteen(columns, kQuanta, quanta);
        Dwords head[4];
        load_sixteen(columns, 0, head);
        factor = lower_halves(head[0]);
        if constexpr (kAdds) added = upper_halves(head[0]);
        else centred.set(factor);
        if constexpr (kBits == 2) bits = shifted(head[0], 16) | head[1] << 16;
        else if constexpr (kHasFifthBits) bits = head[kBits / 4];
    }
    ATTN_INLINE void begin(int) {}
    ATTN_INLINE Dwords four(int, int fours) const {
        const Dwords low = low_nibbles(fours < 4 ? quanta[fours] : shifted(quanta[fours - 4], 4));
        if constexpr (!kHasFifthBits) return low;
        // Spreads four bits over the four bytes: the product adds copies shifted by multiples of seven.
        return low | (((shifted(bits, 4 * fours) & 15) * 0x00204081) & 0x01010101) << 4;
    }
    ATTN_INLINE Vec<float> value(Dwords bytes, int, int, int i) const {
        if constexpr (kAdds) return multiply_add(factor, as_floats(byte_into<0>(Dwords{}, bytes, i)), added);
        else return centred.number(bytes, i);
    }

    Dwords quanta[4], bits;
    Vec<float> factor, added;
    Centred<2, kMiddle> centred;
};
using ColumnsOfQ4_0 = ColumnsOfSmallBlocks<NumberKind::Q4_0, 0, 2, 8>;
using ColumnsOfQ4_1 = ColumnsOfSmallBlocks<NumberKind::Q4_1, 0, 4, 0>;
using ColumnsOfQ5_0 = ColumnsOfSmallBlocks<NumberKind::Q5_0, 2, 6, 16>;
using ColumnsOfQ5_1 = ColumnsOfSmallBlocks<NumberKind::Q5_1, 4, 8, 0>;

/// Q2_K: blocks of 256 in 16 groups, each with a 4-bit scale and minimum; 2-bit quanta. Loads half a block.
struct ColumnsOfQ2_K {
    static constexpr int kNumbers = 128, kPieces = 4;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q2_K);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int piece) {
        if (piece < 2) return load_sixteen(columns, 16 + p / 128 % 2 * 32 + 16 * piece, quanta + 4 * piece);
        if (piece == 2) {
            half = static_cast<int>(p / 128 % 2);
            return load_sixteen(columns, 0, scales);
        }
        Dwords tail[4];
        load_sixteen(columns, 68, tail);
        d = lower_halves(tail[3]), least = upper_halves(tail[3]);
    }
    ATTN_INLINE void begin(int part) {
        for (int i = 0; i < 2; ++i) {
            const Dwords both = byte_at(scales[half * 2 + part / 2], part % 2 * 2 + i);
            factor[i] = d * as_floats(both & 15);
            taken[i] = least * as_floats(shifted(both, 4));
        }
    }
    ATTN_INLINE Dwords four(int part, int fours) const { return shifted(quanta[fours], 2 * part) & 0x03030303; }
    ATTN_INLINE Vec<float> value(Dwords bytes, int, int fours, int i) const {
        return multiply_add(factor[fours / 4], as_floats(byte_into<0>(Dwords{}, bytes, i)), -taken[fours / 4]);
    }

    Dwords quanta[8], scales[4];
    Vec<float> d, least, factor[2], taken[2];
    int half;
};

/// Q3_K: blocks of 256 in 16 groups, each with a 6-bit scale; 3-bit quanta centred on 4. Loads half a block.
struct ColumnsOfQ3_K {
    static constexpr int kNumbers = 128, kPieces = 5;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q3_K);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int piece) {
        if (piece < 2) return load_sixteen(columns, 32 + p / 128 % 2 * 32 + 16 * piece, quanta + 4 * piece);
        if (piece < 4) return load_sixteen(columns, 16 * (piece - 2), high + 4 * (piece - 2));
        half = static_cast<int>(p / 128 % 2);
        Dwords tail[4];  // two bytes of quanta, twelve of group scales, the block's scale
        load_sixteen(columns, 94, tail);
        d = upper_halves(tail[3]);
        const Dwords tops = shifted(tail[2], 16) | tail[3] << 16;
        for (int i = 0; i < 2; ++i)
            scales[i] = low_nibbles(shifted(shifted(tail[i], 16) | tail[i + 1] << 16, 4 * half)) |
                        (shifted(tops, 4 * half + 2 * i) & 0x03030303) << 4;
    }
    ATTN_INLINE void begin(int part) {
        for (int i = 0; i < 2; ++i) numbers[i].set(d * as_floats(byte_at(scales[part / 2], part % 2 * 2 + i) - 32));
    }
    ATTN_INLINE Dwords four(int part, int fours) const {
        return (shifted(quanta[fours], 2 * part) & 0x03030303) | (shifted(high[fours], 4 * half + part) & 0x01010101) << 2;
    }
    ATTN_INLINE Vec<float> value(Dwords bytes, int, int fours, int i) const { return numbers[fours / 4].number(bytes, i); }

    Dwords quanta[8], high[8], scales[2];
    Vec<float> d;
    Centred<2, 4> numbers[2];
    int half;
};

/// Q4_K and Q5_K: blocks of 256 in eight groups, each with a 6-bit scale and minimum. Loads half a block.
template <NumberKind kKind, int kBits, int kQuanta>
struct ColumnsOfPairedGroups {
    static constexpr bool kHasFifthBits = kBits > 0;
    static constexpr int kNumbers = 128, kPieces = kHasFifthBits ? 7 : 5;
    static constexpr BlockSize kBlock = block_size(kKind);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int piece) {
        if (piece < 4) return load_sixteen(columns, kQuanta + p / 128 % 2 * 64 + 16 * piece, quanta + 4 * piece);
        if (piece == 4) return load_head(columns, static_cast<int>(p / 128 % 2));
        if constexpr (kHasFifthBits) load_sixteen(columns, kBits + 16 * (piece - 5), bits + 4 * (piece - 5));
    }
    ATTN_INLINE void begin(int part) {
        factor = d * as_floats(byte_at(factors, part));
        taken = least * as_floats(byte_at(takens, part));
    }
    ATTN_INLINE Dwords four(int part, int fours) const {
        const Dwords two = quanta[part / 2 * 8 + fours];
        if constexpr (!kHasFifthBits) return two;
        const Dwords bit = shifted(bits[fours], half * 4 + part) & 0x01010101;
        return low_nibbles(shifted(two, part % 2 * 4)) | bit << 4;
    }
    ATTN_INLINE Vec<float> value(Dwords bytes, int part, int, int i) const {
        const Vec<float> number =
            kHasFifthBits ? as_floats(byte_into<0>(Dwords{}, bytes, i)) : lowest_four(shifted(bytes, 8 * i + part % 2 * 4));
        return multiply_add(factor, number, -taken);
    }

    /// Loads the scales and minimums.
    ATTN_INLINE void load_head(const SideBySide& columns, int of_half) {
        half = of_half;
        Dwords head[4];
        load_sixteen(columns, 0, head);
        const Dwords low = head[1], high = head[2], last = head[3];
        d = lower_halves(head[0]), least = upper_halves(head[0]);
        if (half == 0) {
            factors = low & 0x3F3F3F3F, takens = high & 0x3F3F3F3F;
        } else {
            factors = low_nibbles(last) | (shifted(low, 2) & 0x30303030);
            takens = low_nibbles(shifted(last, 4)) | (shifted(high, 2) & 0x30303030);
        }
    }

    Dwords quanta[16], factors, takens, bits[kHasFifthBits ? 8 : 1];
    Vec<float> d, least, factor, taken;
    int half;
};
using ColumnsOfQ4_K = ColumnsOfPairedGroups<NumberKind::Q4_K, 0, 16>;
using ColumnsOfQ5_K = ColumnsOfPairedGroups<NumberKind::Q5_K, 16, 48>;

/// Q6_K: blocks of 256 in 16 groups, each with an 8-bit scale; 6-bit quanta centred on 32. Loads half a block.
struct ColumnsOfQ6_K {
    static constexpr int kNumbers = 128, kPieces = 8;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q6_K);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int piece) {
        const std::int64_t half = p / 128 % 2;
        if (piece < 4) return load_sixteen(columns, half * 64 + 16 * piece, quanta + 4 * piece);
        if (piece < 6) return load_sixteen(columns, 128 + half * 32 + 16 * (piece - 4), high + 4 * (piece - 4));
        Dwords all[4];
        load_sixteen(columns, piece == 6 ? 192 : 194, all);
        if (piece == 7) d = upper_halves(all[3]);
        else
            for (int i = 0; i < 2; ++i) factors[i] = half == 0 ? all[i] : all[2 + i];
    }
    ATTN_INLINE void begin(int part) {
        for (int i = 0; i < 2; ++i) numbers[i].set(d * as_floats(factors[part / 2] << (24 - 8 * (part % 2 * 2 + i)) >> 24));
    }
    ATTN_INLINE Dwords four(int part, int fours) const {
        const Dwords low = low_nibbles(shifted(quanta[part % 2 * 8 + fours], part / 2 * 4));
        return low | (shifted(high[fours], part * 2) & 0x03030303) << 4;
    }
    ATTN_INLINE Vec<float> value(Dwords bytes, int, int fours, int i) const { return numbers[fours / 4].number(bytes, i); }

    Dwords quanta[16], high[8], factors[2];
    Vec<float> d;
    Centred<2, 32> numbers[2];
};
