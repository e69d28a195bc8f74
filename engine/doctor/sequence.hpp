#pragma once
/// One sequence of an attention, as far as it was recorded, in doubles and in the standard layout.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/part.hpp"

namespace attn::doctor {

/// Which cells of [H,T,S] may be attended to, one byte each.
using Keep = std::vector<std::uint8_t>;

/// A number so low that its exponential is 0 in every floating-point format: equivalent to -inf.
inline constexpr double kForbidding = -1000;

/// What the file says about the intended mask.
struct Intent {
    bool given = false;                ///< a mask tensor was found
    Keep keep;                         ///< [H,T,S] if given
    std::vector<double> bias;          ///< [H,T,S], added to kept cells; empty if there is none
    double bias_error = 0;             ///< bound on the biases' errors if they were derived from the recording itself
    Part bias_from = Part::Masked;     ///< the first stage with the biases; Scores: added to q kᵀ before, or after, it is scaled
    bool keys_only = false;            ///< the mask has no query axis: padding, which leaves open whether there is a causal mask, too
    bool queries_only = false;         ///< the mask has a query axis but no key axis
    bool complete = false;             ///< written by attnscope: complete, and any pattern is deliberate
    bool biases_only = false;          ///< an additive mask that forbids nothing, which leaves open which cells may be attended to
    bool has_unrecorded_bias = false;  ///< it is known that the scores contain a bias that is not among the tensors
    bool wrong_sign = false;           ///< forbidden cells have a large positive number
    std::optional<bool> causal;
};

/// With how many digits a program computes the angles of a rotation. Positions or angles with 16 bits are a mistake: from 257 or 2049 on
/// neighbours share a position.
enum class RotarySteps : std::uint8_t { Exact, Bfloat16Positions, Float16Positions, Bfloat16Angles };

/// RoPE (Su et al., 2021): pair i of a head's first R dimensions is rotated by position * base^(-2i/R).
struct Rotation {
    bool halves = true;  ///< pairs are (i, i + R/2); else (2i, 2i + 1)
    double base = 10000;
    std::int64_t width = 0;                       ///< R; 0, or too large: all dimensions
    std::int64_t first_query = 0, first_key = 0;  ///< positions found in the recording
    bool at_projection = false;                   ///< between q_proj and q; else after q
    double factor = 1;                            ///< of cosines and sines (YaRN's attention factor)
    RotarySteps steps = RotarySteps::Exact;
};

struct Sequence {
    std::int64_t heads = 0, queries = 0, keys = 0;
    std::int64_t head_size = 0, value_size = 0;  ///< 0: unknown
    std::int64_t usual_head_size = 0;            ///< its value in most models of this width; 0: unknown, too
    std::vector<double> widths;                  ///< possible values of d_model
    double temperature = 1;
    std::vector<double> sinks;      ///< [H], the logit of a key without a value in every row of a head (gpt-oss); empty: none
    std::optional<double> scale;    ///< as stated by the file; else 1/√head_size
    std::optional<double> softcap;  ///< of the scaled scores, as stated by the file
    Intent intent;
    std::optional<double> rotary_base;         ///< as stated by the file
    std::optional<std::int64_t> rotary_width;  ///< the number of rotated dimensions, as stated by the file
    std::optional<bool> rotary_halves;         ///< how pairs are formed, as stated by the file
    std::optional<Rotation> rotation;

    /// Number of heads in the tensor if keys or values are shared (else `heads`, or 0). `values` repeats every shared head for each query
    /// head of its group, except in packed projections.
    std::array<std::int64_t, kPartCount> stored_heads{};
    std::array<std::vector<double>, kPartCount> values;  ///< empty: not recorded
    double unit = 0;                                     ///< half the spacing of numbers near 1, in the coarsest format among them

    bool has(Part part) const { return !values[static_cast<std::size_t>(part)].empty(); }
    const std::vector<double>& operator[](Part part) const { return values[static_cast<std::size_t>(part)]; }
    std::int64_t map_size() const { return heads * queries * keys; }
    std::int64_t heads_stored(Part part) const {
        const std::int64_t stored = stored_heads[static_cast<std::size_t>(part)];
        return stored > 0 ? stored : heads;
    }
    /// Offset of the first query from the first key: with cached keys the queries are the last positions.
    std::int64_t first_query() const { return keys > queries ? keys - queries : 0; }
    /// Flat index of a square map's cell in the transposed map.
    std::size_t transposed(std::size_t cell) const {
        const auto n = static_cast<std::size_t>(keys);
        return cell / (n * n) * n * n + cell % n * n + cell / n % n;
    }
    /// Sizes of a part in the standard layout, without the batch: [H,T,S], [H,T,D], [T,C].
    std::vector<std::int64_t> sizes(Part part) const;
};

/// The axes of a part's tensor, one letter each: B, H, P (position), D, S, C.
struct Layout {
    std::string tensor;  ///< full name in the file
    std::string axes;    ///< "BHPD", "PS", ...
    std::int64_t heads_per_stored_head = 1;
};

/// All sequences of an attention.
struct Attention {
    std::string prefix;  ///< "layers.0.attention"; "" for bare names
    std::vector<Sequence> sequences;
    std::array<Layout, kPartCount> layouts;
    bool concat_may_be_projected = false;    ///< the name is also used for the result of W_O
    bool inputs_may_be_unprojected = false;  ///< the names of q_proj, k_proj, v_proj are also used for the projections' inputs
    /// The transpose of heads and positions was forgotten, so the maps are between heads: [B,T,H,H].
    bool across_heads = false;
    std::vector<std::string> doubts;  ///< what was left out, and uncertain interpretations

    /// Index in the recorded tensor of a part's flat index in sequence b.
    std::vector<std::int64_t> cell(Part part, std::int64_t b, std::int64_t flat) const;
};

}  // namespace attn::doctor
