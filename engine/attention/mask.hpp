#pragma once
/// Attention masks. Inside the engine a mask has one meaning: true = may attend, plus an optional additive bias.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace attn {

/// Where the diagonal of a causal mask lies if the numbers of queries and keys differ.
enum class CausalAlignment : std::uint8_t {
    TopLeft,      ///< query t sees keys s <= t, like PyTorch's is_causal
    BottomRight,  ///< the last query sees every key: s <= t + S - T
};

/// How a mask is stored.
enum class MaskForm : std::uint8_t {
    Cells,   ///< a byte per cell
    Ranges,  ///< the range of keys of each row, for passes over long texts that show no maps: nothing takes T x S bytes
};

/// Which cells of [B,H,T,S] may attend, stored as [1|B, 1|H, T, S], and an optional bias on the scaled scores.
class Mask {
public:
    Mask() = default;
    explicit Mask(MaskForm form) : form_(form) {}
    /// Everything may attend.
    Mask(std::int64_t queries, std::int64_t keys);

    std::int64_t batches() const { return batches_; }  ///< 1 or B
    std::int64_t heads() const { return heads_; }      ///< 1 or H
    std::int64_t queries() const { return queries_; }
    std::int64_t keys() const { return keys_; }

    bool may_attend(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) const {
        return form_ == MaskForm::Cells ? keep_[static_cast<std::size_t>(row(b, h, t) * keys_ + s)] != 0 : is_in_range(row(b, h, t), s);
    }
    /// Row of `keys()` bytes, 1 = may attend. Throws Error unless the mask is stored as cells.
    const std::uint8_t* keep_row(std::int64_t b, std::int64_t h, std::int64_t t) const {
        expect_cells();
        return keep_.data() + row(b, h, t) * keys_;
    }
    MaskForm form() const { return form_; }
    /// The same for `count` rows from t on, written to `out`, however the mask is stored.
    void copy_rows(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t count, std::uint8_t* out) const;
    bool has_bias() const { return !bias_.empty(); }
    /// Row of `keys()` doubles, added to the scaled scores; only if has_bias().
    const double* bias_row(std::int64_t b, std::int64_t h, std::int64_t t) const { return bias_.data() + row(b, h, t) * keys_; }
    /// True if no cell is masked and there is no bias.
    bool allows_everything() const;
    /// True if exactly the cells with s > t are masked and there is no bias, so that kernels may skip them.
    bool is_plain_causal() const;
    /// True if the query may attend to no key.
    bool row_fully_masked(std::int64_t b, std::int64_t h, std::int64_t t) const;

    /// AND of the permissions, sum of the biases. Throws ShapeError naming both shapes if T or S differ, or if B or H do not broadcast.
    Mask combined_with(const Mask& other) const;

    /// Forbids one cell for every head and sequence.
    void forbid(std::int64_t t, std::int64_t s) { set(t, s, 0); }
    /// Allows one cell for every head and sequence.
    void allow(std::int64_t t, std::int64_t s) { set(t, s, 1); }

    /// Allows what is forbidden, and the other way round.
    void invert() {
        inverted_ = !inverted_ && form_ == MaskForm::Ranges;
        for (std::uint8_t& keep : keep_) keep = keep == 0 ? 1 : 0;
    }

    /// Replaces one row by these `keys()` bytes, for every head and sequence.
    void set_row(std::int64_t t, const std::uint8_t* keep) {
        expect_cells();
        for (std::int64_t b = 0; b < batches_; ++b)
            for (std::int64_t h = 0; h < heads_; ++h) std::copy_n(keep, keys_, keep_.data() + row(b, h, t) * keys_);
    }

    struct Keys {
        std::int64_t first = 0, end = 0;  ///< empty if end <= first
    };
    /// Becomes the mask [batches,1,T,S] given by seen(b, t), the range of keys that a query may attend to. Keeps its form, and reuses its
    /// memory if possible.
    template <class Rule>
    void assign_rows(std::int64_t batches, std::int64_t queries, std::int64_t keys, const Rule& seen) {
        resize(batches, 1, queries, keys);
        std::int64_t row = 0;
        for (std::int64_t b = 0; b < batches; ++b)
            for (std::int64_t t = 0; t < queries; ++t, ++row) {
                const Keys some = seen(b, t);
                const std::int64_t first = std::clamp<std::int64_t>(some.first, 0, keys);
                const Keys range{first, std::clamp(some.end, first, keys)};
                if (form_ == MaskForm::Ranges) ranges_[static_cast<std::size_t>(row)] = range;
                else fill_row(range, keep_.data() + row * keys);
            }
    }

    // --- constructors by pattern ---------------------------------------------------------------------------------
    /// may_attend decides, for every head and sequence. [1,1,T,S], like all of these but padding()
    static Mask from_rule(std::int64_t queries, std::int64_t keys, const std::function<bool(std::int64_t t, std::int64_t s)>& may_attend);
    /// s <= t, or s <= t + S - T for BottomRight.
    static Mask causal(std::int64_t queries, std::int64_t keys, CausalAlignment alignment = CausalAlignment::TopLeft);
    /// Keys s < lengths[b]. [B,1,T,S]. Throws ShapeError for a length that is negative or exceeds `keys`.
    static Mask padding(const std::vector<std::int64_t>& lengths, std::int64_t queries, std::int64_t keys);
    /// |t - s| < width. Throws ConfigError unless width >= 1.
    static Mask sliding_window(std::int64_t queries, std::int64_t keys, std::int64_t width);
    /// Causal, but every query also sees the keys s < prefix. Throws ConfigError for a negative prefix.
    static Mask prefix_causal(std::int64_t queries, std::int64_t keys, std::int64_t prefix);
    /// t and s in the same block of `size` positions. Throws ConfigError unless size >= 1.
    static Mask block_diagonal(std::int64_t queries, std::int64_t keys, std::int64_t size);

    // --- constructors by external convention ------------------------------------------------------------------------
    // Accepted shapes: [T,S], [B,1,1,S], [B,1,T,S], [1,H,T,S], [B,H,T,S]; for key padding [B,S]. Any other throws ShapeError naming the
    // mask's shape and [B,H,T,S], and so does a wrong number of values. `sizes` is the row-major shape of `values`.
    struct Target {
        std::int64_t batches, heads, queries, keys;
    };
    /// PyTorch scaled_dot_product_attention, attn_mask: true = may attend.
    static Mask from_sdpa_bool(const std::vector<std::int64_t>& sizes, const std::vector<std::uint8_t>& values, Target target);
    /// PyTorch nn.MultiheadAttention, attn_mask: true = may NOT attend.
    static Mask from_mha_bool(const std::vector<std::int64_t>& sizes, const std::vector<std::uint8_t>& values, Target target);
    /// PyTorch nn.MultiheadAttention, key_padding_mask [B,S]: true = ignore this key.
    static Mask from_key_padding(const std::vector<std::int64_t>& sizes, const std::vector<std::uint8_t>& values, Target target);
    /// Added to the scaled scores; a cell of -inf is masked.
    static Mask from_additive(const std::vector<std::int64_t>& sizes, const std::vector<double>& values, Target target);

private:
    Mask(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys);
    void set(std::int64_t t, std::int64_t s, std::uint8_t keep);
    void expect_cells() const {
        if (form_ != MaskForm::Cells) refuse_cells();
    }
    [[noreturn]] static void refuse_cells();
    void fill_row(Keys range, std::uint8_t* out) const {
        std::fill_n(out, range.first, std::uint8_t{0});
        std::fill_n(out + range.first, range.end - range.first, std::uint8_t{1});
        std::fill_n(out + range.end, keys_ - range.end, std::uint8_t{0});
    }
    /// For a mask stored as ranges; `row` as row() returns it.
    bool is_in_range(std::int64_t row, std::int64_t s) const;
    /// Sets new sizes without a bias; the cells are unspecified.
    void resize(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys);
    std::int64_t row(std::int64_t b, std::int64_t h, std::int64_t t) const {
        return ((batches_ == 1 ? 0 : b) * heads_ + (heads_ == 1 ? 0 : h)) * queries_ + t;
    }
    std::int64_t batches_ = 1, heads_ = 1, queries_ = 0, keys_ = 0;
    MaskForm form_ = MaskForm::Cells;
    std::vector<std::uint8_t> keep_;
    std::vector<double> bias_;
    // In the form of ranges:
    std::vector<Keys> ranges_;                                   ///< within [0, keys)
    std::set<std::pair<std::int64_t, std::int64_t>> forbidden_;  ///< query and key of the cells that forbid() was called for
    bool inverted_ = false;
};

/// A cell masked by hand, for every head and sequence.
struct PaintedCell {
    std::int32_t query = 0, key = 0;
    bool operator==(const PaintedCell&) const = default;
};

/// The masks the user has switched on, combined by AND.
struct MaskSettings {
    bool causal = false;
    bool padding = true;  ///< pad tokens are never attended to
    int window = 0;       ///< 0 = off, else |t - s| < window
    int prefix = 0;       ///< with causal: keys before this position are visible to every query
    int block = 0;        ///< 0 = off, else positions attend only within blocks of this size
    std::vector<PaintedCell> painted;
    bool operator==(const MaskSettings&) const = default;
};

/// The settings with their window narrowed to |t - s| < window, for layers with local attention; 0 leaves them alone.
MaskSettings with_window(const MaskSettings& settings, std::int64_t window);

/// The queries [first, first + count), whose rows are wanted of a mask.
struct QueryRows {
    std::int64_t first = 0, count = 0;
};

/// The keys that query t may attend to under these settings, apart from padding and painting: those of `keys` that a causal mask ending
/// before `causal_end`, a window and a block leave.
Mask::Keys keys_seen(const MaskSettings& settings, std::int64_t t, std::int64_t causal_end, Mask::Keys keys);
/// seen(t, length): the keys that query t of a text may attend to.
using SeenBy = std::function<Mask::Keys(std::int64_t t, std::int64_t length)>;
/// Rows of a self-attention mask for lengths.size() sequences padded to `positions`, [1|B,1,T,T]: what `seen` says, without what is
/// painted. Reuses the mask's memory. Throws like build_mask().
void build_mask_rows(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions, QueryRows rows,
                     const SeenBy& seen, Mask& mask);

/// The self-attention mask of these settings for lengths.size() sequences padded to `positions`, [1|B,1,T,T]. Throws ConfigError for a
/// negative window, prefix or block, and ShapeError for a length that does not fit.
Mask build_mask(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions);
/// Its rows for some queries, reusing the memory of an older mask.
void build_mask_rows(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions, QueryRows rows,
                     Mask& mask);
/// The mask of cross-attention, or of an encoder, [1|B,1,T,S]. Only padding (of the memory or source) applies, because the other settings
/// are about the decoder. Throws ShapeError for a length that exceeds `keys`.
Mask build_cross_mask(const MaskSettings& settings, const std::vector<std::int64_t>& memory_lengths, std::int64_t queries,
                      std::int64_t keys);
void build_cross_mask(const MaskSettings& settings, const std::vector<std::int64_t>& memory_lengths, std::int64_t queries,
                      std::int64_t keys, Mask& mask);
}  // namespace attn
