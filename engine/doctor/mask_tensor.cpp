#include "engine/doctor/mask_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/io/file_error.hpp"

namespace attn::doctor {
namespace {

/// A mask's sizes on the axes B, H, T, S, each either 1 or the full size.
using Sizes4 = std::array<std::int64_t, 4>;

struct Placed {
    Sizes4 sizes;
    bool keys_only = false;
};

bool fits(std::int64_t size, std::int64_t whole) { return size == 1 || size == whole; }

/// The axes of a mask with this shape; nullopt if it fits nowhere.
std::optional<Placed> place(const std::vector<std::int64_t>& shape, const NameMeaning& meaning, bool about_tokens, const MapSizes& m) {
    const auto at = [&](std::size_t i) { return shape[i]; };
    const bool tail_fits = shape.size() >= 2 && fits(at(shape.size() - 2), m.queries) && fits(at(shape.size() - 1), m.keys);
    switch (shape.size()) {
    case 1:
        if (fits(at(0), m.keys)) return Placed{{1, 1, 1, at(0)}, true};
        return std::nullopt;
    case 2: {
        const bool per_sequence = (at(0) == m.batches || (m.batches == 1 && at(0) == m.heads)) && at(1) == m.keys;
        const Sizes4 rows = m.batches == at(0) ? Sizes4{at(0), 1, 1, at(1)} : Sizes4{1, at(0), 1, at(1)};
        if (per_sequence && (meaning.keys_only || about_tokens || !tail_fits)) return Placed{rows, true};
        if (tail_fits && !meaning.keys_only) return Placed{{1, 1, at(0), at(1)}, at(0) == 1};
        return std::nullopt;
    }
    case 3:
        if (!tail_fits) return std::nullopt;
        if (fits(at(0), m.batches)) return Placed{{at(0), 1, at(1), at(2)}, at(1) == 1};
        if (at(0) == m.heads) return Placed{{1, at(0), at(1), at(2)}, at(1) == 1};
        if (at(0) == m.batches * m.heads) return Placed{{m.batches, m.heads, at(1), at(2)}, at(1) == 1};
        return std::nullopt;
    case 4:
        if (!tail_fits || !fits(at(0), m.batches) || !fits(at(1), m.heads)) return std::nullopt;
        return Placed{{at(0), at(1), at(2), at(3)}, at(2) == 1};
    default:
        return std::nullopt;
    }
}

/// A mask's contents: which cells are forbidden, and what is added to the others.
struct Cells {
    std::vector<std::uint8_t> keep;
    std::vector<double> bias;                      ///< empty if nothing is added
    bool biases_only = false, wrong_sign = false;  ///< see Intent
};

/// An additive mask with the wrong sign has a single number (or the sum of two) far larger than any bias in the cells it means to forbid.
bool has_wrong_sign(const std::vector<double>& numbers) {
    constexpr std::size_t kMaxValues = 3;
    std::vector<double> large;
    for (const double x : numbers) {
        if (!(x >= -kForbidding) || std::find(large.begin(), large.end(), x) != large.end()) continue;
        large.push_back(x);
        if (large.size() > kMaxValues) return false;
    }
    return !large.empty();
}

bool is_floating(const NamedPart& mask) {
    const DType type = mask.array->dtype;
    return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::F64;
}

bool are_flags(const std::vector<double>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0 || x == 1; });
}

bool has_one(const std::vector<double>& numbers) { return std::find(numbers.begin(), numbers.end(), 1.0) != numbers.end(); }

Cells read_cells(const ArrayFile& file, const NamedPart& mask, const Reading& reading) {
    const std::vector<double> numbers = values_as<double>(*mask.array, file.source);
    const MaskMeaning meaning = *mask.meaning.mask;
    // A float mask of all zeros is additive and forbids nothing, as in PyTorch and Hugging Face.
    const bool added =
        meaning == MaskMeaning::Additive || (is_floating(mask) && !has_one(numbers)) || (reading.add_floats && may_be_added(file, mask));
    const bool flags = are_flags(numbers) && !added;
    Cells cells;
    cells.keep.resize(numbers.size());
    if (flags) {
        const bool one_keeps = meaning == MaskMeaning::Keep || (meaning == MaskMeaning::Ambiguous && !reading.flip_mask);
        for (std::size_t i = 0; i < numbers.size(); ++i) cells.keep[i] = (numbers[i] == 1) == one_keeps;
        return cells;
    }
    bool biased = false;
    cells.wrong_sign = has_wrong_sign(numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (std::isnan(numbers[i]) || (std::isinf(numbers[i]) && numbers[i] > 0 && !cells.wrong_sign))
            throw FileError(FileFault::Schema, file.source, fmt::format("tensor \"{}\" element {}", escaped(mask.array->name), i),
                            fmt::format("{} cannot be added to a score", numbers[i]));
        cells.keep[i] = numbers[i] > kForbidding && !(cells.wrong_sign && numbers[i] >= -kForbidding);
        biased = biased || (cells.keep[i] != 0 && numbers[i] != 0);
    }
    if (biased) cells.bias = numbers;
    cells.biases_only = biased && std::find(cells.keep.begin(), cells.keep.end(), 0) == cells.keep.end();
    return cells;
}

/// Combines with each sequence's mask: AND of the permissions, sum of the biases.
void add_mask(const Cells& cells, const Placed& placed, const MapSizes& m, std::vector<Intent>& intents) {
    const Sizes4& n = placed.sizes;
    for (std::int64_t b = 0; b < m.batches; ++b) {
        Intent& intent = intents[static_cast<std::size_t>(b)];
        if (!intent.given) intent.keep.assign(static_cast<std::size_t>(m.heads * m.queries * m.keys), 1);
        if (!cells.bias.empty() && intent.bias.empty()) intent.bias.assign(intent.keep.size(), 0);
        const auto on = [](std::int64_t size, std::int64_t i) { return size == 1 ? 0 : i; };
        std::size_t to = 0;
        for (std::int64_t h = 0; h < m.heads; ++h)
            for (std::int64_t t = 0; t < m.queries; ++t)
                for (std::int64_t s = 0; s < m.keys; ++s, ++to) {
                    const auto from =
                        static_cast<std::size_t>(((on(n[0], b) * n[1] + on(n[1], h)) * n[2] + on(n[2], t)) * n[3] + on(n[3], s));
                    intent.keep[to] = intent.keep[to] != 0 && cells.keep[from] != 0;
                    if (!cells.bias.empty() && cells.keep[from] != 0) intent.bias[to] += cells.bias[from];
                }
        const bool queries_only = n[3] == 1 && m.keys > 1 && n[2] > 1;
        intent.keys_only = (!intent.given || intent.keys_only) && placed.keys_only;
        intent.queries_only = intent.queries_only || queries_only;
        intent.biases_only = (!intent.given || intent.biases_only) && cells.biases_only;
        intent.wrong_sign = intent.wrong_sign || cells.wrong_sign;
        intent.given = true;
    }
}

}  // namespace

bool may_be_added(const ArrayFile& file, const NamedPart& mask) {
    const bool is_pytorchs = mask.meaning.mask == MaskMeaning::Ignore || mask.meaning.mask == MaskMeaning::Ambiguous;
    if (!is_pytorchs || !is_floating(mask)) return false;
    const std::vector<double> numbers = values_as<double>(*mask.array, file.source);
    return are_flags(numbers) && has_one(numbers);
}

std::vector<Intent> read_masks(const ArrayFile& file, const std::vector<NamedPart>& masks, const MapSizes& sizes, const Reading& reading) {
    std::vector<Intent> intents(static_cast<std::size_t>(sizes.batches));
    for (const NamedPart& mask : masks) {
        const std::string& name = mask.array->name;
        // Hugging Face's attention_mask with two axes refers to tokens.
        const bool about_tokens = name.size() >= 14 && name.ends_with("attention_mask");
        const std::optional<Placed> placed = place(mask.array->shape, mask.meaning, about_tokens, sizes);
        if (!placed)
            throw FileError(FileFault::Schema, file.source, fmt::format("tensor \"{}\"", escaped(name)),
                            fmt::format("has shape {}, which does not broadcast to [B={}, H={}, T={}, S={}]", shape_text(mask.array->shape),
                                        sizes.batches, sizes.heads, sizes.queries, sizes.keys));
        add_mask(read_cells(file, mask, reading), *placed, sizes, intents);
    }
    return intents;
}

}  // namespace attn::doctor
