#pragma once
/// How a stage is laid out as on a blackboard: its operands, its operator and its result.

#include <string>
#include <vector>

#include "app/panels/maps/matrix.hpp"

namespace attn::app {

enum class Layout : std::uint8_t {
    Single,      ///< the result alone (a table of positions)
    Product,     ///< left operand to the left of the result, right operand above it
    Rowwise,     ///< operand and result side by side, the same rows
    Sum,         ///< operands and result side by side with an operator between
    Difference,  ///< the result large, its two operands small beside it: the second above the first
};

struct Equation {
    Layout layout = Layout::Single;
    std::vector<Matrix> operands;  ///< Product: left, right, then a bias row where there is one; Rowwise: the input; Sum: the summands
    std::string op;                ///< sign between the parts: "+", "÷ √8", "softmax"
    Matrix result;
    bool row_sums = false;     ///< show the sum of every row beside the result
    bool rows_differ = false;  ///< the result's rows are others than the operands' and have labels of their own
};

/// What a stage is called and what it does, in words.
struct StageText {
    std::string title;     ///< the stage in words
    std::string formula;   ///< in the formula markup of widgets
    std::string sentence;  ///< one or two plain sentences
};

/// The equation of a stage for one sequence and head; the result is empty when the trace lacks the stage.
Equation equation_of(MatrixStore& store, const Trace<float>& trace, const StageId& id, std::int64_t batch, std::int64_t head);

StageText text_of(const Trace<float>& trace, const StageId& id);

}  // namespace attn::app
