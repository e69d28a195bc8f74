#pragma once
/// Where a number comes from: the arithmetic behind one cell of a trace, spelt out with the recorded operands.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn {

/// A cell of a recorded stage or of a parameter; unused trailing indices are 0.
struct CellRef {
    StageId stage;          ///< meaningful when `parameter` is empty
    std::string parameter;  ///< name in the ParameterLayout, else empty
    std::array<std::int64_t, 4> index{};
    bool operator==(const CellRef&) const = default;
};

struct Operand {
    CellRef cell;       ///< can be handed to explain() again, unless `constant`
    std::string label;  ///< "q[6,0]": the row and column of its matrix; or a constant's name, "1/√8"
    double value = 0;
    bool constant = false;  ///< comes from a setting, not from a cell: `cell` means nothing
};

/// One row of the arithmetic: a product of a sum, an exponential of a softmax.
struct Term {
    std::string label;              ///< the index it runs over: "0", or the key's position
    std::vector<Operand> operands;  ///< in reading order; "0.73 x -0.56" has two
    double value = 0;               ///< the product, the exponential
    bool masked = false;            ///< takes no part
    bool divides = false;           ///< the second operand divides instead of multiplying
    bool own = false;               ///< the row that the explained cell is about: its own exponential, the one-hot's 1
};

/// A line under the terms: "sum", "+ bias", "÷ √8", "max", "γ".
struct ArithmeticStep {
    std::string label;
    double value = 0;
    std::vector<Operand> operands;
};

struct Provenance {
    std::string formula;   ///< "Σ over d of q[6,d] · k[2,d]"
    std::string sentence;  ///< one or two plain sentences: "Query position 6 times key position 2: one product per dimension."
    std::vector<Term> terms;
    std::int64_t omitted_terms = 0;  ///< how many further terms are left out because they are exactly 0
    std::vector<ArithmeticStep> steps;
    double result = 0;    ///< recomputed here in double from the recorded operands
    double recorded = 0;  ///< what the trace holds; agrees with `result` to float rounding
    bool masked = false;  ///< the cell is masked; result and recorded then mean nothing
    bool edited = false;  ///< an edit set the cell: a step says what it would be without
};

/// The arithmetic of the cell. Every stage of every model is explained, and a parameter's cell by its name;
/// Error if the trace has no such cell.
/// For token_embedding the terms show that the lookup equals the one-hot row times the table.
/// `rows`: what there is of attention maps that the trace does not hold, every number of some of their rows (see ReducedMap): those of the
/// cell's position suffice.
template <class Scalar>
Provenance explain(const Trace<Scalar>& trace, const CellRef& cell, const std::vector<ReducedMap>& rows = {});

/// One cell of every stage that is computed from this cell's stage, nearest first and at the same position as far as the stage has
/// it (q[6,0] goes to scores[6,6]); empty at the end. Error if the trace has no such cell.
template <class Scalar>
std::vector<Operand> where_it_goes(const Trace<Scalar>& trace, const CellRef& cell, const std::vector<ReducedMap>& rows = {});

}  // namespace attn
