#pragma once
/// The equation of a stage, as on a blackboard: operands, operator and result.

#include <string>
#include <vector>

#include "app/session/numbers/number_desk.hpp"

namespace attn::app {

enum class Layout : std::uint8_t {
    Single,      ///< the result only (a table of positions)
    Product,     ///< the left operand to the left of the result, the right one above it
    Rowwise,     ///< operand and result side by side with the same rows
    Sum,         ///< operands and result side by side with an operator between them
    Difference,  ///< a large result with its two operands stacked beside it, the second on top
};

struct Equation {
    Layout layout = Layout::Single;
    std::vector<Matrix> operands;  ///< Product: left, right, and a bias row if any; Rowwise: the input; Sum: the summands
    std::string op;                ///< the operator: "+", "÷ √8", "softmax"
    Matrix result;
    bool row_sums = false;     ///< show row sums beside the result
    bool backward = false;     ///< shows gradients, which flow from the result to the operands and do not add up as these do
    bool rows_differ = false;  ///< the result has other rows than the operands, with labels of their own
};

/// The title and explanation of a stage.
struct StageText {
    std::string title;     ///< the stage's name in words
    std::string formula;   ///< in the formula markup of the widgets
    std::string sentence;  ///< one or two sentences
};

/// The equation of a stage for one sequence and head; its result is empty while the stage is not there.
Equation equation_of(const NumberDesk& numbers, const Subject& of, const StageId& id, std::int64_t batch, std::int64_t head);

/// `noun`: what a token is called, see token_noun().
StageText text_of(const Structure& structure, const StageId& id, std::string_view noun);

}  // namespace attn::app
