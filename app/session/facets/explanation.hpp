#pragma once
/// The arithmetic behind a cell of a trace, and the cells computed from it.

#include <vector>

#include "engine/explain/provenance.hpp"

namespace attn::app {

struct Explanation {
    CellRef cell;
    Provenance provenance;
    std::vector<Operand> next;  ///< one cell of every stage that reads this cell
};

}  // namespace attn::app
