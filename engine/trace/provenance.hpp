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
    CellRef cell;
    std::string label;  ///< "q[6,0]"
    double value = 0;
};

/// One row of the arithmetic: a product of a sum, an exponential of a softmax.
struct Term {
    std::string label;              ///< the index it runs over: "0", or the key's position
    std::vector<Operand> operands;  ///< in reading order; "0.73 x -0.56" has two
    double value = 0;               ///< the product, the exponential
    bool masked = false;            ///< takes no part
};

/// A line under the terms: "sum", "+ bias", "÷ √8", "max", "γ".
struct ArithmeticStep {
    std::string label;
    double value = 0;
    std::vector<Operand> operands;
};

struct Provenance {
    std::string formula;   ///< "Σ over d of q[6,d] · k[2,d]"
    std::string sentence;  ///< one plain sentence: "The query of 'because' times the key of 'sat'."
    std::vector<Term> terms;
    std::vector<ArithmeticStep> steps;
    double result = 0;    ///< recomputed here in double from the recorded operands
    double recorded = 0;  ///< what the trace holds; agrees with `result` to float rounding
    bool masked = false;  ///< the cell is masked; result and recorded then mean nothing
};

/// The arithmetic of the cell. Every stage of every model is explained; Error if the trace has no such cell.
/// For token_embedding the terms show that the lookup equals the one-hot row times the table.
template <class Scalar>
Provenance explain(const Trace<Scalar>& trace, const CellRef& cell);

/// The cells one stage further on that this cell flows into along the main path (scores -> scaled -> masked -> weights -> ...),
/// nearest first, at the same position; empty at the end.
template <class Scalar>
std::vector<Operand> where_it_goes(const Trace<Scalar>& trace, const CellRef& cell);

}  // namespace attn
