#pragma once
/// The arithmetic behind a cell of a trace, and the cells computed from it.

#include <cstdint>
#include <vector>

#include "app/session/facets/listed_terms.hpp"
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

}  // namespace attn::app
