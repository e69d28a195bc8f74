#pragma once
/// The arithmetic behind a cell of a trace, and the cells computed from it.

#include <cstdint>
#include <vector>

#include "app/session/values/facet.hpp"
#include "app/session/values/listed_terms.hpp"
#include "engine/explain/provenance.hpp"

namespace attn::app {

/// A token and its probability.
struct LikelyToken {
    std::int64_t id = 0;
    float probability = 0;
    bool operator==(const LikelyToken&) const = default;
};

struct Explanation {
    CellRef cell;
    Provenance provenance;
    ListedTerms listed;                      ///< of the provenance
    std::vector<Operand> next;               ///< one cell of every stage that reads this cell
    std::vector<LikelyToken> likely_next{};  ///< logits and probabilities: the likeliest tokens of the row, likeliest first
};

namespace facet {

/// The arithmetic behind one cell.
struct Explanation {
    using Value = app::Explanation;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    CellRef cell;
    std::optional<std::int64_t> head{};  ///< compute this head only, see Inside
    /// Long texts only: compute just the rows of the maps that the arithmetic reads. Otherwise it uses the maps of Inside.
    bool in_rows = false;
    static Job<Value> make(const Explanation&, Ask& ask);
    bool operator==(const Explanation&) const = default;
};

}  // namespace facet

}  // namespace attn::app
