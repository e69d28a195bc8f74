#pragma once
/// The arithmetic behind one cell of a trace, spelled out with the recorded operands; plain data.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

/// A cell of a recorded stage or of a parameter; unused trailing indices are 0.
struct CellRef {
    StageId stage;          ///< ignored if `parameter` is set
    std::string parameter;  ///< name in the ParameterLayout, else empty
    std::array<std::int64_t, 4> index{};
    bool operator==(const CellRef&) const = default;
};

struct Operand {
    CellRef cell;       ///< can be passed to explain() again, unless `constant`
    std::string label;  ///< "q[6,0]": row and column of its matrix; or a constant's name, "1/√8"
    double value = 0;
    bool constant = false;  ///< from a setting: `cell` is meaningless
};

/// A term of the arithmetic: a product in a sum, an exponential in a softmax.
struct Term {
    std::string label;              ///< index of summation: "0", or the key's position
    std::vector<Operand> operands;  ///< in reading order; "0.73 x -0.56" has two
    double value = 0;               ///< the product, the exponential
    bool masked = false;            ///< not included
    bool divides = false;           ///< the second operand divides instead of multiplying
    bool own = false;               ///< the term of the explained cell: its own exponential, the one-hot's 1
    std::int64_t key = -1;          ///< of a softmax or a mixture: the position or vocabulary entry that the term is for; -1: none
};

/// A step after the terms: "sum", "+ bias", "÷ √8", "max", "γ".
struct ArithmeticStep {
    std::string label;
    double value = 0;
    std::vector<Operand> operands;
};

struct Provenance {
    std::string formula;   ///< "Σ over d of q[6,d] · k[2,d]"
    std::string sentence;  ///< one or two plain sentences: "Query position 6 times key position 2: one product per dimension."
    std::vector<Term> terms;
    std::int64_t omitted_terms = 0;  ///< how many terms are omitted because they are exactly 0
    std::vector<ArithmeticStep> steps;
    double result = 0;    ///< recomputed here in double from the recorded operands
    double recorded = 0;  ///< what the trace holds; agrees with `result` to float rounding
    bool masked = false;  ///< the cell is masked; result and recorded are meaningless
    bool edited = false;  ///< an edit set the cell; a step gives the value without it
};

}  // namespace attn
