#pragma once
/// One sequence of one attention, as far as a file recorded it, in doubles and always in the design's layout.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/part.hpp"

namespace attn::doctor {

/// Which cells [H,T,S] may be attended, one byte each.
using Keep = std::vector<std::uint8_t>;

/// A number so far below every score that its exponential is 0 in every floating-point format: as good as -inf.
inline constexpr double kForbidding = -1000;

/// What the file says that the mask should be.
struct Intent {
    bool given = false;         ///< a mask tensor was found
    Keep keep;                  ///< [H,T,S] when given
    std::vector<double> bias;   ///< [H,T,S], added where kept; empty without one
    double bias_error = 0;      ///< how far the biases may be off, where they were read from the recording itself
    bool keys_only = false;     ///< the mask has no query axis: a padding mask, which leaves open whether there is a causal one too
    bool queries_only = false;  ///< the mask has a query axis and no key axis
    bool complete = false;      ///< written by attnscope: nothing else was meant, and any pattern is deliberate
    bool biases_only = false;   ///< a mask that is added and forbids nothing: it leaves open which cells may be attended
    bool wrong_sign = false;    ///< forbidden cells hold a large positive number
    std::optional<bool> causal;
};

/// Rotary positions (Su et al., 2021): pair i of a head's D dimensions turns by position * base^(-2i/D).
struct Rotation {
    bool halves = true;  ///< a pair is (i, i + D/2); else (2i, 2i + 1)
    double base = 10000;
    std::int64_t first_query = 0, first_key = 0;  ///< positions, as the recording shows them
    bool at_projection = false;                   ///< between q_proj and q; else after q
};

struct Sequence {
    std::int64_t heads = 0, queries = 0, keys = 0;
    std::int64_t head_size = 0, value_size = 0;  ///< 0: not known
    std::int64_t usual_head_size = 0;            ///< what it is in most models of this width; 0: not known either
    std::vector<double> widths;                  ///< what d_model may be
    double temperature = 1;
    std::optional<double> scale;  ///< stated by the file; else 1/√head_size
    Intent intent;
    std::optional<double> rotary_base;  ///< as the file says
    std::optional<Rotation> rotation;

    /// Heads in the tensor where heads share keys or values (else `heads`, or 0); `values` holds every shared head for each of its group,
    /// except for the packed projections.
    std::array<std::int64_t, kPartCount> stored_heads{};
    std::array<std::vector<double>, kPartCount> values;  ///< empty: not recorded
    double unit = 0;                                     ///< half the spacing of the numbers at 1, of the coarsest format among them

    bool has(Part part) const { return !values[static_cast<std::size_t>(part)].empty(); }
    const std::vector<double>& operator[](Part part) const { return values[static_cast<std::size_t>(part)]; }
    std::int64_t map_size() const { return heads * queries * keys; }
    std::int64_t heads_stored(Part part) const {
        const std::int64_t stored = stored_heads[static_cast<std::size_t>(part)];
        return stored > 0 ? stored : heads;
    }
    /// How far the first query is behind the first key: with cached keys the queries are the last positions.
    std::int64_t first_query() const { return keys > queries ? keys - queries : 0; }
    /// Sizes of a part in the design's layout, without the batch: [H,T,S], [H,T,D], [T,C].
    std::vector<std::int64_t> sizes(Part part) const;
};

/// Where a part's numbers lie in its tensor: one letter an axis, of B, H, P (position), D, S, C.
struct Layout {
    std::string tensor;  ///< full name in the file
    std::string axes;    ///< "BHPD", "PS", ...
    std::int64_t heads_per_stored_head = 1;
};

/// All sequences of one attention.
struct Attention {
    std::string prefix;  ///< "layers.0.attention", "" for bare names
    std::vector<Sequence> sequences;
    std::array<Layout, kPartCount> layouts;
    bool concat_may_be_projected = false;    ///< its name is also used for what W_O makes of it
    bool inputs_may_be_unprojected = false;  ///< the names of q_proj, k_proj, v_proj are also used for what goes into the projections
    /// Heads were never brought before the positions, so that the maps are over heads: [B,T,H,H].
    bool across_heads = false;
    std::vector<std::string> doubts;  ///< what was left out, and what was taken for something that it may not be

    /// Index in the recorded tensor of a part's flat place in sequence b.
    std::vector<std::int64_t> cell(Part part, std::int64_t b, std::int64_t flat) const;
};

}  // namespace attn::doctor
