// Part of the kernel builds with AVX2 or AVX-512: reads as many columns of a half-precision or block-quantized matrix as a vector has
// lanes, one lane per column. Included by stored_packing.hpp inside an unnamed namespace.
//
// Each Columns type covers one number kind and holds kNumbers numbers of every column, which load() reads in kPieces pieces in order, given
// the block that contains them. They are used in parts of 32; call begin(part) before a part. Most kinds are unpacked into planes of four
// quanta per lane, one byte each, which value() turns into floats. The results are bit-identical to engine/kernels/stored.hpp; for the
// layouts see engine/tensor/blocks.hpp.

using Dwords = Bits<float>;

/// Makes the compiler forget how it got a number. Otherwise it computes the addresses of all columns in advance, more than there are
/// registers, and moving them costs more than the product.
template <class Number>
ATTN_INLINE void forget_origin(Number& number) {
    __asm__("" : "+r"(number));
}

/// The same for a vector, which then stays in a register instead of being read again for every use.
ATTN_INLINE void forget_origin(Vec<float>& numbers) { __asm__("" : "+v"(numbers)); }

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
ATTN_INLINE __m256i thirty_two_at(const Byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
/// 16 bytes of every fourth column, starting with the one at p.
ATTN_INLINE Dwords every_fourth(const Byte* p, const RowBytes& rows) {
    Whole all = _mm512_castsi128_si512(sixteen_at(p));
    all = _mm512_inserti32x4(all, sixteen_at(p + 4 * rows.one), 1);
    all = _mm512_inserti32x4(all, sixteen_at(p + 8 * rows.one), 2);
    return reinterpret_cast<Dwords>(_mm512_inserti32x4(all, sixteen_at(p + 4 * rows.three), 3));
}
/// A function of every bit of three vectors, as one instruction, which the compiler does not find by itself. Bit 4 a + 2 b + c of kTable is
/// its value for bits a, b and c.
template <int kTable>
ATTN_INLINE Dwords bitwise(Dwords a, Dwords b, Dwords c) {
    return reinterpret_cast<Dwords>(
        _mm512_ternarylogic_epi32(reinterpret_cast<Whole>(a), reinterpret_cast<Whole>(b), reinterpret_cast<Whole>(c), kTable));
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
#endif

/// A block in each of some adjacent columns: where it is in the first four, and the distance from each column to the next. Made anew for
/// every piece that is read: kept, the addresses of all vectors of columns would be more than there are registers.
struct SideBySide {
    const Byte* block[4];
    const RowBytes& rows;

    ATTN_INLINE SideBySide(const Byte* first, const RowBytes& distance) : block{first}, rows(distance) {
        forget_origin(block[0]);
        block[1] = block[0] + rows.one, block[2] = block[0] + 2 * rows.one, block[3] = block[0] + rows.three;
    }
};

ATTN_INLINE Dwords shifted(Dwords x, int bits) { return reinterpret_cast<Dwords>(reinterpret_cast<Lanes<float>::Wrapping>(x) >> bits); }
ATTN_INLINE Dwords low_nibbles(Dwords x) { return x & 0x0F0F0F0F; }
/// The lowest kBits bits of every byte.
template <int kBits>
constexpr std::int32_t kCountedBits = static_cast<std::int32_t>(((1U << kBits) - 1) * 0x01010101U);

/// Bytes whose lowest kBits bits are those of `low`, and whose others those of `rest`.
template <int kBits>
ATTN_INLINE Dwords joined_bits(Dwords low, Dwords rest) {
#if defined(__AVX512F__)
    return bitwise<0xCA>(Dwords{} + kCountedBits<kBits>, low, rest);  // a ? b : c
#else
    return (low & kCountedBits<kBits>) | (rest & ~kCountedBits<kBits>);
#endif
}
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

/// Element i of out[j] is element j of rows[i], in each group of four.
ATTN_INLINE void transpose_fours(const Dwords (&rows)[4], Dwords* out) {
    const Dwords low = interleaved<Dwords, 0>(rows[0], rows[1]), high = interleaved<Dwords, 1>(rows[0], rows[1]);
    const Dwords other_low = interleaved<Dwords, 0>(rows[2], rows[3]), other_high = interleaved<Dwords, 1>(rows[2], rows[3]);
    out[0] = interleaved<Qwords, 0>(low, other_low);
    out[1] = interleaved<Qwords, 1>(low, other_low);
    out[2] = interleaved<Qwords, 0>(high, other_high);
    out[3] = interleaved<Qwords, 1>(high, other_high);
}

/// Sixteen bytes of each block, starting with byte `at`; out[i] holds the i-th four bytes.
ATTN_INLINE void load_sixteen(const SideBySide& columns, std::int64_t at, Dwords* out) {
    Dwords rows[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) rows[i] = every_fourth(columns.block[i] + at, columns.rows);
    transpose_fours(rows, out);
}

/// The same for thirty-two bytes.
ATTN_INLINE void load_thirty_two(const SideBySide& columns, std::int64_t at, Dwords* out) {
#if defined(__AVX512F__)
    // Half as many loads and four fifths of the shuffles of two load_sixteen(): 16 bytes of a column and the 16 after them stay side by
    // side until the end.
    Dwords halves[2][4];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        Dwords rows[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const Byte* const p = columns.block[i] + at + 8 * half * columns.rows.one;
            rows[i] = reinterpret_cast<Dwords>(
                _mm512_inserti64x4(_mm512_castsi256_si512(thirty_two_at(p)), thirty_two_at(p + 4 * columns.rows.one), 1));
        }
        transpose_fours(rows, halves[half]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const Whole a = reinterpret_cast<Whole>(halves[0][i]), b = reinterpret_cast<Whole>(halves[1][i]);
        out[i] = reinterpret_cast<Dwords>(_mm512_shuffle_i32x4(a, b, 0x88));
        out[4 + i] = reinterpret_cast<Dwords>(_mm512_shuffle_i32x4(a, b, 0xDD));
    }
#else
    load_sixteen(columns, at, out);
    load_sixteen(columns, at + 16, out + 4);
#endif
}

/// The first four bytes of each block.
ATTN_INLINE Dwords first_fours(const SideBySide& columns) {
#if defined(__AVX512F__)
    const auto row = static_cast<std::int32_t>(columns.rows.one);
    const Whole places =
        _mm512_mullo_epi32(_mm512_set1_epi32(row), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    return reinterpret_cast<Dwords>(_mm512_i32gather_epi32(places, columns.block[0], 1));
#else
    Dwords head[4];
    load_sixteen(columns, 0, head);
    return head[0];
#endif
}

/// `rest` with byte kTo of every lane replaced by byte `from` of x's.
template <int kTo>
ATTN_INLINE Dwords byte_into(Dwords rest, Dwords x, int from) {
    constexpr std::int32_t kNone = static_cast<std::int32_t>(0x80808080U & ~(0xFFU << (8 * kTo)));
    Dwords numbers;
    for (int i = 0; i < kWidth<float>; ++i) numbers[i] = kNone | (i % 4 * 4 + from) << (8 * kTo);
    return bytes_into<1 << kTo>(rest, x, numbers);
}

/// Byte i of every lane, of which kBits bits from `first` on count, as floats.
template <int kBits>
ATTN_INLINE Vec<float> quanta_of(Dwords plane, int i, int first = 0) {
#if defined(__AVX512F__)
    // One instruction picks the number by the lowest four or five bits of a lane, whatever its other bits are.
    const Whole quanta = reinterpret_cast<Whole>(shifted(plane, 8 * i + first));
    Vec<float> numbers;
    for (int lane = 0; lane < kWidth<float>; ++lane) numbers[lane] = static_cast<float>(lane % (1 << kBits));
    if constexpr (kBits == 5) return _mm512_permutex2var_ps(numbers, quanta, numbers + 16.0F);
    else return _mm512_permutexvar_ps(quanta, numbers);
#else
    return as_floats(byte_into<0>(Dwords{}, shifted(plane, first) & kCountedBits<kBits>, i));
#endif
}

/// factor (u - kMiddle) for quanta u >= 0 of kBits bits, without converting integers to floats: u becomes byte kTo of the float 1, giving
/// 1 + u / kStep. The fused product with factor * kStep and the subtraction of factor * (kStep + kMiddle) are exact up to a single rounding
/// of the result.
template <int kBits, int kMiddle>
struct Centred {
    static constexpr int kTo = kBits == 8 ? 1 : 2;
    static constexpr float kStep = static_cast<float>(1 << (23 - 8 * kTo));

    ATTN_INLINE void set(Vec<float> factor) { scaled = factor * kStep, taken = factor * -(kStep + kMiddle); }
    ATTN_INLINE Vec<float> number(Dwords plane, int i) const {
        const Dwords one = reinterpret_cast<Dwords>(Vec<float>{} + 1.0F);
        // Byte 2 of the float 1 also contains the lowest bit of the exponent, which must stay set.
        constexpr std::int32_t kKept = kTo == 2 ? static_cast<std::int32_t>(0x80808080U) : 0;
        Dwords number;
#if defined(__AVX512F__)
        if constexpr (kTo == 2) {
            const Dwords moved = i > kTo ? shifted(plane, 8 * (i - kTo)) : plane << (8 * (kTo - i));
            number = bitwise<0xEA>(moved, Dwords{} + (((1 << kBits) - 1) << (8 * kTo)), one);  // (a & b) | c
        } else
#endif
        {
            number = byte_into<kTo>(one, (plane & kCountedBits<kBits>) | kKept, i);
        }
        return multiply_add(scaled, reinterpret_cast<Vec<float>>(number), taken);
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
    ATTN_INLINE Vec<float> value(int, int fours, int i) const {
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
    ATTN_INLINE Vec<float> value(int, int fours, int i) const {
        const Dwords pair = pairs[2 * fours + i / 2];
        return reinterpret_cast<Vec<float>>(i % 2 == 0 ? pair << 16 : pair & static_cast<std::int32_t>(0xFFFF0000U));
    }

    Dwords pairs[16];
};

/// Q8_0: a scale and 32 signed bytes.
struct ColumnsOfBytes {
    static constexpr int kNumbers = 32, kPieces = 2;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q8_0);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t, int piece) {
        if (piece == 1) return numbers.set(lower_halves(first_fours(columns)));
        load_thirty_two(columns, 2, planes);
#pragma GCC unroll 8
        for (Dwords& plane : planes) plane ^= static_cast<std::int32_t>(0x80808080U);
    }
    ATTN_INLINE void begin(int) {}
    ATTN_INLINE Vec<float> value(int, int fours, int i) const { return numbers.number(planes[fours], i); }

    Dwords planes[8];
    Centred<8, 128> numbers;
};

/// Q4_0 to Q5_1: blocks of 32 with a scale, a minimum in the _1 kinds, fifth bits in the Q5 kinds, and two quanta in each of 16 bytes.
template <NumberKind kKind, int kBits, int kQuanta, int kMiddle>
struct ColumnsOfSmallBlocks {
    static constexpr int kNumbers = 32, kPieces = 2;
    static constexpr BlockSize kBlock = block_size(kKind);
    static constexpr bool kHasFifthBits = kBits > 0, kAdds = kMiddle == 0;

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t, int piece) {
        Dwords bytes[4];
        load_sixteen(columns, piece == 0 ? 0 : kQuanta, bytes);
        if (piece == 0) return load_head(bytes);
#pragma GCC unroll 8
        for (int f = 0; f < 8; ++f) {
            const Dwords low = f < 4 ? bytes[f] : shifted(bytes[f - 4], 4);
            // Spreads four bits over the four bytes: the product adds copies shifted by multiples of seven.
            if constexpr (kHasFifthBits) planes[f] = joined_bits<4>(low, (((shifted(bits, 4 * f) & 15) * 0x00204081) & 0x01010101) << 4);
            else planes[f] = low;
        }
    }
    ATTN_INLINE void load_head(const Dwords (&head)[4]) {
        factor = lower_halves(head[0]);
        if constexpr (kAdds) added = upper_halves(head[0]);
        else centred.set(factor);
        if constexpr (kBits == 2) bits = shifted(head[0], 16) | head[1] << 16;
        else if constexpr (kHasFifthBits) bits = head[kBits / 4];
    }
    ATTN_INLINE void begin(int) {}
    ATTN_INLINE Vec<float> value(int, int fours, int i) const {
        if constexpr (kAdds) return multiply_add(factor, quanta_of < kHasFifthBits ? 5 : 4 > (planes[fours], i), added);
        else return centred.number(planes[fours], i);
    }

    Dwords planes[8];
    Dwords bits;
    Vec<float> factor, added;
    Centred<kHasFifthBits ? 5 : 4, kMiddle> centred;
};
using ColumnsOfQ4_0 = ColumnsOfSmallBlocks<NumberKind::Q4_0, 0, 2, 8>;
using ColumnsOfQ4_1 = ColumnsOfSmallBlocks<NumberKind::Q4_1, 0, 4, 0>;
using ColumnsOfQ5_0 = ColumnsOfSmallBlocks<NumberKind::Q5_0, 2, 6, 16>;
using ColumnsOfQ5_1 = ColumnsOfSmallBlocks<NumberKind::Q5_1, 4, 8, 0>;

/// Q2_K: blocks of 256 in 16 groups, each with a 4-bit scale and minimum; 2-bit quanta. Loads half a block.
struct ColumnsOfQ2_K {
    static constexpr int kNumbers = 128, kPieces = 1;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q2_K);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int) {
        half = static_cast<int>(p / 128 % 2);
        load_sixteen(columns, 68, scales);
        d = lower_halves(scales[3]), least = -upper_halves(scales[3]);
        load_sixteen(columns, 0, scales);
        load_thirty_two(columns, 16 + 32 * half, planes);
    }
    ATTN_INLINE void begin(int part) {
        for (int i = 0; i < 2; ++i) {
            const Dwords both = byte_at(scales[half * 2 + part / 2], part % 2 * 2 + i);
            factor[i] = d * as_floats(both & 15);
            added[i] = least * as_floats(shifted(both, 4));
        }
    }
    ATTN_INLINE Vec<float> value(int part, int fours, int i) const {
        return multiply_add(factor[fours / 4], quanta_of<2>(planes[fours], i, 2 * part), added[fours / 4]);
    }

    Dwords planes[8];
    Dwords scales[4];
    Vec<float> d, least, factor[2], added[2];
    int half;
};

/// Q3_K: blocks of 256 in 16 groups, each with a 6-bit scale; 3-bit quanta centred on 4. Loads half a block.
struct ColumnsOfQ3_K {
    static constexpr int kNumbers = 128, kPieces = 1;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q3_K);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int) {
        const int half = static_cast<int>(p / 128 % 2);
        load_tail(columns, half);
        Dwords low[8], high[8];
        load_thirty_two(columns, 32 + half * 32, low);
        load_thirty_two(columns, 0, high);
#pragma GCC unroll 8
        for (int f = 0; f < 8; ++f) {
            const Dwords bits = shifted(high[f], 4 * half);
#pragma GCC unroll 4
            for (int part = 0; part < 4; ++part)
                planes[8 * part + f] = joined_bits<2>(shifted(low[f], 2 * part), part < 3 ? bits << (2 - part) : shifted(bits, 1));
        }
    }
    /// Loads two bytes of quanta, twelve of group scales and the block's scale.
    ATTN_INLINE void load_tail(const SideBySide& columns, int half) {
        Dwords tail[4];
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
    ATTN_INLINE Vec<float> value(int part, int fours, int i) const { return numbers[fours / 4].number(planes[8 * part + fours], i); }

    Dwords planes[32];
    Dwords scales[2];
    Vec<float> d;
    Centred<3, 4> numbers[2];
};

/// Q4_K and Q5_K: blocks of 256 in eight groups, each with a 6-bit scale and minimum. Loads half a block.
template <NumberKind kKind, int kBits, int kQuanta>
struct ColumnsOfPairedGroups {
    static constexpr bool kHasFifthBits = kBits > 0;
    static constexpr int kNumbers = 128, kPieces = 1;
    static constexpr BlockSize kBlock = block_size(kKind);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int) {
        const int half = static_cast<int>(p / 128 % 2);
        load_head(columns, half);
        if constexpr (!kHasFifthBits) {
            for (int pair = 0; pair < 2; ++pair) load_thirty_two(columns, kQuanta + 64 * half + 32 * pair, planes + 8 * pair);
        } else {
            Dwords bits[8];
            load_thirty_two(columns, kBits, bits);
#pragma GCC unroll 2
            for (int pair = 0; pair < 2; ++pair) {
                Dwords both[8];
                load_thirty_two(columns, kQuanta + 64 * half + 32 * pair, both);
#pragma GCC unroll 8
                for (int f = 0; f < 8; ++f) {
                    // The fifth bits are bits 2 pair and 2 pair + 1 of a half's four.
                    const Dwords fifths = shifted(bits[f], 4 * half);
                    planes[16 * pair + f] = joined_bits<4>(both[f], fifths << (4 - 2 * pair));
                    planes[16 * pair + 8 + f] = joined_bits<4>(shifted(both[f], 4), fifths << (3 - 2 * pair));
                }
            }
        }
    }
    ATTN_INLINE void begin(int part) {
        factor = d * as_floats(byte_at(factors, part));
        added = least * as_floats(byte_at(takens, part));
    }
    ATTN_INLINE Vec<float> value(int part, int fours, int i) const {
        if constexpr (kHasFifthBits) return multiply_add(factor, quanta_of<5>(planes[8 * part + fours], i), added);
        else return multiply_add(factor, quanta_of<4>(planes[8 * (part / 2) + fours], i, 4 * (part % 2)), added);
    }

    /// Loads the scales and minimums.
    ATTN_INLINE void load_head(const SideBySide& columns, int half) {
        Dwords head[4];
        load_sixteen(columns, 0, head);
        const Dwords low = head[1], high = head[2], last = head[3];
        d = lower_halves(head[0]), least = -upper_halves(head[0]);
        if (half == 0) {
            factors = low & 0x3F3F3F3F, takens = high & 0x3F3F3F3F;
        } else {
            factors = low_nibbles(last) | (shifted(low, 2) & 0x30303030);
            takens = low_nibbles(shifted(last, 4)) | (shifted(high, 2) & 0x30303030);
        }
    }

    Dwords planes[kHasFifthBits ? 32 : 16];
    Dwords factors, takens;
    Vec<float> d, least, factor, added;
};
using ColumnsOfQ4_K = ColumnsOfPairedGroups<NumberKind::Q4_K, 0, 16>;
using ColumnsOfQ5_K = ColumnsOfPairedGroups<NumberKind::Q5_K, 16, 48>;

/// Q6_K: blocks of 256 in 16 groups, each with an 8-bit scale; 6-bit quanta centred on 32. Loads half a block.
struct ColumnsOfQ6_K {
    static constexpr int kNumbers = 128, kPieces = 1;
    static constexpr BlockSize kBlock = block_size(NumberKind::Q6_K);

    ATTN_INLINE void load(const SideBySide& columns, std::int64_t p, int) {
        const std::int64_t half = p / 128 % 2;
        // The last 32 bytes: 14 of quanta, 16 of group scales and the block's scale.
        Dwords tail[8];
        load_thirty_two(columns, 178, tail);
        d = upper_halves(tail[7]);
        for (int i = 0; i < 2; ++i)
            factors[i] = half == 0 ? shifted(tail[3 + i], 16) | tail[4 + i] << 16 : shifted(tail[5 + i], 16) | tail[6 + i] << 16;
        Dwords high[8];  // two bits of each of the four groups of 32
        load_thirty_two(columns, 128 + half * 32, high);
#pragma GCC unroll 2
        for (int pair = 0; pair < 2; ++pair) {
            Dwords low[8];
            load_thirty_two(columns, half * 64 + 32 * pair, low);
#pragma GCC unroll 8
            for (int f = 0; f < 8; ++f) {
                planes[8 * pair + f] = joined_bits<4>(low[f], high[f] << (4 - 2 * pair));
                planes[16 + 8 * pair + f] = joined_bits<4>(shifted(low[f], 4), pair == 0 ? high[f] : shifted(high[f], 2));
            }
        }
    }
    ATTN_INLINE void begin(int part) {
        for (int i = 0; i < 2; ++i) numbers[i].set(d * as_floats(factors[part / 2] << (24 - 8 * (part % 2 * 2 + i)) >> 24));
    }
    ATTN_INLINE Vec<float> value(int part, int fours, int i) const { return numbers[fours / 4].number(planes[8 * part + fours], i); }

    Dwords planes[32];
    Dwords factors[2];
    Vec<float> d;
    Centred<6, 32> numbers[2];
};

template <class Columns>
struct ColumnsType {
    using Type = Columns;
};

/// use(ColumnsType<...>) for the columns of a kind; 0 for kinds that have none.
template <class Use>
ATTN_INLINE std::int64_t with_columns(NumberKind kind, const Use& use) {
    switch (kind) {
    case NumberKind::F16:
        return use(ColumnsType<ColumnsOfHalves>{});
    case NumberKind::BF16:
        return use(ColumnsType<ColumnsOfUpperHalves>{});
    case NumberKind::Q8_0:
        return use(ColumnsType<ColumnsOfBytes>{});
    case NumberKind::Q4_0:
        return use(ColumnsType<ColumnsOfQ4_0>{});
    case NumberKind::Q4_1:
        return use(ColumnsType<ColumnsOfQ4_1>{});
    case NumberKind::Q5_0:
        return use(ColumnsType<ColumnsOfQ5_0>{});
    case NumberKind::Q5_1:
        return use(ColumnsType<ColumnsOfQ5_1>{});
    case NumberKind::Q2_K:
        return use(ColumnsType<ColumnsOfQ2_K>{});
    case NumberKind::Q3_K:
        return use(ColumnsType<ColumnsOfQ3_K>{});
    case NumberKind::Q4_K:
        return use(ColumnsType<ColumnsOfQ4_K>{});
    case NumberKind::Q5_K:
        return use(ColumnsType<ColumnsOfQ5_K>{});
    case NumberKind::Q6_K:
        return use(ColumnsType<ColumnsOfQ6_K>{});
    default:
        return 0;
    }
}
