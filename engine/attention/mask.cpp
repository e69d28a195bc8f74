#include "engine/attention/mask.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
    std::string out = "[";
    for (std::size_t i = 0; i < sizes.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
    return out + "]";
}

std::string target_text(const Mask::Target& target) {
    return "[B=" + std::to_string(target.batches) + ", H=" + std::to_string(target.heads) + ", T=" + std::to_string(target.queries) +
           ", S=" + std::to_string(target.keys) + "]";
}

/// How to find each cell of an accepted mask shape in the values given.
struct Strides {
    std::int64_t batches = 1, heads = 1;  // sizes of the resulting mask
    std::int64_t batch = 0, head = 0, query = 0;
};

/// Accepts the shapes listed in the header; throws for any other.
Strides strides_of(const std::vector<std::int64_t>& sizes, std::size_t value_count, const Mask::Target& target) {
    const auto refuse = [&]() -> ShapeError {
        return ShapeError("a mask of shape " + sizes_text(sizes) + " does not fit scores of shape " + target_text(target) +
                          ": accepted are [T,S], [B,1,1,S], [B,1,T,S], [1,H,T,S] and [B,H,T,S]");
    };
    std::int64_t b = 1, h = 1, t = 0, s = 0;
    if (sizes.size() == 2) {
        t = sizes[0], s = sizes[1];
        if (t != target.queries) throw refuse();
    } else if (sizes.size() == 4) {
        b = sizes[0], h = sizes[1], t = sizes[2], s = sizes[3];
        if ((b != 1 && b != target.batches) || (h != 1 && h != target.heads)) throw refuse();
        const bool one_row_for_all = t == 1 && h == 1;  // [B,1,1,S]
        if (t != target.queries && !one_row_for_all) throw refuse();
    } else {
        throw refuse();
    }
    if (s != target.keys) throw refuse();
    const std::int64_t count = b * h * t * s;
    if (static_cast<std::int64_t>(value_count) != count)
        throw ShapeError("a mask of shape " + sizes_text(sizes) + " holds " + std::to_string(count) + " values, not " +
                         std::to_string(value_count));
    Strides out;
    out.batches = b, out.heads = h;
    out.query = t == target.queries ? s : 0;
    out.head = t * s;
    out.batch = h * t * s;
    return out;
}

std::vector<std::uint8_t> inverted(const std::vector<std::uint8_t>& values) {
    std::vector<std::uint8_t> out(values.size());
    std::transform(values.begin(), values.end(), out.begin(), [](std::uint8_t v) -> std::uint8_t { return v == 0; });
    return out;
}

void require_lengths(const std::vector<std::int64_t>& lengths, std::int64_t keys) {
    for (std::size_t b = 0; b < lengths.size(); ++b)
        if (lengths[b] < 0 || lengths[b] > keys)
            throw ShapeError("sequence " + std::to_string(b) + " has length " + std::to_string(lengths[b]) + " of " + std::to_string(keys) +
                             " positions");
}

std::int64_t broadcast(std::int64_t a, std::int64_t b, const Mask& x, const Mask& y) {
    if (a == b || b == 1) return a;
    if (a == 1) return b;
    const auto text = [](const Mask& m) { return target_text({m.batches(), m.heads(), m.queries(), m.keys()}); };
    throw ShapeError("masks of shape " + text(x) + " and " + text(y) + " cannot be combined");
}

}  // namespace

Mask::Mask(std::int64_t queries, std::int64_t keys) : Mask(1, 1, queries, keys) {}

Mask::Mask(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
    resize(batches, heads, queries, keys);
    std::fill(keep_.begin(), keep_.end(), std::uint8_t{1});
}

void Mask::resize(std::int64_t batches, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
    if (batches < 0 || heads < 0 || queries < 0 || keys < 0)
        throw ShapeError("a mask cannot have the shape " + target_text({batches, heads, queries, keys}));
    const Shape checked{{Axis::B, batches}, {Axis::H, heads}, {Axis::T, queries}, {Axis::S, keys}};
    if (form_ == MaskForm::Cells) keep_.resize(static_cast<std::size_t>(checked.count()));
    else ranges_.resize(static_cast<std::size_t>(batches * heads * queries));
    forbidden_.clear();
    inverted_ = false;
    bias_.clear();
    batches_ = batches, heads_ = heads, queries_ = queries, keys_ = keys;
}

void Mask::refuse_cells() { throw Error("this mask is known by its ranges alone"); }

bool Mask::is_in_range(std::int64_t row, std::int64_t s) const {
    const Keys& range = ranges_[static_cast<std::size_t>(row)];
    return (s >= range.first && s < range.end && !forbidden_.contains({row % queries_, s})) != inverted_;
}

void Mask::copy_rows(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t count, std::uint8_t* out) const {
    if (form_ == MaskForm::Cells) {
        std::copy_n(keep_row(b, h, t), count * keys_, out);
        return;
    }
    const std::int64_t first = row(b, h, t);
    for (std::int64_t r = 0; r < count; ++r) fill_row(ranges_[static_cast<std::size_t>(first + r)], out + r * keys_);
    for (auto cell = forbidden_.lower_bound({t, 0}); cell != forbidden_.end() && cell->first < t + count; ++cell)
        out[(cell->first - t) * keys_ + cell->second] = 0;
    if (inverted_) std::transform(out, out + count * keys_, out, [](std::uint8_t keep) -> std::uint8_t { return keep == 0; });
}

bool Mask::allows_everything() const {
    if (!bias_.empty()) return false;
    if (form_ == MaskForm::Cells) return keep_.empty() || std::memchr(keep_.data(), 0, keep_.size()) == nullptr;
    // Inverted, ranges could allow everything only by seeing nothing; treating that as any other mask gives the same numbers.
    return !inverted_ && forbidden_.empty() &&
           std::all_of(ranges_.begin(), ranges_.end(), [&](const Keys& range) { return range.end - range.first == keys_; });
}

bool Mask::is_plain_causal() const {
    if (has_bias()) return false;
    if (form_ == MaskForm::Ranges) {
        std::int64_t r = 0;
        return !inverted_ && forbidden_.empty() && std::all_of(ranges_.begin(), ranges_.end(), [&](const Keys& range) {
            return range.first == 0 && range.end == std::min(r++ % queries_ + 1, keys_);
        });
    }
    // Called for every layer at every step, so rows are checked without a branch per cell.
    for (std::int64_t r = 0; r < batches_ * heads_ * queries_; ++r) {
        const std::uint8_t* keep = keep_.data() + r * keys_;
        const std::int64_t seen = std::min(r % queries_ + 1, keys_);
        std::uint8_t wrong = 0;
        for (std::int64_t s = 0; s < seen; ++s) wrong |= static_cast<std::uint8_t>(keep[s] == 0);
        for (std::int64_t s = seen; s < keys_; ++s) wrong |= static_cast<std::uint8_t>(keep[s] != 0);
        if (wrong != 0) return false;
    }
    return true;
}

bool Mask::row_fully_masked(std::int64_t b, std::int64_t h, std::int64_t t) const {
    const std::uint8_t* keep = keep_row(b, h, t);
    return std::none_of(keep, keep + keys_, [](std::uint8_t k) { return k != 0; });
}

Mask Mask::combined_with(const Mask& other) const {
    const auto text = [](const Mask& m) { return target_text({m.batches_, m.heads_, m.queries_, m.keys_}); };
    if (queries_ != other.queries_ || keys_ != other.keys_)
        throw ShapeError("masks of shape " + text(*this) + " and " + text(other) + " cannot be combined");
    Mask out(broadcast(batches_, other.batches_, *this, other), broadcast(heads_, other.heads_, *this, other), queries_, keys_);
    if (has_bias() || other.has_bias()) out.bias_.assign(out.keep_.size(), 0.0);
    for (std::int64_t b = 0; b < out.batches_; ++b)
        for (std::int64_t h = 0; h < out.heads_; ++h)
            for (std::int64_t t = 0; t < queries_; ++t) {
                const std::int64_t at = out.row(b, h, t) * keys_;
                const std::uint8_t *mine = keep_row(b, h, t), *theirs = other.keep_row(b, h, t);
                for (std::int64_t s = 0; s < keys_; ++s) out.keep_[static_cast<std::size_t>(at + s)] = mine[s] != 0 && theirs[s] != 0;
                for (const Mask* mask : {this, &other})
                    if (mask->has_bias())
                        for (std::int64_t s = 0; s < keys_; ++s) out.bias_[static_cast<std::size_t>(at + s)] += mask->bias_row(b, h, t)[s];
            }
    return out;
}

void Mask::set(std::int64_t t, std::int64_t s, std::uint8_t keep) {
    if (form_ == MaskForm::Ranges && keep == 0 && !inverted_) {
        forbidden_.insert({t, s});
        return;
    }
    expect_cells();
    for (std::int64_t b = 0; b < batches_; ++b)
        for (std::int64_t h = 0; h < heads_; ++h) keep_[static_cast<std::size_t>(row(b, h, t) * keys_ + s)] = keep;
}

Mask Mask::from_rule(std::int64_t queries, std::int64_t keys, const std::function<bool(std::int64_t t, std::int64_t s)>& may_attend) {
    Mask mask(queries, keys);
    for (std::int64_t t = 0; t < queries; ++t)
        for (std::int64_t s = 0; s < keys; ++s) mask.keep_[static_cast<std::size_t>(t * keys + s)] = may_attend(t, s);
    return mask;
}

Mask Mask::causal(std::int64_t queries, std::int64_t keys, CausalAlignment alignment) {
    const std::int64_t shift = alignment == CausalAlignment::TopLeft ? 0 : keys - queries;
    return from_rule(queries, keys, [shift](std::int64_t t, std::int64_t s) { return s <= t + shift; });
}

Mask Mask::padding(const std::vector<std::int64_t>& lengths, std::int64_t queries, std::int64_t keys) {
    require_lengths(lengths, keys);
    Mask mask;
    mask.assign_rows(static_cast<std::int64_t>(lengths.size()), queries, keys, [&](std::int64_t b, std::int64_t) {
        return Keys{0, lengths[static_cast<std::size_t>(b)]};
    });
    return mask;
}

Mask Mask::sliding_window(std::int64_t queries, std::int64_t keys, std::int64_t width) {
    if (width < 1) throw ConfigError("a sliding window of width " + std::to_string(width) + " sees nothing: it must be 1 or more");
    return from_rule(queries, keys, [width](std::int64_t t, std::int64_t s) { return std::abs(t - s) < width; });
}

Mask Mask::prefix_causal(std::int64_t queries, std::int64_t keys, std::int64_t prefix) {
    if (prefix < 0) throw ConfigError("a prefix of " + std::to_string(prefix) + " positions: it must be 0 or more");
    return from_rule(queries, keys, [prefix](std::int64_t t, std::int64_t s) { return s <= t || s < prefix; });
}

Mask Mask::block_diagonal(std::int64_t queries, std::int64_t keys, std::int64_t size) {
    if (size < 1) throw ConfigError("blocks of " + std::to_string(size) + " positions: it must be 1 or more");
    return from_rule(queries, keys, [size](std::int64_t t, std::int64_t s) { return t / size == s / size; });
}

Mask Mask::from_sdpa_bool(const std::vector<std::int64_t>& sizes, const std::vector<std::uint8_t>& values, Target target) {
    const Strides at = strides_of(sizes, values.size(), target);
    Mask mask(at.batches, at.heads, target.queries, target.keys);
    for (std::int64_t b = 0; b < at.batches; ++b)
        for (std::int64_t h = 0; h < at.heads; ++h)
            for (std::int64_t t = 0; t < target.queries; ++t)
                for (std::int64_t s = 0; s < target.keys; ++s)
                    mask.keep_[static_cast<std::size_t>(mask.row(b, h, t) * target.keys + s)] =
                        values[static_cast<std::size_t>(b * at.batch + h * at.head + t * at.query + s)] != 0;
    return mask;
}

Mask Mask::from_mha_bool(const std::vector<std::int64_t>& sizes, const std::vector<std::uint8_t>& values, Target target) {
    return from_sdpa_bool(sizes, inverted(values), target);
}

Mask Mask::from_key_padding(const std::vector<std::int64_t>& sizes, const std::vector<std::uint8_t>& values, Target target) {
    if (sizes.size() != 2 || sizes[0] != target.batches || sizes[1] != target.keys)
        throw ShapeError("a key padding mask of shape " + sizes_text(sizes) + " does not fit scores of shape " + target_text(target) +
                         ": accepted is [B,S]");
    return from_sdpa_bool({sizes[0], 1, 1, sizes[1]}, inverted(values), target);
}

Mask Mask::from_additive(const std::vector<std::int64_t>& sizes, const std::vector<double>& values, Target target) {
    // -inf is a prohibition rather than a number: the cell is masked and its bias 0.
    std::vector<std::uint8_t> keep(values.size());
    std::transform(values.begin(), values.end(), keep.begin(), [](double v) -> std::uint8_t { return !(std::isinf(v) && v < 0); });
    Mask mask = from_sdpa_bool(sizes, keep, target);
    const Strides at = strides_of(sizes, values.size(), target);
    mask.bias_.resize(mask.keep_.size());
    for (std::int64_t b = 0; b < at.batches; ++b)
        for (std::int64_t h = 0; h < at.heads; ++h)
            for (std::int64_t t = 0; t < target.queries; ++t)
                for (std::int64_t s = 0; s < target.keys; ++s) {
                    const std::size_t cell = static_cast<std::size_t>(mask.row(b, h, t) * target.keys + s);
                    mask.bias_[cell] =
                        mask.keep_[cell] != 0 ? values[static_cast<std::size_t>(b * at.batch + h * at.head + t * at.query + s)] : 0;
                }
    return mask;
}

Mask::Keys keys_seen(const MaskSettings& settings, std::int64_t t, std::int64_t causal_end, Mask::Keys keys) {
    if (settings.causal) keys.end = std::min(keys.end, std::max<std::int64_t>(causal_end, settings.prefix));
    if (settings.window > 0) keys = {std::max(keys.first, t - settings.window + 1), std::min(keys.end, t + settings.window)};
    if (settings.block == 0) return keys;
    const std::int64_t block = t / settings.block * settings.block;
    return {std::max(keys.first, block), std::min(keys.end, block + settings.block)};
}

void build_mask_rows(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions, QueryRows rows,
                     const SeenBy& seen, Mask& mask) {
    if (settings.window < 0) throw ConfigError("the window is " + std::to_string(settings.window) + ": it must be 0 (off) or more");
    if (settings.prefix < 0) throw ConfigError("the prefix is " + std::to_string(settings.prefix) + ": it must be 0 (off) or more");
    if (settings.block < 0) throw ConfigError("the block is " + std::to_string(settings.block) + ": it must be 0 (off) or more");
    if (settings.padding) require_lengths(lengths, positions);
    const bool padded =
        settings.padding && std::any_of(lengths.begin(), lengths.end(), [&](std::int64_t length) { return length < positions; });
    mask.assign_rows(padded ? static_cast<std::int64_t>(lengths.size()) : 1, rows.count, positions, [&](std::int64_t b, std::int64_t row) {
        return seen(rows.first + row, padded ? lengths[static_cast<std::size_t>(b)] : positions);
    });
    for (const PaintedCell& cell : settings.painted) {
        if (cell.query < rows.first || cell.query >= rows.first + rows.count || cell.key < 0 || cell.key >= positions) continue;
        mask.forbid(cell.query - rows.first, cell.key);
    }
}

void build_mask_rows(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions, QueryRows rows,
                     Mask& mask) {
    // Under every combination of settings, the keys a query may attend to form a single range.
    const auto seen = [&](std::int64_t t, std::int64_t length) { return keys_seen(settings, t, t + 1, {0, length}); };
    build_mask_rows(settings, lengths, positions, rows, seen, mask);
}

Mask build_mask(const MaskSettings& settings, const std::vector<std::int64_t>& lengths, std::int64_t positions) {
    Mask mask;
    build_mask_rows(settings, lengths, positions, {0, positions}, mask);
    return mask;
}

MaskSettings with_window(const MaskSettings& settings, std::int64_t window) {
    MaskSettings own = settings;
    if (window > 0 && (own.window == 0 || window < own.window))
        own.window = static_cast<int>(std::min<std::int64_t>(window, std::numeric_limits<int>::max()));
    return own;
}

void build_cross_mask(const MaskSettings& settings, const std::vector<std::int64_t>& memory_lengths, std::int64_t queries,
                      std::int64_t keys, Mask& mask) {
    if (settings.padding) require_lengths(memory_lengths, keys);
    mask.assign_rows(settings.padding ? static_cast<std::int64_t>(memory_lengths.size()) : 1, queries, keys,
                     [&](std::int64_t b, std::int64_t) {
                         return Mask::Keys{0, settings.padding ? memory_lengths[static_cast<std::size_t>(b)] : keys};
                     });
}

Mask build_cross_mask(const MaskSettings& settings, const std::vector<std::int64_t>& memory_lengths, std::int64_t queries,
                      std::int64_t keys) {
    Mask mask;
    build_cross_mask(settings, memory_lengths, queries, keys, mask);
    return mask;
}

}  // namespace attn
