#pragma once
/// The terms of a cell's arithmetic that are worth listing.

#include <cstddef>
#include <string>
#include <vector>

#include "engine/explain/provenance.hpp"

namespace attn::app {

struct ListedTerms {
    std::vector<std::size_t> shown;  ///< indices in their original order: all, or the largest unmasked ones and the explained cell's own
    std::vector<std::size_t> few;    ///< of those, the few for a short list, by the same rule
    double others = 0;               ///< what the unmasked terms outside the short list add up to
    std::string left_out;            ///< a sentence about the others; "" if there are none
    double largest = 0;              ///< largest finite magnitude of all unmasked terms
    bool any_negative = false;       ///< among them
};
ListedTerms listed_terms(const Provenance& provenance);

}  // namespace attn::app
