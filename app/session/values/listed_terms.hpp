#pragma once
/// The terms of a cell's arithmetic that are worth listing.

#include <cstddef>
#include <string>
#include <vector>

#include "engine/explain/provenance.hpp"

namespace attn::app {

struct ListedTerms {
    std::vector<std::size_t> shown;  ///< indices in their original order: all, or the largest unmasked ones and the explained cell's own
    std::string left_out;            ///< a sentence about the others; "" if there are none
    double largest = 0;              ///< largest finite magnitude of all unmasked terms
    bool any_negative = false;       ///< among them
};
ListedTerms listed_terms(const Provenance& provenance);

}  // namespace attn::app
