#pragma once
/// Which terms of a cell's arithmetic the right pane lists.

#include <cstddef>
#include <string>
#include <vector>

#include "engine/explain/provenance.hpp"

namespace attn::app {

/// The indices of the terms to show, in their original order: all, or the largest unmasked ones and the explained cell's own.
std::vector<std::size_t> shown_terms(const std::vector<Term>& terms);

/// A sentence about the terms left out when `shown` are shown; "" if there are none.
std::string left_out(const Provenance& provenance, std::size_t shown);

}  // namespace attn::app
